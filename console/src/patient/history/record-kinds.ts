import measurementKinds from 'virtual:measurement-kinds'
import type { Answer, paths } from 'health-record-client'
import { matchPath } from '../../browser/router.tsx'
import type { HelperAct } from '../../session/user-session.ts'
import type { TextId } from '../../texts/translate.ts'

/** Paths of records that have a history and a way back. */
type RecordPath = {
  [P in keyof paths]: P extends `${infer Path}/restore` ? (Path extends keyof paths ? Path : never) : never
}[keyof paths]

type GroupOf<Prefix extends string> = TextId extends infer T
  ? T extends `${Prefix}.${infer Name}`
    ? Name
    : never
  : never
type KeyOf<T> = T extends object ? keyof T : never
type FieldOf<P extends RecordPath> = Extract<
  KeyOf<Answer<`${P}/restore` & keyof paths, 'post'>>,
  GroupOf<'field'>
>

/** Groups of texts that explain codes: `planStatus.ACTIVE`. The page finds the names of users itself. */
type Words =
  | ('planStatus' | 'priority' | 'repeat' | 'certainty' | 'category' | 'word' | 'medication' | 'immunisation')
  | (
      | 'user'
      | 'source'
      | 'reportOrigin'
      | 'severity'
      | 'alertState'
      | 'position'
      | 'site'
      | 'method'
      | 'cuff'
      | 'unit'
    )

/** A kind of records whose history is shown. */
export interface RecordKind {
  /** Path of a record in the service. */
  path: RecordPath
  /** Name of the kind in the texts. */
  name: string
  /** The fields that are shown, in this order. The first one names the record. */
  fields: readonly string[]
  /** The texts for the codes of fields. */
  words: Readonly<Partial<Record<string, Words>>>
  /** The list of the record above it from which it is read; default: it is read by its own path. */
  listedAs?: string
  /** The permission that a helper needs to restore; absent: no helper may. */
  act?: HelperAct
  /** The patient's page that shows such records. */
  page: string
}

const define = <P extends RecordPath>(
  path: P,
  kind: Omit<RecordKind, 'path' | 'fields' | 'words'> & {
    fields: readonly FieldOf<P>[]
    words?: Readonly<Partial<Record<FieldOf<P>, Words>>>
  },
): RecordKind => ({ path, words: {}, ...kind })

const inPlan = { act: 'PLAN', page: 'plan' } as const
const PROGRESS = ['achievementDate', 'outcome', 'status'] as const
/** Fields of measurements in addition to the values. */
const CIRCUMSTANCES = ['condition', 'position', 'location', 'cuffSize', 'method', 'basal', 'source'] as const
const ofQuestionnaire = { act: 'RECORD', words: { source: 'source' }, page: 'record/timeline' } as const
const ANSWERS = ['timestamp', 'answers', 'source', 'comment'] as const

/** All kinds of measurements have the same operations; the compiler takes one as an example. */
const ofMeasurements = measurementKinds.map(
  ({ path, quantities }): RecordKind => ({
    path: `/ehr/{ehrId}/procedure/${path}/{compositionId}` as '/ehr/{ehrId}/procedure/bodyweight/{compositionId}',
    name: path,
    fields: [
      'timestamp',
      ...quantities.flatMap(({ name }) => [name, `${name}Unit`]),
      ...CIRCUMSTANCES,
      'comment',
    ],
    words: {
      ...Object.fromEntries(quantities.map(({ name }) => [`${name}Unit`, 'unit'] as const)),
      source: 'source',
      position: 'position',
      location: 'site',
      cuffSize: 'cuff',
      method: 'method',
    },
    act: 'RECORD',
    page: `overview?kind=${path}`,
  }),
)

export const COMPOSITION = 'composition'

