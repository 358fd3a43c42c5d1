import type { Db, Document } from 'mongodb'
import { verifyAudit } from '../../../records/store/audit/verifier.ts'
import { all, CLINICAL, type State } from './state.ts'

/** What does not hold of all that the database has, although it always must, whenever the service was killed. */
export async function faultsIn(db: Db, auditKey: string, state: State, known: Known): Promise<string[]> {
  const { broken } = await verifyAudit(db, auditKey)
  return [
    ...(broken ? [`the audit is broken at ${broken.at}: ${broken.reason}`] : []),
    ...everyWriteAudited(state),
    ...everyVersionKept(state),
    ...nothingVanished(state, known),
  ]
}

interface Change {
  collection: string
  id: string
  version: number
  action: 'create' | 'update' | 'delete'
  announced?: true
  changed: string[]
  before: Document | null
}

const changesIn = (state: State): Change[] =>
  all(state, 'history.changes').map(({ _id, ...change }) => {
    const [collection, id] = String(_id).split('/').slice(-4)
    return { ...change, collection, id } as Change
  })

const WRITES = ['create', 'update', 'delete']
const entriesOf = (state: State, outcome: string): Document[] =>
  all(state, 'audit.entries').filter((entry) => WRITES.includes(entry.action) && entry.outcome === outcome)

/** What the service wrote itself has exactly one audit entry: none is missing, none tells what did not happen. */
function everyWriteAudited(state: State): string[] {
  const stored = tally(
    changesIn(state)
      .filter(({ announced, collection }) => !announced && CLINICAL.includes(collection))
      .map(({ action, collection, id }) => `${action} ${collection} ${id}`),
  )
  const audited = tally(
    entriesOf(state, 'done').flatMap(({ action, type, ids }) =>
      ids.map((id: string) => `${action} ${type} ${id}`),
    ),
  )
  return [...new Set([...stored.keys(), ...audited.keys()])]
    .filter((key) => stored.get(key) !== audited.get(key))
    .map((key) => `${key}: written ${stored.get(key) ?? 0} times, audited ${audited.get(key) ?? 0} times`)
}

/**
 * Each version of a record was made by a write that is in the history, with what was there before it. What Parse Server
 * wrote was announced, to the audit too; an announcement may be of a write that never came.
 */
function everyVersionKept(state: State): string[] {
  const changes = grouped(changesIn(state), ({ collection, id }) => `${collection}/${id}`)
  const announced = tally(
    entriesOf(state, 'announced').flatMap(({ action, type, ids }) =>
      ids.map((id: string) => `${action} ${type}/${id}`),
    ),
  )
  return CLINICAL.flatMap((name) =>
    all(state, name).flatMap(({ _id, version }) => {
      const key = `${name}/${_id}`
      const own = changes.get(key) ?? []
      return [...faultsOf(version, own), ...faultsOfAnnouncements(key, version, own, announced)].map(
        (fault) => `${key}: ${fault}`,
      )
    }),
  )
}

function faultsOf(version: number, changes: Change[]): string[] {
  const faults: string[] = []
  const byVersion = grouped(changes, (change) => change.version)
  for (let made = 1; made <= version; made++) {
    const own = byVersion.get(made) ?? []
    if (own.length === 0) faults.push(`nobody made version ${made}`)
    if (own.filter(({ announced }) => !announced).length > 1) faults.push(`version ${made} was made twice`)
    if (own.some(({ action, before }) => action !== 'create' && before?.version !== made - 1))
      faults.push(`version ${made - 1} is not kept`)
  }
  const last = Math.max(0, ...changes.filter(({ announced }) => !announced).map(({ version }) => version))
  return last > version ? [...faults, `is at version ${version}, and its history at ${last}`] : faults
}

function faultsOfAnnouncements(
  key: string,
  version: number,
  changes: Change[],
  announced: Map<string, number>,
): string[] {
  const ofParse = (action: string) => {
    const theirs = changes.filter((change) => change.announced && change.action === action)
    return new Set(theirs.map((change) => change.version).filter((made) => made <= version)).size
  }
  return ['create', 'update']
    .filter((action) => ofParse(action) > (announced.get(`${action} ${key}`) ?? 0))
    .map((action) => `${action} by the class family was not announced to the audit`)
}

/** By record: what it is registered in. */
export type Known = Map<string, string[]>

/** What was once there and is gone was deleted, itself or what it was registered in, and the audit knows. */
function nothingVanished(state: State, known: Known): string[] {
  const deleted = new Set(
    [...entriesOf(state, 'done'), ...entriesOf(state, 'announced')]
      .filter(({ action }) => action === 'delete')
      .flatMap(({ ids }) => ids as string[]),
  )
  const there = new Set<string>()
  for (const name of CLINICAL)
    for (const { _id, taskId, eventId, goalId, carePlanId, ehrId } of all(state, name)) {
      there.add(`${name}/${_id}`)
      known.set(`${name}/${_id}`, [_id, taskId, eventId, goalId, carePlanId, ehrId])
    }
  return [...known]
    .filter(([key, places]) => !there.has(key) && !places.some((place) => deleted.has(place)))
    .map(([key]) => `${key} is gone`)
}

function grouped<T, K>(items: readonly T[], by: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) groups.set(by(item), [...(groups.get(by(item)) ?? []), item])
  return groups
}

/** How often each one occurs. */
function tally(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
