import { findReadableEhrs } from '../../../records/ehrs/rights/read-scope.ts'
import type { AuditedAccess } from '../../../records/store/audit/audit-log.ts'
import { EVERY_EHR } from '../../../records/store/audit/scopes.ts'
import { accessWithoutRecords } from '../../../records/store/resource.ts'
import { idsInQuery, PARENT_FIELDS } from './query-conditions.ts'
import { type ClassQuery, describeAuditedQuery, type RecordAccess } from './record-access.ts'
import { type AuditContext, auditedResource, findEhrsOfObjects } from './response-objects.ts'

/** An EHR, with the requested object if it is known. */
interface AccessLocation {
  id?: string
  ehrId?: unknown
}

/** Maximum number of EHRs that get separate entries for a query that names none. */
const MAX_UNNAMED_EHRS = 20

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
      : await findEhrsOfObjects(asking.records, className, [{ objectId: id }])
  return createAuditEntries(asking, request, places.length > 0 ? places : [{}], outcome)
}

/**
 * Audit entries of a query, because an empty result reveals something, too. Each EHR that the caller may read
 * and that the query could match gets an entry. If it names no EHR and many qualify, one shared entry is
 * visible to all their subjects. If it names EHRs that the caller may not read, the outcome is denied.
 * @param found EHRs of the objects in the response
 */
export async function findSearchAccesses(
  asking: AuditContext,
  request: ClassQuery,
  found: ReadonlySet<unknown>,
): Promise<AuditedAccess[]> {
  const query = { ...request, action: 'query' } as const
  const narrowest = countRequiredIds(request)
  if (found.size > 0 && narrowest === 1) return []
  const places = await findNamedLocations(asking, request, narrowest > 0)
  const readable = await findEhrsOfCaller(asking)
  const mayRead = ({ ehrId }: AccessLocation) => typeof ehrId === 'string' && (readable?.has(ehrId) ?? true)
  const denied = places.filter((place) => !mayRead(place))
  const searched =
    narrowest > 0
      ? places.filter(mayRead)
      : await findSearchableLocations(asking, { className: request.className, readable, found })
  const entries = [
    ...createAuditEntries(asking, query, denied, 'denied'),
    ...createAuditEntries(
      asking,
      query,
      searched.filter(({ ehrId }) => !found.has(ehrId)),
      'done',
    ),
  ]
  return entries.length > 0 || found.size > 0 ? entries : createAuditEntries(asking, query, [{}], 'done')
}

/** Number of required ids in the most selective field; 0 if the query may match in any EHR. */
function countRequiredIds({ where }: ClassQuery): number {
  const counts = [...PARENT_FIELDS, 'objectId'].map((field) => idsInQuery(where, field, true).length)
  const some = counts.filter((count) => count > 0)
  return some.length > 0 ? Math.min(...some) : 0
}

/** EHRs that a query without ids may match, or the audit scope for them. */
async function findSearchableLocations(
  { records }: AuditContext,
  {
    className,
    readable,
    found,
  }: { className: string; readable: ReadonlySet<string> | undefined; found: ReadonlySet<unknown> },
): Promise<AccessLocation[]> {
  if (readable === undefined) return [{ ehrId: EVERY_EHR }]
  const others = [...readable].filter((ehrId) => !found.has(ehrId))
  if (others.length <= MAX_UNNAMED_EHRS)
    return others.map((ehrId) => ({ ehrId, ...(className === 'Ehr' && { id: ehrId }) }))
  return [{ ehrId: await records.audit.saveScope([...readable]) }]
}

/** @returns undefined for an unrestricted caller */
const findEhrsOfCaller = async ({
  records,
  caller,
  roles,
}: AuditContext): Promise<ReadonlySet<string> | undefined> =>
  caller.unrestricted ? undefined : findReadableEhrs(records, { ...caller, roles: await roles() })

/** EHRs of the objects that a query names. */
async function findNamedLocations(
  { records }: AuditContext,
  { className, where }: Pick<ClassQuery, 'where'> & { className: string },
  required = false,
): Promise<AccessLocation[]> {
  const named = (field: string) => idsInQuery(where, field, required)
  const idsByClass = [
    [className, named('objectId')],
    ['CarePlan', named('carePlanId')],
    ['Goal', named('goalId')],
  ] as const
  const found = idsByClass.map(async ([container, ids]) => {
    const places = await findEhrsOfObjects(
      records,
      container,
      ids.map((objectId) => ({ objectId })),
    )
    return container === className ? places : places.map(({ ehrId }) => ({ ehrId }))
  })
  const places = [...named('ehrId').map((ehrId) => ({ ehrId })), ...(await Promise.all(found)).flat()]
  return places.filter(({ ehrId }) => typeof ehrId === 'string')
}

/** Creates one entry per EHR. */
function createAuditEntries(
  { caller }: AuditContext,
  request: Pick<RecordAccess, 'className' | 'action' | 'where'>,
  places: readonly AccessLocation[],
  outcome: AuditedAccess['outcome'],
): AuditedAccess[] {
  const { collection } = auditedResource(request.className)
  const what = { ...describeAuditedQuery(request), outcome }
  return places.flatMap((place) =>
    accessWithoutRecords({ collection, ehr: 'ehrId' }, caller, what, { ...place }),
  )
}
