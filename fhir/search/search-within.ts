import type { FhirResource } from '../../records/fhir/mapping.ts'
import type { Page, PageRequest } from '../../records/store/reading/pages.ts'
import { ifNotFound } from '../../schemas/errors.ts'
import { parameterError, requireKnownModifier } from '../outcome/issue.ts'
import type { ResourceSearch, SearchCriterion } from '../sources/resource-search.ts'
import type { FoundResources } from '../sources/resource-source.ts'

/** What a search is within, such as one patient. */
interface SearchScope<T> {
  /** The parameter that must name it. */
  name: string
  /** @throws NotFound if the caller may not read it */
  readPage(value: string, page: PageRequest): Promise<Page<T>>
  fits(item: T, criterion: SearchCriterion): boolean
  show(items: readonly T[], value: string): Promise<FhirResource[]>
}

/** A search does not tell whether a record exists. */
const noneIfUnknown = ifNotFound({ items: [], next: null, total: 0 })

/**
 * Searches what one parameter names. A page has fewer resources than asked for if some do not fit; the next link goes on
 * behind them.
 * @throws InvalidInput
 */
export async function searchWithin<T>(
  { criteria, count, after, total }: ResourceSearch,
  { name: scope, readPage, fits, show }: SearchScope<T>,
): Promise<FoundResources> {
  const [named, ...others] = criteria.filter(({ name }) => name === scope)
  const [value, ...more] = named?.values ?? []
  const rest = criteria.filter(({ name }) => name !== scope)
  for (const criterion of criteria) requireKnownModifier(criterion)
  if (value === undefined || others.length + more.length > 0)
    throw parameterError(scope, 'required', 'must have one value')
  if (total && rest.length > 0)
    throw parameterError('_total', 'too-costly', `can count only all resources of one ${scope}`)
  const page = { limit: Math.max(count, 1), cursor: after, count: total }
  const read = await readPage(value, page).catch(noneIfUnknown)
  const found = read.items.filter((item) => rest.every((criterion) => fits(item, criterion)))
  return {
    resources: count === 0 ? [] : await show(found, value),
    ...(read.next !== null && count > 0 && { next: read.next }),
    ...(read.total !== undefined && { total: read.total }),
  }
}
