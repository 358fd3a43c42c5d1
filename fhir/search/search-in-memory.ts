import type { FhirResource } from '../../records/fhir/mapping.ts'
import type { ResourceSearch, SearchCriterion } from '../sources/resource-search.ts'
import type { FoundResources } from '../sources/resource-source.ts'
import { invalidSearchCursor } from './search-cursor.ts'

/**
 * Searches resources that are all in memory. A cursor is the number of resources before the page.
 * @throws InvalidInput for another cursor
 */
export function searchInMemory(
  resources: readonly FhirResource[],
  { criteria, count, after = '0' }: ResourceSearch,
  matches: (resource: FhirResource, criterion: SearchCriterion) => boolean,
): FoundResources {
  const matchingResources = resources.filter((one) => criteria.every((criterion) => matches(one, criterion)))
  if (!/^\d{1,3}$/.test(after)) throw invalidSearchCursor()
  const start = Number(after)
  const end = start + count
  return {
    resources: matchingResources.slice(start, end),
    ...(count > 0 && end < matchingResources.length && { next: String(end) }),
    total: matchingResources.length,
  }
}
