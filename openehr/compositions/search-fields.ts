import { Composition } from '../../records/compositions/composition-record.ts'
import { createFieldDerivation } from '../../records/store/backfill/derivation.ts'
import type { RmObject } from '../rm/canonical-json.ts'
import { extractIndexedValues } from './facts.ts'
import { findLinks, targetIds } from './links.ts'

/** The fields by which queries find a composition. */
export const searchFieldsOf = (composition: RmObject) => ({
  archetypes: archetypeIdsIn(composition),
  ...extractIndexedValues(composition),
  links: [...new Set(findLinks(composition).flatMap(({ target }) => targetIds(target)))],
})

/** The search fields of a version that marks the composition as deleted. */
export const NO_SEARCH_FIELDS = { archetypes: [], links: [], facts: [] }

export const compositionDerivation = createFieldDerivation({
  collection: Composition.collection,
  version: 1,
  fields: ['archetypes', 'links', 'facts', 'start'],
  // Each composition may have 4 MB.
  batchSize: 20,
  areShown: false,
  derive: async (_, { json }) =>
    typeof json === 'string' ? searchFieldsOf(JSON.parse(json) as RmObject) : NO_SEARCH_FIELDS,
})

function archetypeIdsIn(object: unknown): string[] {
  const archetypeIds = new Set<string>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const id = (value as RmObject).archetype_node_id
    if (typeof id === 'string' && id.startsWith('openEHR-')) archetypeIds.add(id)
    for (const member of Object.values(value)) visit(member)
  }
  visit(object)
  return [...archetypeIds]
}
