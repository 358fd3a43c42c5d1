import type { Db, Document } from 'mongodb'
import { verifyAudit } from '../../../records/store/audit/verifier.ts'
import { CLINICAL, type DatabaseState, documentsIn } from './database-state.ts'

/** Finds violations of the invariants of the whole database, which hold whenever the service was killed. */
export async function findFaults(
  db: Db,
  auditKey: string,
  state: DatabaseState,
  knownParents: KnownRecordParents,
): Promise<string[]> {
  const { broken } = await verifyAudit(db, auditKey)
  return [
    ...(broken ? [`the audit is broken at ${broken.at}: ${broken.reason}`] : []),
    ...findUnauditedWrites(state),
    ...findMissingVersions(state),
    ...findVanishedRecords(state, knownParents),
  ]
}

interface RecordedChange {
  collection: string
  id: string
  version: number
  action: 'create' | 'update' | 'delete'
  changed: string[]
  before: Document | null
}

const readChanges = (state: DatabaseState): RecordedChange[] =>
  documentsIn(state, 'history.changes').map(({ _id, ...change }) => {
    const [collection, id] = String(_id).split('/').slice(-4)
    return { ...change, collection, id } as RecordedChange
  })

const WRITES = ['create', 'update', 'delete']
const auditEntriesOf = (state: DatabaseState): Document[] =>
  documentsIn(state, 'audit.entries').filter(
    ({ action, outcome = 'done' }) => WRITES.includes(action) && outcome === 'done',
  )

/**
 * Each write has exactly one audit entry: none is missing, and none describes a write that did not happen.
 */
function findUnauditedWrites(state: DatabaseState): string[] {
  const stored = countEach(
    readChanges(state)
      .filter(({ collection }) => CLINICAL.includes(collection))
      .map(({ action, collection, id }) => `${action} ${collection} ${id}`),
  )
  const audited = countEach(
    auditEntriesOf(state).flatMap(({ action, type, ids }) =>
      ids.map((id: string) => `${action} ${type} ${id}`),
    ),
  )
  return [...new Set([...stored.keys(), ...audited.keys()])]
    .filter((key) => stored.get(key) !== audited.get(key))
    .map((key) => `${key}: written ${stored.get(key) ?? 0} times, audited ${audited.get(key) ?? 0} times`)
}

/** The history contains the write of each version of a record once, with the version before it. */
function findMissingVersions(state: DatabaseState): string[] {
  const changes = groupBy(readChanges(state), ({ collection, id }) => `${collection}/${id}`)
  return CLINICAL.flatMap((name) =>
    documentsIn(state, name).flatMap(({ _id, version }) => {
      const key = `${name}/${_id}`
      return findVersionFaults(version, changes.get(key) ?? []).map((fault) => `${key}: ${fault}`)
    }),
  )
}

function findVersionFaults(version: number, changes: RecordedChange[]): string[] {
  const faults: string[] = []
  const byVersion = groupBy(changes, (change) => change.version)
  for (let versionNumber = 1; versionNumber <= version; versionNumber++) {
    const versionEntries = byVersion.get(versionNumber) ?? []
    if (versionEntries.length === 0) faults.push(`nobody made version ${versionNumber}`)
    if (versionEntries.length > 1) faults.push(`version ${versionNumber} was made twice`)
    if (
      versionEntries.some(
        ({ action, before }) => action !== 'create' && before?.version !== versionNumber - 1,
      )
    )
      faults.push(`version ${versionNumber - 1} is not kept`)
  }
  const last = Math.max(0, ...changes.map(({ version }) => version))
  return last > version ? [...faults, `is at version ${version}, and its history at ${last}`] : faults
}

/** The parents of each record. */
export type KnownRecordParents = Map<string, string[]>

/** A record that disappeared was deleted, itself or with a parent, and the audit contains the deletion. */
function findVanishedRecords(state: DatabaseState, knownParents: KnownRecordParents): string[] {
  const deleted = new Set(
    auditEntriesOf(state)
      .filter(({ action }) => action === 'delete')
      .flatMap(({ ids }) => ids as string[]),
  )
  const there = new Set<string>()
  for (const name of CLINICAL)
    for (const { _id, taskId, eventId, goalId, carePlanId, ehrId } of documentsIn(state, name)) {
      there.add(`${name}/${_id}`)
      knownParents.set(`${name}/${_id}`, [_id, taskId, eventId, goalId, carePlanId, ehrId])
    }
  return [...knownParents]
    .filter(([key, places]) => !there.has(key) && !places.some((place) => deleted.has(place)))
    .map(([key]) => `${key} is gone`)
}

function groupBy<T, K>(items: readonly T[], by: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) groups.set(by(item), [...(groups.get(by(item)) ?? []), item])
  return groups
}

/** The number of occurrences of each name. */
function countEach(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
