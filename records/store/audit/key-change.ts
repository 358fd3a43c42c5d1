import type { ClientSession, Db } from 'mongodb'
import { auditEntryCollection } from './audit-log.ts'
import { EMPTY_HEAD, linkEntries } from './chains/chain.ts'
import { encodeAuditEntry } from './chains/entry-format.ts'
import { type AuditInstance, auditInstanceCollection, macOfHeads, macOfOpening } from './chains/instances.ts'

/** A change of keys, as recorded in the audit. */
export interface KeyChange {
  /** The environment variables that change. */
  variables: string[]
  /** The new AUDIT_KEY. */
  auditKey: string
  /** The former AUDIT_KEY; the same one when only other keys change, undefined when it was lost. */
  formerAuditKey: string | undefined
}

/**
 * Records a change of keys as runs of their own, with one entry each: the last run with the former AUDIT_KEY,
 * and the first with the new one. So the former key signs the end of its runs, and no chain mixes two keys.
 */
export async function recordKeyChange(
  db: Db,
  session: ClientSession,
  { variables, auditKey, formerAuditKey }: KeyChange,
  at: Date,
): Promise<void> {
  const isChanged = auditKey !== formerAuditKey
  if (formerAuditKey !== undefined) await addRun(db, session, formerAuditKey, variables, at)
  const formerKey = formerAuditKey === undefined ? 'lost' : 'known'
  if (isChanged) await addRun(db, session, auditKey, variables, at, formerKey)
}

async function addRun(
  db: Db,
  session: ClientSession,
  key: string,
  variables: string[],
  at: Date,
  formerKey?: Exclude<AuditInstance['formerKey'], undefined>,
): Promise<void> {
  const last = await auditInstanceCollection(db).findOne({}, { sort: { _id: -1 }, session })
  const _id = (last?._id ?? 0) + 1
  const chain = `${_id}-0`
  const { entries, head } = linkEntries(key, chain, EMPTY_HEAD, [accessTo(variables, formerKey)], at)
  const run = { _id, startedAt: at, heads: [{ chain, ...head }], headsAt: at, endedAt: at }
  const instance = formerKey === undefined ? run : { ...run, formerKey }
  const opening = macOfOpening(key, last?.opening ?? '', instance)
  await auditInstanceCollection(db).insertOne(
    { ...instance, opening, seal: macOfHeads(key, run) },
    { session },
  )
  await auditEntryCollection(db).insertMany(entries.map(encodeAuditEntry), { session })
}

const accessTo = (variables: string[], formerKey: AuditInstance['formerKey']) => ({
  requestId: '',
  userId: '',
  application: 'audit rekey',
  action: 'update' as const,
  ehrId: null,
  type: 'audit.keys',
  ids: variables,
  outcome: 'done' as const,
  ...(formerKey === 'lost' && { asked: 'The former AUDIT_KEY was lost.' }),
})
