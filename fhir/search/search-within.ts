import type { FhirResource } from '../../records/fhir/mapping.ts'
import { ReadBudget } from '../../records/limits/read-limits.ts'
import { decodeCursorParts, encodeCursorParts } from '../../records/store/reading/cursor.ts'
import type { Page, PageRequest } from '../../records/store/reading/pages.ts'
import { ifNotFound } from '../../schemas/errors.ts'
import { parameterError, requireKnownModifier } from '../outcome/issue.ts'
import type { ResourceSearch, SearchCriterion } from '../sources/resource-search.ts'
import type { FoundResources } from '../sources/resource-source.ts'
import { invalidSearchCursor } from './search-cursor.ts'

/** The compartment of a search, such as a patient. */
interface SearchScope<T> {
  /** The parameter that must name it. */
  name: string
  /** The error of a search without it; default: it is required. */
  missing?: string
  /** @throws NotFound if the caller may not read it */
  readPage(value: string, page: PageRequest): Promise<Page<T> & Pick<PartOfPage, 'isShort'>>
  matches(item: T, criterion: SearchCriterion, value: string): boolean
  show(items: readonly T[], value: string): Promise<FhirResource[]>
}

/** Creates a test whether an item matches a criterion. @param tests by parameter, whether an item matches a text */
export const matchByTests =
  <T>(tests: Readonly<Record<string, (item: T, text: string) => boolean>>) =>
  (item: T, { name, values }: SearchCriterion): boolean =>
    values.some((text) => tests[name]?.(item, text))

/** A search does not show whether a record exists. */
export const noneIfUnknown = ifNotFound({ items: [], next: null, total: 0 })

/** The most scopes that a search may name. Each needs its own queries. */
const MAX_SCOPES = 200

/**
 * Searches the scopes that the values of one parameter name, one after the other. A page has fewer resources than asked
 * for if some do not match; the next link continues after them.
 * @throws InvalidInput
 */
export async function searchWithin<T>(
  { criteria, count, after, total }: ResourceSearch,
  { name: scope, missing = 'is required', readPage, matches: fits, show }: SearchScope<T>,
): Promise<FoundResources> {
  const [scopeCriterion, ...repeatedCriteria] = criteria.filter(({ name }) => name === scope)
  const values = [...new Set(scopeCriterion?.values ?? [])]
  const [first] = values
  const rest = criteria.filter(({ name }) => name !== scope)
  for (const criterion of criteria) requireKnownModifier(criterion)
  if (first === undefined) throw parameterError(scope, 'required', missing)
  if (repeatedCriteria.length > 0)
    throw parameterError(scope, 'duplicate', 'must be given once, with all its values')
  if (values.length > MAX_SCOPES)
    throw parameterError(scope, 'too-costly', `must have at most ${MAX_SCOPES} values`)
  if (total && rest.length + values.length > 1)
    throw parameterError('_total', 'too-costly', `can count only all resources of one ${scope}`)
  const read = (value: string, page: PageRequest): ReturnType<typeof readPage> =>
    readPage(value, page).catch(noneIfUnknown)
  if (count === 0) return { resources: [], total: (await read(first, { limit: 1, count: total })).total }
  let pageTotal: number | undefined
  const foundPage = await searchSequentially(
    values.length,
    { limit: count, after },
    async (index, limit, cursor) => {
      const value = values[index] as string
      const page = await read(value, { limit, cursor, count: total })
      pageTotal = page.total
      const matchingItems = page.items.filter((item) =>
        rest.every((criterion) => fits(item, criterion, value)),
      )
      const isShort = page.isShort === true || matchingItems.length < page.items.length
      return { resources: await show(matchingItems, value), next: page.next ?? undefined, isShort }
    },
  )
  return { ...foundPage, ...(pageTotal !== undefined && { total: pageTotal }) }
}

/** A page of one of several sources. */
interface PartOfPage extends Pick<FoundResources, 'resources' | 'next'> {
  /** Some resources did not match, so that the page ends here: nobody knows how many more do not. */
  isShort?: boolean
}

/**
 * A page of several sources, one after the other. It is shorter when its resources are large.
 * @param find the page of the source with this number. @throws InvalidInput for a cursor of another search
 */
export async function searchSequentially(
  sources: number,
  { limit, after: cursor }: { limit: number; after: string | undefined },
  find: (index: number, count: number, after?: string) => Promise<PartOfPage>,
): Promise<Pick<FoundResources, 'resources' | 'next'>> {
  let { index, after } = cursor === undefined ? START : decodePosition(cursor)
  const resources: FhirResource[] = []
  const budget = new ReadBudget()
  for (let isFull = limit <= 0; index < sources && !isFull; ) {
    const part = await find(index, limit - resources.length, after)
    resources.push(...part.resources)
    after = part.next
    if (after === undefined) index += 1
    isFull = resources.length >= limit || part.isShort === true || budget.isUsedUpBy(...part.resources)
  }
  // No page may follow without a resource.
  while (after === undefined && index < sources && (await isEmpty(find(index, 1)))) index += 1
  return { resources, ...(index < sources && { next: encodeCursorParts([index, after ?? null]) }) }
}

async function isEmpty(part: Promise<PartOfPage>): Promise<boolean> {
  const { resources, next } = await part
  return resources.length === 0 && next === undefined
}

interface Position {
  /** The source, by its number. */
  index: number
  /** The position within its resources. */
  after: string | undefined
}

const START: Position = { index: 0, after: undefined }

/** @throws InvalidInput */
function decodePosition(cursor: string): Position {
  const [index, after] = decodeCursorParts(cursor)
  if (!Number.isInteger(index) || Number(index) < 0 || !(after === null || typeof after === 'string'))
    throw invalidSearchCursor()
  return { index: Number(index), after: after ?? undefined }
}
