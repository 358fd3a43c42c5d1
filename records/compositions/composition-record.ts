import { Type } from '@sinclair/typebox'

const compositionSchema = Type.Object({
  ehrId: Type.String(),
  carePlanId: Type.Optional(Type.String()),
  /** The id of the template's record. */
  template: Type.String(),
  templateId: Type.String(),
  name: Type.String(),
  /** The archetypes that occur in it. */
  archetypes: Type.Array(Type.String()),
  /** The ids in its links. */
  links: Type.Array(Type.String()),
  /** The numbers in it with their places, see `compositions/facts.ts`. */
  facts: Type.Array(Type.String()),
  /** Start time of its context, in milliseconds. */
  start: Type.Optional(Type.Number()),
  /**
   * Canonical JSON without its uid, as text, because no database nests as deeply as a composition may.
   * Missing in a version that marks the composition as deleted.
   */
  json: Type.Optional(Type.String()),
})

/** Finds compositions by archetype, sorted by EHR. */
export const ARCHETYPES_INDEX = 'archetypes'

/** Finds compositions by fact. */
export const FACTS_INDEX = 'facts'

/** Finds compositions by the start of their context. */
export const START_INDEX = 'start'

/** Contains a dot, so no class can have this name and the class family never reaches the collection. */
export const Composition = {
  collection: 'openehr.compositions',
  schema: compositionSchema,
  ehr: 'ehrId',
  parentType: 'either',
  words: { en: 'compositions', nl: 'composities' },
  lists: {
    ofEhr: { by: ['ehrId'], sort: 'createdAt', order: 'desc' },
    ofPlan: { by: ['carePlanId'], sort: 'createdAt', order: 'desc' },
    // Sorted by link alone: most compositions have no links, and in the order of time these share a page of
    // the index.
    linked: { by: ['links'], sort: 'createdAt', order: 'desc' },
  },
  indexes: [
    { key: { template: 1 } },
    { name: FACTS_INDEX, key: { facts: 1 } },
    { name: START_INDEX, key: { start: 1 } },
    { name: ARCHETYPES_INDEX, key: { archetypes: 1, ehrId: 1, _created_at: -1, _id: -1 } },
  ],
} as const

/**
 * The system id in the uids of versions. It is a constant of the process, since every uid contains it;
 * server/config checks the same variable.
 */
export const SYSTEM_ID = process.env.OPENEHR_SYSTEM_ID || 'hrs.local'

/** The uid of one version: `8849182c-…::hrs.local::1`. */
export const versionUidOf = ({ id, version }: { id: string; version: number }): string =>
  `${id}::${SYSTEM_ID}::${version}`

/** Parses the uid in a path or in a query, with or without a version. */
export function parseVersionUid(text: string): { id: string; version?: number } {
  const [id = '', , version] = text.split('::')
  return { id, ...(version !== undefined && { version: Number(version) }) }
}
