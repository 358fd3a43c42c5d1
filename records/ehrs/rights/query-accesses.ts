import type { ClientSession, Filter } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import type { AuditedAccess, AuditLog } from '../../store/audit/audit-log.ts'
import { EVERY_EHR } from '../../store/audit/scopes.ts'
import { type Caller, permissionFilter } from '../../store/documents/caller.ts'
import { type Database, documentCollection } from '../../store/documents/database.ts'
import type { ParseDocument } from '../../store/documents/parse-format.ts'
import { accessesByEhr, requesterOf } from '../../store/resource.ts'
import type { AuditedList, AuditedReads, StoreContext } from '../../store/writing/transaction.ts'

/** The EHRs and the care plan to which a query limits itself; undefined: it could find any. */
export interface QueryScope {
  ehrIds?: readonly string[] | undefined
  carePlanId?: string | undefined
}

/** The EHRs of a query. Rights and the query's scope decide about them, never the data. */
export interface SearchedEhrs {
  /** The EHRs in which the query could find something, whether it did or not. */
  searched: readonly string[]
  /** Ids of EHRs in the query that do not exist or that the caller may not read. */
  denied: readonly string[]
}

/** The records that a query showed, by EHR. */
type ShownRecords = ReadonlyMap<string, readonly string[]>

/** A query as the audit describes it. */
interface AuditedQuery {
  type: string
  asked: string
}

/** With more EHRs than this, one entry covers all of them. */
const MAX_SEARCHED_EHRS = 20
/** With more EHRs whose records were shown than this, one entry covers all of them. */
const MAX_SHOWN_EHRS = 100

/** Decides which EHRs a query could find. All queries of all interfaces ask here. */
export async function findSearchedEhrs(
  database: Pick<Database, 'db'>,
  caller: Caller,
  { ehrIds, carePlanId }: QueryScope,
  session?: ClientSession,
): Promise<SearchedEhrs> {
  if (caller.unrestricted) return { searched: ehrIds ?? [EVERY_EHR], denied: [] }
  const [name, key] = carePlanId === undefined ? ['Ehr', '_id'] : ['CarePlan', 'ehrId']
  const readable = {
    ...(carePlanId !== undefined && { _id: carePlanId }),
    ...(ehrIds && { [key]: { $in: [...ehrIds] } }),
    ...permissionFilter('_rperm', caller),
  } as Filter<ParseDocument>
  const readableDocuments = await documentCollection(database, name)
    .find(readable, { projection: { [key]: 1 }, ...(session && { session }) })
    .toArray()
  const searched = readableDocuments.map((one) => String(one[key])).sort()
  const isPlan = carePlanId !== undefined && searched.length > 0
  return { searched, denied: isPlan ? [] : (ehrIds ?? []).filter((id) => !searched.includes(id)) }
}

/**
 * The audit entries of a query: each EHR that it could find has one, because an empty result, a number or a
 * plan reveals something, too.
 */
export async function queryAccesses(
  audit: Pick<AuditLog, 'saveScope'>,
  caller: Caller,
  { type, asked }: AuditedQuery,
  { searched, denied }: SearchedEhrs,
  shownRecords: ShownRecords = new Map(),
): Promise<AuditedAccess[]> {
  const entry = (
    ehrId: string | null,
    ids: readonly string[],
    outcome: 'done' | 'denied',
  ): AuditedAccess => ({
    ...requesterOf(caller),
    action: 'query',
    asked,
    type,
    ehrId,
    ids: type === 'Ehr' && ehrId !== EVERY_EHR && searched.includes(ehrId ?? '') ? [ehrId ?? ''] : [...ids],
    outcome,
  })
  const collapseEhrIds = async (ehrIds: readonly string[], most: number, scopeEhrIds = ehrIds) =>
    ehrIds.length > most ? [await audit.saveScope(scopeEhrIds)] : ehrIds
  const emptyEhrIds = searched.filter((ehrId) => !shownRecords.has(ehrId))
  const entries = [
    ...(await collapseEhrIds([...shownRecords.keys()], MAX_SHOWN_EHRS)).map((id) =>
      entry(id, shownRecords.get(id) ?? [], 'done'),
    ),
    ...(await collapseEhrIds(emptyEhrIds, MAX_SEARCHED_EHRS, searched)).map((id) => entry(id, [], 'done')),
    ...denied.map((id) => entry(id, [], 'denied')),
  ]
  for (const ehrId of [...searched, ...shownRecords.keys()]) caller.onAccess?.(ehrId)
  return entries.length > 0 ? entries : [entry(null, [], 'done')]
}

