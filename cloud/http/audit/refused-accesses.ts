import { findSearchedEhrs, queryAccesses } from '../../../records/ehrs/rights/query-accesses.ts'
import type { AuditedAccess } from '../../../records/store/audit/audit-log.ts'
import { type Caller, isPermitted } from '../../../records/store/documents/caller.ts'
import { documentCollection } from '../../../records/store/documents/database.ts'
import { accessWithoutRecords } from '../../../records/store/resource.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import { idsInQuery, PARENT_FIELDS } from './query-conditions.ts'
import { type ClassQuery, describeAuditedQuery, type RecordAccess } from './record-access.ts'
import { type AuditContext, auditedResource, findEhrsOfObjects } from './response-objects.ts'

/** An EHR, with the requested object if it is known. */
interface AccessLocation {
  id?: string
  ehrId?: unknown
  /** The class of the object that a query names, and its readers. */
  named?: { className: string; readers: readonly string[] | undefined }
}

/** Audit entries of a forbidden access, in the EHRs that it named, if they are known. */
export async function findForbiddenAccesses(
  asking: AuditContext,
  request: RecordAccess,
  outcome: 'denied' | 'refused',
): Promise<AuditedAccess[]> {
  const { className, id } = request
  const places =
    id === undefined
      ? await findNamedLocations(asking, request)
      : await findEhrsOfObjects(asking.context, className, [{ objectId: id }])
  return createAuditEntries(asking, request, places.length > 0 ? places : [{}], outcome)
}

/**
 * Audit entries of a query, because an empty result reveals something, too. Each EHR that the caller may read
 * and that the query could match gets an entry. If it names no EHR and many qualify, one shared entry is
 * visible to all their subjects. If it names EHRs that the caller may not read, the outcome is denied.
 * @param shownEhrIds EHRs of the objects in the response
 */
export async function findSearchAccesses(
  asking: AuditContext,
  request: ClassQuery,
  shownEhrIds: ReadonlySet<unknown>,
): Promise<AuditedAccess[]> {
  const narrowest = countRequiredIds(request)
  if (shownEhrIds.size > 0 && narrowest === 1) return []
  const { context } = asking
  const caller = { ...asking.caller, roles: asking.caller.unrestricted ? [] : await asking.roles() }
  const places = await findNamedLocations(asking, request, narrowest > 0)
  const ids = new Map(places.map(({ ehrId, id }) => [ehrId, id === undefined ? [] : [id]]))
  const hiddenEhrIds = narrowest > 0 ? ehrsWithoutReadable(places, caller) : []
  const ehrIds = places.map(({ ehrId }) => String(ehrId)).filter((ehrId) => !hiddenEhrIds.includes(ehrId))
  const namedEhrs = await findSearchedEhrs(context, caller, { ehrIds })
  const { searched } = narrowest > 0 ? namedEhrs : await findSearchedEhrs(context, caller, {})
  const ehrs = {
    searched: searched.filter((ehrId) => !shownEhrIds.has(ehrId)),
    denied: [...new Set([...namedEhrs.denied, ...hiddenEhrIds])],
  }
  if (shownEhrIds.size > 0 && ehrs.searched.length + ehrs.denied.length === 0) return []
  const asked = describeAuditedQuery({ ...request, action: 'query' }).asked ?? ''
  const entries = await queryAccesses(context.audit, caller, { type: request.className, asked }, ehrs)
  return entries.map((entry) =>
    entry.outcome === 'denied' ? { ...entry, ids: ids.get(entry.ehrId) ?? entry.ids } : entry,
  )
}

/** The EHRs in which a query could find nothing, because it names objects of a class that the caller cannot read. */
function ehrsWithoutReadable(places: readonly AccessLocation[], caller: Caller): string[] {
  const isReadable = new Map<string, boolean>()
  for (const { ehrId, named } of places) {
    if (!named) continue
    const key = `${named.className} ${ehrId}`
    isReadable.set(key, isReadable.get(key) === true || isPermitted(named.readers, caller))
  }
  return [...isReadable].flatMap(([key, isPermittedThere]) =>
    isPermittedThere ? [] : [key.slice(key.indexOf(' ') + 1)],
  )
}

/** Number of required ids in the most selective field; 0 if the query may match in any EHR. */
function countRequiredIds({ where }: ClassQuery): number {
  const counts = [...PARENT_FIELDS, 'objectId'].map((field) => idsInQuery(where, field, true).length)
  const requiredCounts = counts.filter((count) => count > 0)
  return requiredCounts.length > 0 ? Math.min(...requiredCounts) : 0
}

/** EHRs of the objects that a query names. */
async function findNamedLocations(
  { context }: AuditContext,
  { className, where }: Pick<ClassQuery, 'where'> & { className: string },
  required = false,
): Promise<AccessLocation[]> {
  const idsOf = (field: string) => idsInQuery(where, field, required)
  const idsByClass = [
    [className, idsOf('objectId')],
    ['CarePlan', idsOf('carePlanId')],
    ['Goal', idsOf('goalId')],
  ] as const
  const locationsByClass = idsByClass.map(async ([container, ids]) => {
    const places = await findNamedObjects(context, container, ids)
    return container === className ? places : places.map(({ id: _, ...place }) => place)
  })
  const places = [
    ...idsOf('ehrId').map((ehrId) => ({ ehrId })),
    ...(await Promise.all(locationsByClass)).flat(),
  ]
  return places.filter(({ ehrId }) => typeof ehrId === 'string')
}

async function findNamedObjects(
  context: StoreContext,
  className: string,
  ids: readonly string[],
): Promise<AccessLocation[]> {
  if (className === 'Ehr') return ids.map((id) => ({ id, ehrId: id }))
  if (ids.length === 0) return []
  const fields = { projection: { ehrId: 1, _rperm: 1 } }
  const documents = documentCollection(context, className).find({ _id: { $in: [...ids] } }, fields)
  return (await documents.toArray()).map(({ _id: id, ehrId, _rperm: readers }) => ({
    id,
    ehrId,
    named: { className, readers },
  }))
}

/** Creates one entry per EHR. */
function createAuditEntries(
  { caller }: AuditContext,
  request: Pick<RecordAccess, 'className' | 'action' | 'where'>,
  places: readonly AccessLocation[],
  outcome: AuditedAccess['outcome'],
): AuditedAccess[] {
  const { collection } = auditedResource(request.className)
  const auditedQuery = { ...describeAuditedQuery(request), outcome }
  return places.flatMap((place) =>
    accessWithoutRecords({ collection, ehr: 'ehrId' }, caller, auditedQuery, { ...place }),
  )
}
