import type { Static, TObject } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import type { AuditedAccess } from './audit/audit-log.ts'
import { queryAccesses, scopedQueryAccesses } from './audit/query-accesses.ts'
import type { Caller } from './documents/caller.ts'
import type { SavedRecord } from './documents/parse-format.ts'
import type { ListDefinition, PageQuery } from './reading/pages.ts'
import type { RecordDerivation } from './writing/derived-records.ts'
import type { HistoryKey } from './writing/history.ts'
import type { AuditedReads, StoreContext } from './writing/transaction.ts'

/** Description of a resource, from which the store is built. */
export interface Resource<S extends TObject, L extends string> {
  collection: string
  schema: S
  /** The field with the EHR's id; every access is then audited. Absent: the data belongs to no EHR. */
  ehr?: keyof SavedRecord<Static<S>> & string
  /** All lists of the resource; each has an index of its own. */
  lists: Record<L, ListDefinition<Static<S>>>
  /** Further indexes, by the names of the stored fields. A violation of a unique one becomes a Conflict. */
  indexes?: readonly IndexDescription[]
  /** Derives records of other collections. */
  recordDerivation?: RecordDerivation | undefined
  /** The writers of a record who may also delete it, and what the others are told; by default all of them. */
  deleters?:
    | { of(document: { _id: string; _wperm?: string[] }): readonly string[]; refusal: string }
    | undefined
  /** @throws ServiceError for a derived record, which changes only with the record that it is derived from */
  refuseChange?: ((record: SavedRecord<Static<S>>) => void) | undefined
}

/** The record's id and further fields that must match: `{ id, ehrId }`. undefined matches any value. */
export type RecordSelector<T> = { id: string } & {
  [K in keyof T as NonNullable<T[K]> extends string | number | boolean ? K : never]?: T[K] | undefined
}

type AuditedResource = Pick<Resource<TObject, string>, 'collection' | 'ehr'>
type AccessDescription = Pick<AuditedAccess, 'action' | 'asked'>

/** Creates the audit entries of an access to records: one for each EHR. */
export function accessesByEhr(
  audited: AuditedResource,
  caller: Caller,
  what: AccessDescription,
  records: readonly object[],
): AuditedAccess[] {
  const { collection, ehr } = audited
  if (ehr === undefined) return []
  const byEhr = new Map<string | null, string[]>()
  for (const record of records as Array<Record<string, unknown>>) {
    const ehrId = stringOrNull(record[ehr])
    const ids = byEhr.get(ehrId) ?? []
    ids.push(record.id as string)
    byEhr.set(ehrId, ids)
    if (ehrId !== null) caller.onAccess?.(ehrId)
  }
  return [...byEhr].map(([ehrId, ids]) => ({
    ...requesterOf(caller),
    ...what,
    ehrId,
    type: collection,
    ids,
    outcome: 'done' as const,
  }))
}

/** Creates the audit entry of an access that showed and changed no record. Its EHR is the requested one. */
export function accessWithoutRecords(
  audited: AuditedResource,
  caller: Caller,
  what: AccessDescription & Pick<AuditedAccess, 'outcome'>,
  wanted: Record<string, unknown>,
): AuditedAccess[] {
  if (audited.ehr === undefined) return []
  const ids = typeof wanted.id === 'string' && wanted.id !== '' ? [wanted.id] : []
  return [
    {
      ...requesterOf(caller),
      ...what,
      ehrId: stringOrNull(wanted[audited.ehr]),
      type: audited.collection,
      ids,
    },
  ]
}

/** A list that has been read. */
interface ReadList {
  resource: AuditedResource
  query: Pick<PageQuery<never>, 'where' | 'either'>
  asked: string
  items: readonly object[]
}

/**
 * Creates the audit entries of a list: for each EHR of its items, and for each that it names and found nothing in.
 * @throws NotFound when it is empty and the caller may read no EHR, or not the care plan, that it names
 */
export async function accessesOfList(
  context: Pick<StoreContext, 'db' | 'audit'>,
  caller: Caller,
  { resource, query, asked, items }: ReadList,
  tx: AuditedReads | undefined,
): Promise<AuditedAccess[]> {
  const { ehr, collection: type } = resource
  if (ehr === undefined) return []
  const seen = accessesByEhr(resource, caller, { action: 'query', asked }, items)
  const scope = ehr === 'ehrId' ? scopeOfQuery(query) : undefined
  // The reads of one response, and writes, decide about the EHR once.
  const reached = [...seen, ...(tx?.accesses ?? [])].filter(({ outcome }) => outcome === 'done')
  const isReached = scope?.ehrIds.every((ehrId) => reached.some((one) => one.ehrId === ehrId)) ?? true
  if (seen.length > 0 && isReached) return seen
  const what = { type, asked }
  if (isReached)
    return queryAccesses(context.audit, caller, what, { searched: scope?.ehrIds ?? [], denied: [] })
  const shown = new Map(seen.map(({ ehrId, ids }) => [ehrId ?? '', ids]))
  return scopedQueryAccesses(context, caller, what, scope as NonNullable<typeof scope>, {
    shown,
    session: tx?.session,
  })
}

/** The EHRs and the care plan to which a list limits itself; undefined: it names no EHR. */
function scopeOfQuery({
  where,
  either = [{}],
}: Pick<PageQuery<never>, 'where' | 'either'>): { ehrIds: string[]; carePlanId?: string } | undefined {
  const named = either.map((one) => ehrIdsInCondition({ ...(where as object), ...(one as object) }))
  if (named.some((ids) => ids.length === 0)) return undefined
  const { carePlanId } = where as { carePlanId?: unknown }
  return { ehrIds: [...new Set(named.flat())], ...(typeof carePlanId === 'string' && { carePlanId }) }
}

/** The EHRs that a condition of a list names: one, several, or one that other conditions imply. */
function ehrIdsInCondition({ ehrId }: { ehrId?: unknown }): string[] {
  if (typeof ehrId !== 'object' || ehrId === null) return typeof ehrId === 'string' ? [ehrId] : []
  const { in: some, checked } = ehrId as { in?: string[]; checked?: string }
  return some ?? (checked === undefined ? [] : [checked])
}

/** The key of a record in the history. */
export function historyKeyOf({ collection, ehr }: AuditedResource, record: { id: string }): HistoryKey {
  const { id, ...fields }: Record<string, unknown> & { id: string } = record
  return { collection, id, ehrId: ehr === 'id' ? id : stringOrNull(fields[ehr ?? '']) }
}

const requesterOf = ({ requestId, userId, application }: Caller) => ({ requestId, userId, application })

const stringOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)
