import { queryOptions } from '@tanstack/react-query'
import { mayWrite, readParticipants } from '../../model/health-record.ts'
import type { Me } from '../../model/me.ts'
import { ehrKey } from '../../model/queries.ts'
import { findEntry, readAll } from '../../session/list-pages.ts'
import { api } from '../../session/user-session.ts'
import { COMPOSITION, type RecordPlace } from './record-kinds.ts'

type Values = Readonly<Record<string, unknown>>

interface Change {
  version: number
  at: string
  userId: string
  userName: string | null
  onBehalfOf: string | null
  onBehalfOfName: string | null
  action: 'create' | 'update' | 'delete'
  changed: string[]
  before: Values | null
}

/** A field as it was before a change, and after it. */
interface Difference {
  name: string
  before: unknown
  after: unknown
}

export interface Version extends Omit<Change, 'before' | 'changed' | 'userName' | 'onBehalfOfName'> {
  differences: Difference[]
}

export type NamesById = ReadonlyMap<unknown, string | null>

interface RecordHistory {
  /** The record as it is, or as it was when somebody deleted it. */
  record: Values
  /** The newest first. */
  versions: Version[]
  /** The names of those who changed it, as far as the reader may know them, by the ids of the users. */
  names: NamesById
  /** The id of the composition with which the record changes. */
  compositionId?: string | undefined
  /** Whether the page offers to restore. The service decides again. */
  mayRestore: boolean
}

/** All kinds have the same operations; the compiler takes one as an example. */
const recordAt = <P extends string>({ kind }: RecordPlace, more: P) =>
  `${kind.path}${more}` as `/ehr/{ehrId}/diagnosis/{diagnosisId}${P}`

const paramsOf = ({ ehrId, ids }: RecordPlace) => ({
  path: { ehrId, ...ids } as { ehrId: string; diagnosisId: string },
})

/** The versions of a record, each with what it changed. */
export const historyQuery = (me: Me, place: RecordPlace) =>
  queryOptions({
    queryKey: ehrKey(place.ehrId, 'history', place.kind.path, place.ids, me.mvUid),
    queryFn: () =>
      place.kind.name === COMPOSITION ? readCompositionHistory(me, place) : readRecordHistory(me, place),
  })

async function readRecordHistory(me: Me, place: RecordPlace): Promise<RecordHistory> {
  const params = paramsOf(place)
  const changes = (await readAll((query) =>
    api.GET(recordAt(place, '/history'), { params: { ...params, query } }),
  )) as unknown as Change[]
  const [newest] = changes
  const isDeleted = newest?.action === 'delete'
  const now = isDeleted ? null : await readRecord(place)
  const record = now ?? newest?.before ?? {}
  const versions = changes.map(({ changed, before, ...change }, at): Version => {
    const after = at === 0 ? now : changes[at - 1]?.before
    const fields = before && after ? place.kind.fields.filter((name) => changed.includes(name)) : []
    const differences = fields.map((name) => ({ name, before: before?.[name], after: after?.[name] }))
    return { ...change, differences }
  })
  const compositionId = compositionOf(place, record)
  const offersRestore = compositionId === undefined && (await mayRestore(me, place, record))
  return { record, versions, names: namesIn(changes), compositionId, mayRestore: offersRestore }
}

/** A measurement that was entered by itself has its own id there. */
const compositionOf = ({ ids }: RecordPlace, { compositionId }: Values): string | undefined =>
  typeof compositionId === 'string' && compositionId !== ids.compositionId ? compositionId : undefined

type Named = Pick<Change, 'userId' | 'userName' | 'onBehalfOf' | 'onBehalfOfName'>

/** The names of those who made changes. */
export const namesIn = (changes: readonly Named[]): NamesById =>
  new Map(
    changes.flatMap(({ userId, userName, onBehalfOf, onBehalfOfName }): [unknown, string | null][] => [
      [userId, userName],
      [onBehalfOf, onBehalfOfName],
    ]),
  )

