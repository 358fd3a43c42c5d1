import { elementAt } from '../../records/fhir/element-paths.ts'
import { referencedId } from '../../records/fhir/elements.ts'
import type { FhirResource } from '../../records/fhir/mapping.ts'
import { ReadBudget } from '../../records/limits/read-limits.ts'
import { parameterError } from '../outcome/issue.ts'
import { MAX_SEARCHED_PATIENTS } from '../resources/patients-of-caller.ts'
import { type Include, type Includes, includeName } from '../search/includes.ts'
import { criterionOf, type SearchCriterion } from '../sources/resource-search.ts'
import type { FoundResources, ResourceDescription } from '../sources/resource-source.ts'

/** The most resources that a page includes. */
const MAX_INCLUDED = 1000

/** Searches that include resources, with the rights and the audit of all searches. */
interface IncludedSources {
  descriptionOf(type: string): ResourceDescription
  search(type: string, criteria: readonly SearchCriterion[], count: number): Promise<FoundResources>
}

interface IncludedResources {
  resources: FhirResource[]
  /** The parameters with more resources than the page includes. */
  cut: { name: string; value: string }[]
}

const keyOf = ({ resourceType, id }: FhirResource): string => `${resourceType}/${id}`

/** The ids in the references at a path, which may lead through lists. */
function referencedIn(resource: FhirResource, { path, target }: Pick<Include, 'path' | 'target'>): string[] {
  const below = (element: unknown, name: string) => [elementAt(element, name) ?? []].flat()
  const elements = path
    .split('.')
    .reduce((parents: unknown[], name) => parents.flatMap((one) => below(one, name)), [resource])
  return elements.flatMap((one) => referencedId(elementAt(one, 'reference'), target) ?? [])
}

/** The patients of resources, or who they are. */
const patientsOf = (
  resources: readonly FhirResource[],
  descriptionOf: IncludedSources['descriptionOf'],
): ReadonlySet<string> =>
  new Set(
    resources.flatMap((one) => {
      if (one.resourceType === 'Patient') return [String(one.id)]
      const { path = '' } = descriptionOf(one.resourceType).parameters.patient?.references ?? {}
      return referencedIn(one, { target: 'Patient', path })
    }),
  )

/**
 * Finds the resources that the matches of a search refer to, or that refer to them. Each occurs once.
 * @throws InvalidInput for too many patients
 */
export async function findIncluded(
  matches: readonly FhirResource[],
  { forward, reverse }: Includes,
  { descriptionOf, search }: IncludedSources,
): Promise<IncludedResources> {
  const result: IncludedResources = { resources: [], cut: [] }
  if (forward.length + reverse.length === 0) return result
  const resourceKeys = new Set(matches.map(keyOf))
  const patients = patientsOf(matches, descriptionOf)
  if (reverse.length > 0 && patients.size > MAX_SEARCHED_PATIENTS)
    throw parameterError(
      '_revinclude',
      'too-costly',
      `needs a page of at most ${MAX_SEARCHED_PATIENTS} patients`,
    )
  const budget = new ReadBudget()
  budget.isUsedUpBy(...matches)
  const add = async (name: string, include: Include, type: string, criterion: SearchCriterion) => {
    const count = budget.isUsedUp ? 0 : MAX_INCLUDED - result.resources.length
    if (criterion.values.length === 0) return
    // Practitioners are not data of a patient.
    const isNarrowed = patients.size > 0 && 'patient' in descriptionOf(type).parameters
    const criteria = isNarrowed ? [criterion, criterionOf('patient', patients)] : [criterion]
    const page = count > 0 ? await search(type, criteria, count) : undefined
    const fresh = page?.resources.filter((one) => !resourceKeys.has(keyOf(one))) ?? []
    for (const one of fresh) resourceKeys.add(keyOf(one))
    budget.isUsedUpBy(...fresh)
    result.resources.push(...fresh)
    if (!page || page.next !== undefined) result.cut.push({ name, value: includeName(include) })
  }
  for (const include of forward) {
    const ids = matches.flatMap((one) => referencedIn(one, include))
    const isShown = (id: string) => resourceKeys.has(`${include.target}/${id}`)
    await add(
      '_include',
      include,
      include.target,
      criterionOf(
        '_id',
        ids.filter((id) => !isShown(id)),
      ),
    )
  }
  for (const include of reverse) {
    const { source, parameter, target } = include
    const ids = matches.map(({ id }) => `${target}/${id}`)
    await add('_revinclude', include, source, criterionOf(parameter, ids))
  }
  return result
}
