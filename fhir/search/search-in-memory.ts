import type { FhirResource } from '../../records/fhir/mapping.ts'
import type { ResourceSearch, SearchCriterion } from '../sources/resource-search.ts'
import type { FoundResources } from '../sources/resource-source.ts'

/** Searches resources so few that all of them are at hand. A page ends with the number of resources before the next one. */
export function searchInMemory(
  all: readonly FhirResource[],
  { criteria, count, after = '0' }: ResourceSearch,
  fits: (resource: FhirResource, criterion: SearchCriterion) => boolean,
): FoundResources {
  const found = all.filter((one) => criteria.every((criterion) => fits(one, criterion)))
  const start = /^\d{1,3}$/.test(after) ? Number(after) : 0
  const end = start + count
  return {
    resources: found.slice(start, end),
    ...(count > 0 && end < found.length && { next: String(end) }),
    total: found.length,
  }
}
