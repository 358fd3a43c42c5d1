import { Type } from '@sinclair/typebox'
import { isInCalendar } from '../../schemas/validation/calendar.ts'

/** A value with its place, see `compositions/facts.ts`. */
const FactRecord = Type.Object({
  k: Type.String(),
  v: Type.Union([Type.Number(), Type.String()]),
  i: Type.Optional(Type.Number()),
})

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
  facts: Type.Array(FactRecord),
  /** The earliest and the latest event of each archetype. */
  times: Type.Array(FactRecord),
  /** Start time of its context, in milliseconds. */
  start: Type.Optional(Type.Number()),
  /**
   * Canonical JSON without its uid, as text, because no database nests as deeply as a composition may.
   * Missing in a version that marks the composition as deleted.
   */
  json: Type.Optional(Type.String()),
})

/**
 * Start of the context. Absent if the document has none, or one outside the years 1 to 9999, which earlier versions of the
 * service accepted.
 */
export const startTimeOf = ({ start }: { start?: number }): string | undefined =>
  start !== undefined && isInCalendar(start) ? new Date(start).toISOString() : undefined

/** The indexes by which queries find compositions. An index whose key has changed has another name, so queries name the key. */
export const COMPOSITION_INDEX_KEYS = {
  /** By EHR, the latest start first. */
  list_ofEhr: { ehrId: 1, start: -1, _id: -1 },
  /** By archetype and EHR, the latest start first. */
  archetypes: { archetypes: 1, ehrId: 1, start: -1, _id: -1 },
  /** By the values at a place, across all EHRs. */
  facts: { 'facts.k': 1, 'facts.v': 1, 'facts.i': 1, ehrId: 1 },
  /** By the events of an archetype in one EHR. */
  times: { ehrId: 1, 'times.k': 1, 'times.v': 1 },
  /** By the start of the context, across all EHRs. */
  start: { start: 1 },
} as const

/** Contains a dot, so no class can have this name and the class family never reaches the collection. */
export const Composition = {
  collection: 'openehr.compositions',
  schema: compositionSchema,
  ehr: 'ehrId',
  parentType: 'either',
  words: { en: 'compositions', nl: 'composities' },
  fhir: { shownAs: 'DocumentReference' },
  lists: {
    ofEhr: { requiredFields: ['ehrId'], sort: 'start', order: 'desc' },
    ofPlan: { requiredFields: ['carePlanId'], sort: 'createdAt', order: 'desc' },
    // Sorted by link alone: most compositions have no links, and in the order of time these share a page of
    // the index.
    linked: { requiredFields: ['links'], sort: 'createdAt', order: 'desc' },
  },
  indexes: [
    { key: { template: 1 } },
    { name: 'facts', key: COMPOSITION_INDEX_KEYS.facts },
    { name: 'times', key: COMPOSITION_INDEX_KEYS.times },
    { name: 'start', key: COMPOSITION_INDEX_KEYS.start },
    { name: 'archetypes', key: COMPOSITION_INDEX_KEYS.archetypes },
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

const UNKNOWN_VERSION = 0

/**
 * Parses the uid in a path or in a query, with or without a version. Another system's version of an object is unknown
 * here.
 */
export function parseVersionUid(text: string): { id: string; version?: number } {
  const [id = '', systemId = '', version] = text.split('::')
  if (version === undefined) return { id }
  const isOwn = systemId.toLowerCase() === SYSTEM_ID.toLowerCase()
  return { id, version: isOwn ? Number(version) : UNKNOWN_VERSION }
}
