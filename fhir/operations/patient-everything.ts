import type { FhirResource } from '../../records/fhir/mapping.ts'
import { parsePeriod } from '../../records/fhir/search/search-values.ts'
import { parameterError } from '../outcome/issue.ts'
import { parsePage, parseSince, parseTypes, type SearchParameters } from '../search/parse-search.ts'
import { searchSequentially } from '../search/search-within.ts'
import { criterionOf, type ResourceSearch } from '../sources/resource-search.ts'
import type { FoundResources, ResourceDescription } from '../sources/resource-source.ts'

/** Where the resources of a patient come from. */
interface PatientSources {
  /** Whether the app of the caller, if there is one, may search a type. */
  mayFind(type: ResourceDescription): boolean
  /** @throws NotFound */
  readPatient(): Promise<FhirResource>
  search(type: string, search: ResourceSearch): Promise<FoundResources>
}

/** Types whose resources belong to one patient, as their parameter `patient` says. */
const isInCompartment = ({ parameters }: ResourceDescription): boolean =>
  parameters.patient?.references !== undefined

/** `start` and `end` of the care. @throws InvalidInput */
function careDates(parameters: SearchParameters): string[] {
  return Object.entries({ start: 'ge', end: 'le' }).flatMap(([name, prefix]) => {
    const text = parameters[name]
    if (text === undefined) return []
    if (parsePeriod(String(text))?.prefix !== 'eq') throw parameterError(name, 'date', 'must be a date')
    return [`${prefix}${text}`]
  })
}

/**
 * A page of all resources of a patient that the caller may read, with the Patient first, then type by type. Types that
 * the app of the caller may not search are left out, unless the request names them.
 * @param types all types, of which those in the compartment of a patient count
 * @throws NotFound; InvalidInput
 */
export async function patientEverything(
  id: string,
  types: readonly ResourceDescription[],
  parameters: SearchParameters,
  { mayFind, readPatient, search }: PatientSources,
): Promise<FoundResources> {
  const { limit, cursor } = parsePage(parameters)
  const inCompartment = types.filter(isInCompartment)
  const allTypes = ['Patient', ...inCompartment.map(({ type }) => type)]
  const namedTypes = parseTypes(parameters, allTypes)
  const requestedTypes = namedTypes ?? allTypes
  const descriptions = inCompartment.filter((one) => namedTypes?.includes(one.type) ?? mayFind(one))
  const dates = careDates(parameters)
  const since = parseSince(parameters)
  const searchType = (index: number, count: number, after?: string) => {
    const { type, sortedBy } = descriptions[index] as ResourceDescription
    const criteria = [
      criterionOf('patient', [id]),
      ...(sortedBy === undefined ? [] : dates.map((text) => criterionOf(sortedBy, [text]))),
      ...(since ? [criterionOf('_lastUpdated', [`ge${since.toISOString()}`])] : []),
    ]
    return search(type, { criteria, order: undefined, count, after, total: false })
  }
  // Every page reads the patient, who may have become unreadable.
  const patient = await readPatient()
  const first = cursor === undefined && requestedTypes.includes('Patient') ? [patient] : []
  const page = { limit: limit - first.length, after: cursor }
  const { resources, next } = await searchSequentially(descriptions.length, page, searchType)
  return { resources: [...first, ...resources], ...(next !== undefined && { next }) }
}
