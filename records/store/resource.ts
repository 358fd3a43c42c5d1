import type { Static, TObject } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import type { Access } from './audit/trail.ts'
import type { Caller } from './documents/caller.ts'
import type { Saved } from './documents/parse-format.ts'
import type { ListShape } from './reading/listing.ts'
import type { Companion } from './writing/companions.ts'
import type { RecordKey } from './writing/history.ts'

/** One resource: its collection, its schema and its lists. */
export interface Resource<S extends TObject, L extends string> {
  collection: string
  schema: S
  /** The field that names the EHR whose data this is; every access is then audited. Absent: it is no EHR's data. */
  ehr?: keyof Saved<Static<S>> & string
  /** Every list there is, each served by an index of its own. */
  lists: Record<L, ListShape<Static<S>>>
  /** Further indexes, by the names of the stored fields; what a unique one holds already is a Conflict. */
  indexes?: readonly IndexDescription[]
  /** What follows from its records. */
  companion?: Companion | undefined
  /** @throws ServiceError when a record is only changed with what it follows from */
  refuseChange?: ((record: Saved<Static<S>>) => void) | undefined
}

/** The record's id, and what else must be true of it: `{ id, ehrId }`. undefined asks nothing. */
export type Key<T> = { id: string } & {
  [K in keyof T as NonNullable<T[K]> extends string | number | boolean ? K : never]?: T[K] | undefined
}

type Audited = Pick<Resource<TObject, string>, 'collection' | 'ehr'>
type What = Pick<Access, 'action' | 'asked'>

/** The audit entries of an access to records: one for each EHR that they belong to. */
export function accessesOf(
  audited: Audited,
  caller: Caller,
  what: What,
  records: readonly object[],
): Access[] {
  const { collection, ehr } = audited
  if (ehr === undefined) return []
  const byEhr = new Map<string | null, string[]>()
  for (const record of records as Array<Record<string, unknown>>) {
    const ehrId = textOrNull(record[ehr])
    const ids = byEhr.get(ehrId) ?? []
    ids.push(record.id as string)
    byEhr.set(ehrId, ids)
    if (ehrId !== null) caller.onAccess?.(ehrId)
  }
  return [...byEhr].map(([ehrId, ids]) => ({
    ...who(caller),
    ...what,
    ehrId,
    type: collection,
    ids,
    outcome: 'done' as const,
  }))
}

/** The audit entry of an access that showed and changed nothing; the EHR is the one that was asked for. */
export function attemptOf(
  audited: Audited,
  caller: Caller,
  what: What & Pick<Access, 'outcome'>,
  wanted: Record<string, unknown>,
): Access[] {
  if (audited.ehr === undefined) return []
  const ids = typeof wanted.id === 'string' && wanted.id !== '' ? [wanted.id] : []
  return [{ ...who(caller), ...what, ehrId: textOrNull(wanted[audited.ehr]), type: audited.collection, ids }]
}

/** The record as its history knows it. */
export function recordKeyOf({ collection, ehr }: Audited, record: { id: string }): RecordKey {
  const { id, ...fields }: Record<string, unknown> & { id: string } = record
  return { collection, id, ehrId: ehr === 'id' ? id : textOrNull(fields[ehr ?? '']) }
}

const who = ({ requestId, userId, application }: Caller) => ({ requestId, userId, application })

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)
