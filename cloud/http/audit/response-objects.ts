import { isClassName } from '../../../records/kinds.ts'
import type { AuditedAccess } from '../../../records/store/audit/audit-log.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import { documentCollection } from '../../../records/store/documents/database.ts'
import { accessesByEhr } from '../../../records/store/resource.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import { describeAuditedQuery, type RecordAccess } from './record-access.ts'

type ObjectFields = Record<string, unknown>

/** Facts about the caller for the audit. */
export interface AuditContext {
  context: StoreContext
  caller: Caller
  roles(): Promise<string[]>
}

export const auditedResource = (className: string) => ({
  collection: className,
  ehr: className === 'Ehr' ? 'id' : 'ehrId',
})

/** Finds the objects in a response, included ones among them, as record accesses. */
export async function findObjectAccesses(
  { context, caller }: AuditContext,
  request: RecordAccess,
  answer: ObjectFields,
): Promise<AuditedAccess[]> {
  if (request.distinct) return []
  const results: ObjectFields[] = Array.isArray(answer.results) ? answer.results : [answer]
  const byClass = new Map<unknown, ObjectFields[]>([[request.className, results]])
  for (const object of request.includes ? collectIncludedObjects(results, []) : []) {
    const { className } = object
    byClass.set(className, [...(byClass.get(className) ?? []), object])
  }
  const accesses = [...byClass].map(async ([className, objects]) => {
    if (!isClassName(className)) return []
    const objectsWithId = objects.filter(({ objectId }) => typeof objectId === 'string')
    return accessesByEhr(
      auditedResource(className),
      caller,
      describeAuditedQuery(request),
      await findEhrsOfObjects(context, className, objectsWithId),
    )
  })
  return (await Promise.all(accesses)).flat()
}

/** Parse replaces a pointer by an included object; clients cannot store an object with this type. */
function collectIncludedObjects(value: object, includedObjects: ObjectFields[]): ObjectFields[] {
  for (const inner of Object.values(value)) {
    if (typeof inner !== 'object' || inner === null) continue
    if (inner.__type === 'Object') includedObjects.push(inner)
    collectIncludedObjects(inner, includedObjects)
  }
  return includedObjects
}

/** Looks up the EHRs of objects, because the response may omit that property. */
export async function findEhrsOfObjects(
  context: StoreContext,
  className: string,
  objects: ObjectFields[],
): Promise<{ id: string; ehrId: unknown }[]> {
  const locations = objects.map(({ objectId, ehrId }) => ({ id: objectId as string, ehrId }))
  const unknown = locations.filter(({ ehrId }) => ehrId === undefined).map(({ id }) => id)
  if (className === 'Ehr') return locations.map(({ id }) => ({ id, ehrId: id }))
  if (unknown.length === 0) return locations
  const documents = await documentCollection(context, className)
    .find({ _id: { $in: unknown } }, { projection: { ehrId: 1 } })
    .toArray()
  const ehrOf = new Map(documents.map(({ _id, ehrId }) => [_id, ehrId]))
  return locations.map(({ id, ehrId }) => ({ id, ehrId: ehrId ?? ehrOf.get(id) }))
}
