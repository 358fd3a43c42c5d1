import { Type } from '@sinclair/typebox'

const schema = Type.Object({
  ehrId: Type.String(),
  carePlanId: Type.Optional(Type.String()),
  /** The id of the template's record. */
  template: Type.String(),
  templateId: Type.String(),
  name: Type.String(),
  /** The archetypes that it is made of. */
  archetypes: Type.Array(Type.String()),
  /** The ids that its links name. */
  links: Type.Array(Type.String()),
  /** Where which numbers stand in it, see `compositions/facts.ts`. */
  facts: Type.Array(Type.String()),
  /** When its context began, in milliseconds. */
  start: Type.Optional(Type.Number()),
  /**
   * Canonical JSON without its uid, kept as text: no database nests as deeply as a composition may. Missing in a version
   * that says that it is deleted.
   */
  json: Type.Optional(Type.String()),
})

/** Where an archetype is, one EHR after the other. */
export const ARCHETYPES_INDEX = 'archetypes'

/** Which composition has a fact. */
export const FACTS_INDEX = 'facts'

/** Which composition began when. */
export const START_INDEX = 'start'

/** A name that no class can have: the class family never reaches it. */
export const Composition = {
  collection: 'openehr.compositions',
  schema,
  ehr: 'ehrId',
  registeredIn: 'either',
  words: { en: 'compositions', nl: 'composities' },
  lists: {
    ofEhr: { by: ['ehrId'], sort: 'createdAt', order: 'desc' },
    ofPlan: { by: ['carePlanId'], sort: 'createdAt', order: 'desc' },
    // By what is linked alone, which few compositions have: the others, in the order of time, share a page of the index.
    linked: { by: ['links'], sort: 'createdAt', order: 'desc' },
  },
  indexes: [
    { key: { template: 1 } },
    { name: FACTS_INDEX, key: { facts: 1 } },
    { name: START_INDEX, key: { start: 1 } },
    { name: ARCHETYPES_INDEX, key: { archetypes: 1, ehrId: 1, _created_at: -1, _id: -1 } },
  ],
} as const

/** What names this service in the uids of versions. */
export const SYSTEM_ID = 'hrs.local'

/** The id of one version: `8849182c-…::hrs.local::1`. */
export const versionUid = ({ id, version }: { id: string; version: number }): string =>
  `${id}::${SYSTEM_ID}::${version}`

/** A composition in a path or in a query, perhaps with its version. */
export function uidIn(text: string): { id: string; version?: number } {
  const [id = '', , version] = text.split('::')
  return { id, ...(version !== undefined && { version: Number(version) }) }
}
