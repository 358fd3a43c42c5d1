import type { Static, TObject } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import type { HelperAct } from '../../schemas/enums.ts'
import type { AuditedAccess } from './audit/audit-log.ts'
import { authorOf, type Caller } from './documents/caller.ts'
import type { RecordOf } from './documents/parse-format.ts'
import type { ListDefinition } from './reading/pages.ts'
import type { RecordDerivation } from './writing/derived-records.ts'
import type { HistoryKey } from './writing/history.ts'

/** Description of a resource, from which the store is built. */
export interface Resource<S extends TObject, L extends string> {
  collection: string
  schema: S
  /** The field with the EHR's id; every access is then audited. Absent: the data belongs to no EHR. */
  ehr?: keyof RecordOf<S> & string
  /** All lists of the resource; each has an index of its own. */
  lists: Record<L, ListDefinition<Static<S>>>
  /** Further indexes, by the names of the stored fields. A violation of a unique one becomes a Conflict. */
  indexes?: readonly IndexDescription[]
  /** Derives records of other collections. */
  recordDerivation?: RecordDerivation | undefined
  /** The writers of a record who may also delete it, and what the others are told; by default all of them. */
  deleters?:
    | { principalsOf(document: { _id: string; _wperm?: string[] }): readonly string[]; refusal: string }
    | undefined
  /** The permission that a helper needs for writing these records, and for reading messages; absent: helpers only read them. */
  helperAct?: HelperAct | undefined
  /** @throws ServiceError for a derived record, which changes only with the record that it is derived from */
  refuseChange?: ((record: RecordOf<S>) => void) | undefined
}

/** The record's id and further fields that must match: `{ id, ehrId }`. undefined matches any value. */
export type RecordSelector<S extends TObject, T = Static<S>> = { id: string } & {
  [K in keyof T as NonNullable<T[K]> extends string | number | boolean ? K : never]?: T[K] | undefined
}

type AuditedResource = Pick<Resource<TObject, string>, 'collection' | 'ehr'>
type AccessDescription = Pick<AuditedAccess, 'action' | 'asked'>

/** Creates the audit entries of an access to records: one for each EHR. */
export function accessesByEhr(
  resource: AuditedResource,
  caller: Caller,
  access: AccessDescription,
  records: readonly object[],
): AuditedAccess[] {
  const { collection, ehr } = resource
  if (ehr === undefined) return []
  const byEhr = new Map<string | null, string[]>()
  for (const record of records as Array<Record<string, unknown>>) {
    const ehrId = stringOrNull(record[ehr])
    const ids = byEhr.get(ehrId) ?? []
    ids.push(record.id as string)
    byEhr.set(ehrId, ids)
    if (ehrId !== null) caller.onAccess?.(ehrId)
  }
  const common = { ...requesterOf(caller), ...access, type: collection, outcome: 'done' as const }
  return [...byEhr].map(([ehrId, ids]) => ({ ...common, ehrId, ids }))
}

/** Creates the audit entry of an access that showed and changed no record. Its EHR is the requested one. */
export function accessWithoutRecords(
  resource: AuditedResource,
  caller: Caller,
  access: AccessDescription & Pick<AuditedAccess, 'outcome'>,
  target: Record<string, unknown>,
): AuditedAccess[] {
  if (resource.ehr === undefined) return []
  const ids = typeof target.id === 'string' && target.id !== '' ? [target.id] : []
  const ehrId = stringOrNull(target[resource.ehr])
  return [{ ...requesterOf(caller), ...access, ehrId, type: resource.collection, ids }]
}

/** The key of a record in the history. */
export function historyKeyOf({ collection, ehr }: AuditedResource, record: { id: string }): HistoryKey {
  const { id, ...fields }: Record<string, unknown> & { id: string } = record
  return { collection, id, ehrId: ehr === 'id' ? id : stringOrNull(fields[ehr ?? '']) }
}

/** The author of a request, as the audit names them. */
export const requesterOf = (caller: Caller) => ({
  ...authorOf(caller),
  requestId: caller.requestId,
  application: caller.application,
})

const stringOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)
