import { isClassName } from '../../../records/kinds.ts'
import type { Access } from '../../../records/store/audit/trail.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import { documentsOf } from '../../../records/store/documents/database.ts'
import { accessesOf } from '../../../records/store/resource.ts'
import type { Records } from '../../../records/store/writing/transaction.ts'
import { auditedQuery, type RecordsRequest } from './records-request.ts'

type Fields = Record<string, unknown>

/** What the audit knows of the one who asks. */
export interface AuditedCaller {
  records: Records
  caller: Caller
  /** The names of the caller's roles. */
  roles(): Promise<string[]>
}

export const audited = (className: string) => ({
  collection: className,
  ehr: className === 'Ehr' ? 'id' : 'ehrId',
})

/** The accesses that an answer makes to objects, included ones among them. */
export async function accessesToObjects(
  { records, caller }: AuditedCaller,
  request: RecordsRequest,
  answer: Fields,
): Promise<Access[]> {
  if (request.distinct) return []
  const results: Fields[] = Array.isArray(answer.results) ? answer.results : [answer]
  const byClass = new Map<unknown, Fields[]>([[request.className, results]])
  for (const object of includedIn(results, [])) {
    const { className } = object
    byClass.set(className, [...(byClass.get(className) ?? []), object])
  }
  const accesses = [...byClass].map(async ([className, objects]) => {
    if (!isClassName(className)) return []
    const identified = objects.filter(({ objectId }) => typeof objectId === 'string')
    return accessesOf(
      audited(className),
      caller,
      auditedQuery(request),
      await placed(records, className, identified),
    )
  })
  return (await Promise.all(accesses)).flat()
}

/** No client can store an object with this type: it stands where a pointer was. */
function includedIn(value: object, found: Fields[]): Fields[] {
  for (const inner of Object.values(value)) {
    if (typeof inner !== 'object' || inner === null) continue
    if (inner.__type === 'Object') found.push(inner)
    includedIn(inner, found)
  }
  return found
}

/** The objects with the EHRs that they belong to; a client may have left that property out of what it asked for. */
export async function placed(
  records: Records,
  className: string,
  objects: Fields[],
): Promise<{ id: string; ehrId: unknown }[]> {
  const known = objects.map(({ objectId, ehrId }) => ({ id: objectId as string, ehrId }))
  const unknown = known.filter(({ ehrId }) => ehrId === undefined).map(({ id }) => id)
  if (className === 'Ehr') return known.map(({ id }) => ({ id, ehrId: id }))
  if (unknown.length === 0) return known
  const found = await documentsOf(records, className)
    .find({ _id: { $in: unknown } }, { projection: { ehrId: 1 } })
    .toArray()
  const ehrOf = new Map(found.map(({ _id, ehrId }) => [_id, ehrId]))
  return known.map(({ id, ehrId }) => ({ id, ehrId: ehrId ?? ehrOf.get(id) }))
}