async function readRecord(place: RecordPlace): Promise<Values | null> {
  const params = paramsOf(place)
  const { path, listedAs } = place.kind
  if (listedAs === undefined) return (await api.GET(recordAt(place, ''), { params })).data as Values
  const above = path.replace(/\/\w+\/\{\w+\}$/, '') as '/ehr/{ehrId}/diagnosis/{diagnosisId}'
  const { data } = await api.GET(above, { params })
  const list = (data as Values)[listedAs] as readonly Values[]
  return list.find(({ id }) => Object.values(place.ids).at(-1) === id) ?? null
}

/** Owners of an EHR may change all of it, participants what their plan allows, helpers what was granted. */
async function mayRestore(me: Me, { ehrId, kind, ids }: RecordPlace, record: Values): Promise<boolean> {
  if (me.acts) return kind.act !== undefined && me.acts.includes(kind.act)
  if (me.isPatient) return true
  const careplanId = ids.careplanId ?? record.carePlanId
  if (typeof careplanId !== 'string') {
    const ehr = await findEntry(
      (query) => api.GET('/ehr', { params: { query } }),
      ({ id }) => id === ehrId,
    )
    return ehr?.subjectId === me.mvUid || ehr?.creatorId === me.mvUid
  }
  return mayWrite(await readParticipants(ehrId, careplanId), me)
}

/** Brings a former version back, unless somebody has changed the record since. @throws Problem */
export async function restoreVersion(place: RecordPlace, version: number, current: number): Promise<void> {
  await api.POST(recordAt(place, '/restore'), {
    params: paramsOf(place),
    body: { version },
    headers: { 'if-match': `"${current}"` },
  })
}

/** Versions of a composition that are read at once. */
const VERSIONS_AT_ONCE = 20

/** The versions of a composition, compared value by value. */
async function readCompositionHistory(me: Me, place: RecordPlace): Promise<RecordHistory> {
  const { ehrId, ids } = place
  const path = { ehrId, compositionId: ids.compositionId ?? '' }
  const items = await readAll((query) =>
    api.GET('/med/ehr/{ehrId}/composition/{compositionId}/history', { params: { path, query } }),
  )
  const contents: Values[] = []
  while (contents.length < items.length) {
    const next = items.slice(contents.length, contents.length + VERSIONS_AT_ONCE)
    const read = next.map(({ uid, action }) => (action === 'delete' ? {} : readFlatComposition(path, uid)))
    contents.push(...(await Promise.all(read)))
  }
  const versions = items.map(({ uid, ...change }, at): Version => {
    const before = contents[at + 1]
    const differences = change.action === 'update' && before ? compare(before, contents[at] ?? {}) : []
    const action = change.action as Version['action']
    return { ...change, action, version: Number(uid.split('::').at(-1)), differences }
  })
  const root = contents.flatMap((content) =>
    Object.keys(content).filter((name) => !name.startsWith('ctx/')),
  )[0]
  const record = { name: root?.split('/')[0]?.replaceAll('_', ' '), carePlanId: await planOf(me, path) }
  return { record, versions, names: namesIn(items), mayRestore: await mayRestore(me, place, record) }
}

/** The care plan of a composition, by which participants may change it; absent for one that is deleted. */
async function planOf(me: Me, { ehrId, compositionId }: CompositionPath): Promise<string | null | undefined> {
  if (me.isPatient) return undefined
  const composition = await findEntry(
    (query) => api.GET('/med/ehr/{ehrId}/composition', { params: { path: { ehrId }, query } }),
    (one) => one.compositionId === compositionId,
  )
  return composition?.carePlanId
}

interface CompositionPath {
  ehrId: string
  compositionId: string
}

/** The values of a version by their paths. */
async function readFlatComposition(path: CompositionPath, version_uid: string): Promise<Values> {
  const { data } = await api.GET('/med/ehr/{ehrId}/composition/{compositionId}/json', {
    params: { path, query: { version_uid } },
    headers: { accept: 'application/openehr.wt.flat+json' },
  })
  return data as unknown as Values
}

const compare = (before: Values, after: Values): Difference[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => before[name] !== after[name] && !name.endsWith('/_uid'))
    .map((name) => ({ name, before: before[name], after: after[name] }))
