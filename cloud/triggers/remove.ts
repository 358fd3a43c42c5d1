import type Parse from 'parse/node'
import { isPermitted } from '../../records/caller.ts'
import { type Database, documentsOf } from '../../records/database.ts'
import { type Container, removeWithAll, wasRemoved } from '../../records/removal.ts'
import type { ClassName } from '../../schemas/classes.ts'
import { callerOf } from '../caller.ts'
import { notFound } from '../errors.ts'

/** Removes what hangs on the object. Parse asks about permission to write only later, hence here first. */
export async function beforeDelete(
  database: Database,
  className: Container,
  request: Parse.Cloud.BeforeDeleteRequest,
): Promise<void> {
  const caller = await callerOf(request)
  const acl = request.object.getACL()?.toJSON() ?? {}
  const writers = Object.keys(acl).filter((who) => acl[who]?.write)
  if (!isPermitted(writers, caller)) throw notFound()
  await removeWithAll(
    database,
    className,
    request.object.id ?? '',
    caller.unrestricted ? undefined : caller.userId,
  )
}

/** What was written into an EHR, a care plan or a goal while that was being removed goes with it. */
export async function afterCreate(
  database: Database,
  className: ClassName,
  object: Parse.Object,
): Promise<void> {
  const { ehrId, carePlanId, goalId } = object.attributes
  if (wasRemoved(ehrId, carePlanId, goalId))
    await documentsOf(database, className).deleteOne({ _id: object.id ?? '' })
}
