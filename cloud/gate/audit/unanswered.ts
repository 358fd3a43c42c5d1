import { readableEhrs } from '../../../records/ehrs/rights/readable.ts'
import { EVERY_EHR } from '../../../records/store/audit/scopes.ts'
import type { Access } from '../../../records/store/audit/trail.ts'
import { attemptOf } from '../../../records/store/resource.ts'
import { idsNamed, PLACES } from './conditions.ts'
import { type AuditedCaller, audited, placed } from './objects-in-answer.ts'
import { auditedQuery, type QueriedObjects, type RecordsRequest } from './records-request.ts'

/** An EHR, and the object that is looked for there when it is known. */
interface Place {
  id?: string
  ehrId?: unknown
}

/** EHRs that get an entry each of a query that named none. */
const MOST_UNNAMED = 20

/** What was forbidden, in the audit of the EHRs where it was looked for, as far as they are known. */
export async function forbiddenIn(
  asking: AuditedCaller,
  request: RecordsRequest,
  outcome: 'denied' | 'refused',
): Promise<Access[]> {
  const { className, id } = request
  const places =
    id === undefined
      ? await placesNamed(asking, request)
      : await placed(asking.records, className, [{ objectId: id }])
  return entriesAt(asking, request, places.length > 0 ? places : [{}], outcome)
}

/**
 * That nothing is there is an answer too. A query leaves a trace in each EHR that the caller may read and that it could
 * have found something in; when these are many and it named none, one trace that each subject sees. Where it named what
 * the caller may not read, it was denied.
 * @param found the EHRs in which it found something
 */
export async function searchedBy(
  asking: AuditedCaller,
  request: QueriedObjects,
  found: ReadonlySet<unknown>,
): Promise<Access[]> {
  const query = { ...request, action: 'query' } as const
  const narrowest = idsRequired(request)
  if (found.size > 0 && narrowest === 1) return []
  const places = await placesNamed(asking, request, narrowest > 0)
  const readable = await readableBy(asking)
  const mayRead = ({ ehrId }: Place) => typeof ehrId === 'string' && (readable?.has(ehrId) ?? true)
  const denied = places.filter((place) => !mayRead(place))
  const searched =
    narrowest > 0
      ? places.filter(mayRead)
      : await everywhere(asking, { className: request.className, readable, found })
  const entries = [
    ...entriesAt(asking, query, denied, 'denied'),
    ...entriesAt(
      asking,
      query,
      searched.filter(({ ehrId }) => !found.has(ehrId)),
      'done',
    ),
  ]
  return entries.length > 0 || found.size > 0 ? entries : entriesAt(asking, query, [{}], 'done')
}

/** How many ids there are of which whatever is found has one, in the field that names the fewest; 0: it may lie anywhere. */
function idsRequired({ where }: QueriedObjects): number {
  const counts = [...PLACES, 'objectId'].map((field) => idsNamed(where, field, true).length)
  const some = counts.filter((count) => count > 0)
  return some.length > 0 ? Math.min(...some) : 0
}

/** The places of a query that names none: the EHRs, or what stands for them. */
async function everywhere(
  { records }: AuditedCaller,
  {
    className,
    readable,
    found,
  }: { className: string; readable: ReadonlySet<string> | undefined; found: ReadonlySet<unknown> },
): Promise<Place[]> {
  if (readable === undefined) return [{ ehrId: EVERY_EHR }]
  const others = [...readable].filter((ehrId) => !found.has(ehrId))
  if (others.length <= MOST_UNNAMED)
    return others.map((ehrId) => ({ ehrId, ...(className === 'Ehr' && { id: ehrId }) }))
  return [{ ehrId: await records.audit.scopeOf([...readable]) }]
}

/** @returns undefined for one whom no permission restricts */
const readableBy = async ({
  records,
  caller,
  roles,
}: AuditedCaller): Promise<ReadonlySet<string> | undefined> =>
  caller.unrestricted ? undefined : readableEhrs(records, { ...caller, roles: await roles() })

/** The places of the objects that a query names. */
async function placesNamed(
  { records }: AuditedCaller,
  { className, where }: Pick<QueriedObjects, 'where'> & { className: string },
  required = false,
): Promise<Place[]> {
  const named = (field: string) => idsNamed(where, field, required)
  const holders = [
    [className, named('objectId')],
    ['CarePlan', named('carePlanId')],
    ['Goal', named('goalId')],
  ] as const
  const found = holders.map(async ([holder, ids]) => {
    const places = await placed(
      records,
      holder,
      ids.map((objectId) => ({ objectId })),
    )
    return holder === className ? places : places.map(({ ehrId }) => ({ ehrId }))
  })
  const places = [...named('ehrId').map((ehrId) => ({ ehrId })), ...(await Promise.all(found)).flat()]
  return places.filter(({ ehrId }) => typeof ehrId === 'string')
}

/** One entry for each place that a request concerns. */
function entriesAt(
  { caller }: AuditedCaller,
  request: Pick<RecordsRequest, 'className' | 'action' | 'where'>,
  places: readonly Place[],
  outcome: Access['outcome'],
): Access[] {
  const { collection } = audited(request.className)
  const what = { ...auditedQuery(request), outcome }
  return places.flatMap((place) => attemptOf({ collection, ehr: 'ehrId' }, caller, what, { ...place }))
}
