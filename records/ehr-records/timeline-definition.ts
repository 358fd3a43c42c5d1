import type { Coding } from '../../schemas/coding.ts'

/** The rows of the timeline, from top to bottom. */
export const TIMELINE_GROUPS = {
  alerts: 'Alerts',
  events: 'Events',
  measurements: 'Measurements',
  questionnaires: 'Questionnaires',
  plans: 'Care plans',
  diagnoses: 'Diagnoses',
  reactions: 'Adverse reactions',
  medications: 'Medications',
  immunisations: 'Immunisations',
} as const

export type TimelineGroup = keyof typeof TIMELINE_GROUPS

/** A measured value; the unit is a UCUM code. */
export interface TimelineValue {
  name: string
  value: number
  unit: string
}

/** The content of a timeline item. */
export interface TimelineContent {
  /** A line of text for people: `Blood pressure 128/82 mmHg`. */
  content: string
  /** The interpretation, or the outcome. */
  summary?: string | undefined
  /** Severity within its kind; higher is worse. */
  severity?: number | undefined
  code?: Coding | undefined
  values?: TimelineValue[] | undefined
  /** Whether the record was refuted or entered in error. */
  isRetracted?: boolean | undefined
}

/** The measured values among those of a description. A client may put any value into its own event. */
export const measuredValuesIn = (values: unknown): TimelineValue[] =>
  Array.isArray(values) ? values.filter(isMeasuredValue) : []

function isMeasuredValue(one: unknown): one is TimelineValue {
  const { name, value, unit } = (one ?? {}) as Record<string, unknown>
  const fits = typeof name === 'string' && typeof value === 'number' && typeof unit === 'string'
  return fits && Object.keys(one as object).length === 3
}

/** Rank of a severity given as a word; 1 is the mildest. */
export function severityRank(mildestFirst: readonly unknown[], severity: unknown): number | undefined {
  const index = mildestFirst.indexOf(severity)
  return index === -1 ? undefined : index + 1
}

/** Whether a record with this verification status, as in FHIR R4, states what is not true. */
export const isRetracted = (verification: unknown): boolean =>
  verification === 'refuted' || verification === 'entered-in-error'

/** The content of a record with a verification status; that of a retracted one replaces status and severity. */
export const withVerification = (verification: unknown, content: TimelineContent): TimelineContent =>
  isRetracted(verification)
    ? { ...content, summary: String(verification), severity: undefined, isRetracted: true }
    : content

/** Field values by name. */
type FieldValues = Readonly<Record<string, unknown>>

/** A separate timeline kind for records whose field `type` has this value. */
interface TimelinePart {
  kind: string
  group: TimelineGroup
  type: string
}

/**
 * How the records of a kind appear in the timeline of their EHR.
 *
 *     timeline: {
 *       kind: 'goal', group: 'plans', start: ['createdAt'], end: 'achievementDate', open: { status: 'ACTIVE' },
 *       describe: ({ name, status }) => ({ content: String(name), summary: String(status) }),
 *     }
 */
export interface TimelineDefinition {
  /** The kind's name in requests. */
  kind: string
  group: TimelineGroup
  /** Fields that may contain the start, as date or time; the first one that is set counts. */
  start: readonly string[]
  /** The field with the end. Absent or unset: the item is a point in time, unless it is `open`. */
  end?: string
  /**
   * Values of records that continue until `end` is set. Other records without an end ended with their last
   * change.
   */
  open?: FieldValues
  /** List conditions for the records that overlap the time after `from`, when `end` alone cannot tell. */
  overlapFilters?(from: string | undefined): readonly object[]
  parts?: readonly TimelinePart[]
  /** @param record with dates and times as ISO texts */
  describe(record: FieldValues): TimelineContent
}