/** Every kind of records with a history. */
const recordKinds: readonly RecordKind[] = [
  define('/ehr/{ehrId}/careplan/{careplanId}', {
    name: 'careplan',
    fields: ['name', 'description', 'notes', 'proposedStartDate', 'actualStartDate', 'dueDate', ...PROGRESS],
    words: { status: 'planStatus' },
    page: 'plan',
  }),
  define('/med/{ehrId}/careplan/{careplanId}/goal/{goalId}', {
    ...inPlan,
    name: 'goal',
    fields: ['name', 'description', 'notes', 'dueDate', ...PROGRESS],
    words: { status: 'planStatus' },
  }),
  define('/med/{ehrId}/careplan/{careplanId}/goal/{goalId}/task/{taskId}', {
    ...inPlan,
    name: 'task',
    listedAs: 'tasks',
    fields: ['name', 'description', 'notes', 'dueDate', 'priority', 'repeat', ...PROGRESS],
    words: { status: 'planStatus', priority: 'priority', repeat: 'repeat' },
  }),
  define('/med/{ehrId}/event/{eventId}', {
    name: 'event',
    fields: [
      'title',
      'description',
      'start',
      'end',
      'allDay',
      'location',
      'severity',
      'alertState',
      'seenBy',
      'takenBy',
      'resolution',
    ],
    words: { severity: 'severity', alertState: 'alertState', seenBy: 'user', takenBy: 'user' },
    act: 'PLAN',
    page: 'record/timeline',
  }),
  ...ofMeasurements,
  define('/ehr/{ehrId}/procedure/acq/{compositionId}', {
    ...ofQuestionnaire,
    name: 'acq',
    fields: ['timestamp', 'answers', 'relieverPuffs', 'fev1PercentPredicted', 'source', 'comment'],
  }),
  define('/ehr/{ehrId}/procedure/hads/{compositionId}', {
    ...ofQuestionnaire,
    name: 'hads',
    fields: ANSWERS,
  }),
  define('/ehr/{ehrId}/procedure/dsmq/{compositionId}', {
    ...ofQuestionnaire,
    name: 'dsmq',
    fields: ANSWERS,
  }),
  define('/ehr/{ehrId}/measurement/{measurementId}', {
    name: 'measurement',
    fields: ['timestamp', 'name', 'value', 'unit', 'comment'],
    words: { unit: 'unit' },
    act: 'RECORD',
    page: 'record/timeline',
  }),
  define('/ehr/{ehrId}/occurrence/{occurrenceId}', {
    name: 'occurrence',
    fields: ['timestamp', 'name', 'severity', 'data', 'comment'],
    words: { severity: 'severity' },
    act: 'RECORD',
    page: 'record/timeline',
  }),
  define('/ehr/{ehrId}/custom/{customId}', {
    name: 'custom',
    fields: ['modelClassName', 'payload'],
    page: 'record/timeline',
  }),
  define('/ehr/{ehrId}/diagnosis/{diagnosisId}', {
    name: 'diagnosis',
    fields: [
      ...(['name', 'code', 'status', 'severity', 'certainty', 'bodySite'] as const),
      ...(['onset', 'recognised', 'resolved', 'comment'] as const),
    ],
    words: { status: 'word', severity: 'word', certainty: 'certainty' },
    page: 'record',
  }),
  define('/ehr/{ehrId}/adversereaction/{substance}', {
    name: 'adversereaction',
    fields: [
      ...(['substance', 'code', 'status', 'criticality', 'verification', 'category'] as const),
      ...(['reactions', 'firstOnset', 'lastOnset', 'comment'] as const),
    ],
    words: {
      status: 'word',
      criticality: 'word',
      reactions: 'word',
      verification: 'certainty',
      category: 'category',
    },
    page: 'record',
  }),
  define('/ehr/{ehrId}/medication/{medicationId}', {
    name: 'medication',
    fields: [
      ...(['name', 'code', 'dosage', 'asNeeded', 'route', 'status', 'statusReason'] as const),
      ...(['reason', 'start', 'end', 'asserted', 'informationSource', 'comment'] as const),
    ],
    words: { status: 'medication', informationSource: 'source' },
    page: 'record',
  }),
  define('/ehr/{ehrId}/immunisation/{immunisationId}', {
    name: 'immunisation',
    fields: [
      ...(['vaccine', 'code', 'date', 'targetDisease', 'status', 'statusReason', 'doseNumber'] as const),
      ...(['seriesDoses', 'lotNumber', 'manufacturer', 'expiry', 'site', 'route'] as const),
      ...(['performer', 'primarySource', 'reportOrigin', 'comment'] as const),
    ],
    words: { status: 'immunisation', reportOrigin: 'reportOrigin' },
    page: 'record',
  }),
  define('/ehr/{ehrId}/device/{deviceId}', {
    name: 'device',
    fields: [
      ...(['name', 'type', 'manufacturer', 'model', 'serial', 'udi'] as const),
      ...(['softwareVersion', 'expiry', 'comment'] as const),
    ],
    page: 'record',
  }),
  {
    path: '/med/ehr/{ehrId}/composition/{compositionId}',
    name: COMPOSITION,
    fields: ['name'],
    words: {},
    page: 'record',
  },
]

/** A record whose history is shown. */
export interface RecordPlace {
  ehrId: string
  kind: RecordKind
  /** The parameters of its path besides the EHR. */
  ids: Readonly<Record<string, string>>
}

/** Finds the record at a path within an EHR, such as `careplan/a1/goal/b2`. */
export function findRecord(ehrId: string, path: string): RecordPlace | undefined {
  for (const kind of recordKinds) {
    const ids = matchPath(kind.path.replace(/^.*\{ehrId\}\//, '').replace(/\{(\w+)\}/g, ':$1'), path)
    if (ids) return { ehrId, kind, ids }
  }
  return undefined
}

/** The path within the EHR, from a path that the service tells: that of a record, or of its history. */
export const pathInEhr = (ehrId: string, href: string): string =>
  href.replace(/\/history$/, '').split(`/${ehrId}/`)[1] ?? ''

/** The same; undefined if the record has no history. */
export function pathWithHistory(ehrId: string, href: string | null): string | undefined {
  const path = pathInEhr(ehrId, href ?? '')
  return findRecord(ehrId, path) ? path : undefined
}