/**
 * The entries of a query of certain EHRs.
 * @throws NotFound, after the entry, when it shows nothing and the caller may read none of the EHRs
 */
export async function scopedQueryAccesses(
  { db, audit }: Pick<Database, 'db'> & { audit: AuditLog },
  caller: Caller,
  query: AuditedQuery,
  scope: QueryScope & { ehrIds: readonly string[] },
  {
    shownRecords = new Map(),
    session,
  }: { shownRecords?: ShownRecords; session?: ClientSession | undefined } = {},
): Promise<AuditedAccess[]> {
  const otherEhrIds = scope.ehrIds.filter((ehrId) => !shownRecords.has(ehrId))
  const isNarrowed = scope.carePlanId !== undefined && shownRecords.size > 0
  const ehrs =
    otherEhrIds.length === 0 || isNarrowed
      ? { searched: [], denied: [] }
      : await findSearchedEhrs({ db }, caller, { ...scope, ehrIds: otherEhrIds }, session)
  const entries = await queryAccesses(audit, caller, query, ehrs, shownRecords)
  if (shownRecords.size > 0 || ehrs.searched.length > 0) return entries
  await audit.record(...entries)
  throw new ServiceError('NotFound')
}

/**
 * Creates the audit entries of a list: for each EHR of its items, and for each that it names and found nothing in.
 * @throws NotFound when it is empty and the caller may read no EHR, or not the care plan, that it names
 */
export async function accessesOfList(
  context: Pick<StoreContext, 'db' | 'audit'>,
  caller: Caller,
  { resource, query, asked, items }: AuditedList,
  tx: AuditedReads | undefined,
): Promise<AuditedAccess[]> {
  const { ehr, collection: type } = resource
  if (ehr === undefined) return []
  const accesses = accessesByEhr(resource, caller, { action: 'query', asked }, items)
  const scope = ehr === 'ehrId' ? scopeOfQuery(query) : undefined
  // The reads of one response, and writes, decide about the EHR once.
  const doneAccesses = [...accesses, ...(tx?.accesses ?? [])].filter(({ outcome }) => outcome === 'done')
  const isReached = scope?.ehrIds.every((ehrId) => doneAccesses.some((one) => one.ehrId === ehrId)) ?? true
  if (accesses.length > 0 && isReached) return accesses
  const access = { type, asked }
  if (isReached)
    return queryAccesses(context.audit, caller, access, { searched: scope?.ehrIds ?? [], denied: [] })
  const shownRecords = new Map(accesses.map(({ ehrId, ids }) => [ehrId ?? '', ids]))
  return scopedQueryAccesses(context, caller, access, scope as NonNullable<typeof scope>, {
    shownRecords,
    session: tx?.session,
  })
}

/** The EHRs and the care plan to which a list limits itself; undefined: it names no EHR. */
function scopeOfQuery({
  where,
  either = [{}],
}: AuditedList['query']): { ehrIds: string[]; carePlanId?: string } | undefined {
  const ehrIdLists = either.map((one) => ehrIdsInCondition({ ...(where as object), ...(one as object) }))
  if (ehrIdLists.some((ids) => ids.length === 0)) return undefined
  const { carePlanId } = where as { carePlanId?: unknown }
  return { ehrIds: [...new Set(ehrIdLists.flat())], ...(typeof carePlanId === 'string' && { carePlanId }) }
}

/** The EHRs that a condition of a list names: one, several, or one that other conditions imply. */
function ehrIdsInCondition({ ehrId }: { ehrId?: unknown }): string[] {
  if (typeof ehrId !== 'object' || ehrId === null) return typeof ehrId === 'string' ? [ehrId] : []
  const { in: ehrIds, checked } = ehrId as { in?: string[]; checked?: string }
  return ehrIds ?? (checked === undefined ? [] : [checked])
}
