import type { FhirResource } from '../../records/fhir/mapping.ts'
import { BundleLimits } from '../bundles/bundle-limits.ts'
import { parameterError } from '../outcome/issue.ts'
import { isPatientCriterion } from '../resources/patients-of-caller.ts'
import { parseSearch, type SearchParameters } from '../search/parse-search.ts'
import { criterionOf, type ResourceSearch } from '../sources/resource-search.ts'
import type { FoundResources, ResourceDescription } from '../sources/resource-source.ts'

/** Maximum number of observations of one code. */
const MAX_OF_CODE = 100

/** @throws InvalidInput */
function parseMax(text: string): number {
  const max = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (max >= 1 && max <= MAX_OF_CODE) return max
  throw parameterError('max', 'range', `must be a number from 1 to ${MAX_OF_CODE}`)
}

/**
 * Finds the newest observations of one patient: `max` of each code, the newest first.
 * @throws InvalidInput unless the parameters name one patient; ContentTooLarge
 */
export async function findLastOfEachCode(
  { description, base }: { description: ResourceDescription; base: string },
  { max = '1', ...parameters }: SearchParameters,
  search: (search: ResourceSearch) => Promise<FoundResources>,
): Promise<FhirResource[]> {
  const count = parseMax(String(max))
  const parsedSearch = parseSearch(description, parameters, { strict: true, base })
  const patients = parsedSearch.criteria.filter(isPatientCriterion).flatMap(({ values }) => values)
  if (patients.length !== 1) throw parameterError('patient', 'required', 'must name one patient')
  const observations: FhirResource[] = []
  const limits = new BundleLimits('Ask for fewer codes, or lower max.')
  for (const code of description.codes ?? []) {
    const criteria = [...parsedSearch.criteria, criterionOf('code', [code])]
    const { resources } = await search({ ...parsedSearch, criteria, order: 'desc', count, total: false })
    observations.push(...limits.countFound(resources))
  }
  return observations
}
