import Parse from 'parse/node'
import { ehrPermissions, planPermissions } from '../../records/access.ts'
import type { Caller, Permissions } from '../../records/caller.ts'
import { classRules } from '../../records/class-rules.ts'
import { type Database, together } from '../../records/database.ts'
import { subjectOfWritableEhr, writablePlan } from '../../records/ehr.ts'
import { newId } from '../../records/id.ts'
import { createEhrRoles, createPlanRoles } from '../../records/roles.ts'
import { createFaults } from '../../records/validation.ts'
import { type ClassName, classes } from '../../schemas/classes.ts'
import { callerOf, forgetRoles } from '../caller.ts'
import { invalid, notFound, refuseFaults } from '../errors.ts'
import { dropAcl, valuesOf } from './values.ts'

type Request = Parse.Cloud.BeforeSaveRequest

/** Judges a new object, finds out where it belongs and gives it what the service sets. */
export async function beforeCreate(
  database: Database,
  className: ClassName,
  request: Request,
): Promise<void> {
  const { object } = request
  dropAcl(object)
  const values = valuesOf(object)
  for (const name of object.dirtyKeys()) if (!(name in values)) object.revert(name)
  refuseFaults(createFaults(className, values))
  const caller = await callerOf(request)
  if (className === 'Ehr') await placeEhr(database, request, caller)
  else if (className === 'CarePlan') await placeCarePlan(database, request, caller)
  else await placeInPlan(database, request, caller)
  object.set({ version: 1, ...classRules[className].derived?.(values) })
  if ('status' in classes[className].stored.properties) object.set('status', 'ACTIVE')
}

/** An EHR is its subject's; who made it for someone else writes it too. */
async function placeEhr(database: Database, request: Request, caller: Caller): Promise<void> {
  const { object } = request
  const subjectId: string = object.get('subjectId')
  const ehrId = newId()
  const writerId = caller.unrestricted || caller.userId === subjectId ? undefined : caller.userId
  await together(database, (session) => createEhrRoles(database, session, ehrId, writerId))
  if (writerId !== undefined) await forgetRoles(request, writerId)
  object.id = ehrId
  permit(object, ehrPermissions(ehrId, subjectId))
}

async function placeCarePlan(database: Database, { object }: Request, caller: Caller): Promise<void> {
  const ehrId: string = object.get('ehrId')
  const subjectId = await subjectOfWritableEhr(database, caller, ehrId)
  if (subjectId === undefined) throw notFound()
  const carePlanId = newId()
  await together(database, (session) => createPlanRoles(database, session, ehrId, carePlanId))
  object.id = carePlanId
  permit(object, planPermissions(ehrId, carePlanId, subjectId))
}

/** What is registered in a care plan is for those who see the plan. */
async function placeInPlan(database: Database, { object }: Request, caller: Caller): Promise<void> {
  const plan = await writablePlan(database, caller, object.get('carePlanId'), object.get('ehrId'))
  if (!plan) throw notFound()
  if (plan.status !== 'ACTIVE')
    throw invalid({ path: 'carePlanId', code: 'closed', message: 'names a care plan that is closed' })
  object.set('ehrId', plan.ehrId)
  permit(object, plan.permissions)
}

function permit(object: Parse.Object, { read, write }: Permissions): void {
  const acl = new Parse.ACL()
  for (const who of read) acl.setReadAccess(who, true)
  for (const who of write) acl.setWriteAccess(who, true)
  object.setACL(acl)
}
