import type { Coding } from '../../schemas/coding.ts'

/** The rows of the timeline, from the top. */
export const GROUPS = {
  alerts: 'Alerts',
  events: 'Events',
  measurements: 'Measurements',
  questionnaires: 'Questionnaires',
  plans: 'Care plans',
  diagnoses: 'Diagnoses',
  reactions: 'Adverse reactions',
} as const

export type Group = keyof typeof GROUPS

/** A measured value in its own unit, as UCUM code. */
export interface TimelineValue {
  name: string
  value: number
  unit: string
}

/** What a record says in the timeline beside its time. */
export interface Said {
  /** A line for people: `Blood pressure 128/82 mmHg`. */
  content: string
  /** What it means, or how it ended. */
  summary?: string | undefined
  /** The higher, the worse, among those of its kind. */
  severity?: number | undefined
  code?: Coding | undefined
  values?: TimelineValue[] | undefined
}

/** How severe it is that says so in a word: counted from the mildest, 1. */
export function severityIn(mildestFirst: readonly unknown[], said: unknown): number | undefined {
  const place = mildestFirst.indexOf(said)
  return place === -1 ? undefined : place + 1
}

/** Values that fields have. */
type Fields = Readonly<Record<string, unknown>>

/** A kind of lines of its own, made by those records whose field `type` has this value. */
interface Part {
  kind: string
  group: Group
  type: string
}

/**
 * How the records of a kind stand in the timeline of their EHR.
 *
 *     timeline: {
 *       kind: 'goal', group: 'plans', start: ['createdAt'], end: 'achievementDate', open: { status: 'ACTIVE' },
 *       says: ({ name, status }) => ({ content: String(name), summary: String(status) }),
 *     }
 */
export interface TimelineLine {
  /** What clients ask for. */
  kind: string
  group: Group
  /** The fields, days or moments, that may say when it began: the first of them that is set does. */
  start: readonly string[]
  /** The field that says when it was over. Absent, or not set, it is a moment, unless it is `open`. */
  end?: string
  /** What those have that go on until `end` is set; others without it were over when they were last changed. */
  open?: Fields
  /** What reaches into the time from `from` on, in the words of a list's `where`, where `end` is not what tells it. */
  reaching?(from: string | undefined): readonly object[]
  parts?: readonly Part[]
  /** @param record with its days and moments as ISO texts */
  says(record: Fields): Said
}
