import Parse from 'parse/node'
import { crowding, isClosed } from '../../records/care-plans/contents/rules.ts'
import { ehrPermissions, planPermissions } from '../../records/ehrs/access.ts'
import type { Announce } from '../../records/ehrs/announce.ts'
import { type planLookup, statusOfWritableGoal, subjectOfWritableEhr } from '../../records/ehrs/ehr.ts'
import { createEhrRoles } from '../../records/ehrs/roles.ts'
import type { Values } from '../../records/registered/class-rule.ts'
import { classRules } from '../../records/registered/class-rules.ts'
import { createFaults } from '../../records/registered/validation.ts'
import { type Caller, isPermitted, type Permissions } from '../../records/store/documents/caller.ts'
import { type Database, together } from '../../records/store/documents/database.ts'
import { newId } from '../../records/store/documents/ids.ts'
import type { Records } from '../../records/store/writing/transaction.ts'
import { type ClassName, classes } from '../../schemas/classes.ts'
import { callerOf, forgetRoles } from '../request/caller.ts'
import { invalid, notFound, refuseFaults } from '../request/refusals.ts'
import { dropAcl, valuesOf } from './values.ts'

type Request = Parse.Cloud.BeforeSaveRequest

/** What the records of the class family lie in, and are looked up by. */
export interface Family {
  records: Records
  plans: ReturnType<typeof planLookup>
  announce: Announce
}

/** Where a new object belongs: who may see it, and what the service sets because of that. */
interface Place {
  permissions: Permissions
  ehrId?: string
}

/** Judges a new object, finds out where it belongs and gives it what the service sets. */
export async function beforeCreate(family: Family, className: ClassName, request: Request): Promise<void> {
  const { object } = request
  dropAcl(object)
  const values = valuesOf(object)
  for (const name of object.dirtyKeys()) if (!(name in values)) object.revert(name)
  refuseFaults(createFaults(className, values))
  const caller = await callerOf(request)
  // Before it exists: roles, history and audit name it.
  const id = newId()
  object.id = id
  const { permissions, ...more } = await placeOf(family, className, request, caller, values)
  object.set({
    ...more,
    ...classRules[className].derived?.(values),
    ...('status' in classes[className].stored.properties && { status: 'ACTIVE' }),
    version: 1,
    ACL: aclOf(permissions),
  })
  const ehrId = className === 'Ehr' ? id : object.get('ehrId')
  const write = { action: 'create', collection: className, id, ehrId } as const
  await family.announce(caller, { ...write, changed: [] })
}

async function placeOf(
  { records, plans }: Family,
  className: ClassName,
  request: Request,
  caller: Caller,
  values: Values,
): Promise<Place> {
  // The schemas have made sure that these are texts where the class has them.
  const { subjectId, ehrId, carePlanId, goalId } = values as Record<string, string>
  if (subjectId !== undefined) return placeEhr(records, request, caller, subjectId)
  if (className === 'CarePlan') return placeCarePlan(records, request, caller, ehrId ?? '')
  if (carePlanId === undefined) return placeInEhr(records, caller, ehrId ?? '')
  const place = await placeInPlan(plans, caller, carePlanId, ehrId)
  if (goalId !== undefined) await requireOpenGoal(records, caller, goalId, carePlanId)
  const violations = await crowding(records, className, { carePlanId, goalId })
  refuseFaults({ missing: [], violations })
  return place
}

/** An EHR is its subject's; who made it for someone else writes it too. */
async function placeEhr(
  database: Database,
  request: Request,
  caller: Caller,
  subjectId: string,
): Promise<Place> {
  const { id = '' } = request.object
  const writerId = caller.unrestricted || caller.userId === subjectId ? undefined : caller.userId
  await together(database, (session) => createEhrRoles(database, session, id, writerId))
  if (writerId !== undefined) await forgetRoles(request, writerId)
  return { permissions: ehrPermissions(id, subjectId) }
}

async function placeCarePlan(
  database: Database,
  request: Request,
  caller: Caller,
  ehrId: string,
): Promise<Place> {
  const subjectId = await subjectOfWritableEhr(database, caller, ehrId)
  if (subjectId === undefined) throw notFound()
  return { permissions: planPermissions(ehrId, request.object.id ?? '', subjectId) }
}

/** What belongs to no care plan is for those who see the EHR. */
async function placeInEhr(database: Database, caller: Caller, ehrId: string): Promise<Place> {
  const subjectId = await subjectOfWritableEhr(database, caller, ehrId)
  if (subjectId === undefined) throw notFound()
  return { permissions: ehrPermissions(ehrId, subjectId) }
}

/** What is registered in a care plan is for those who see the plan. */
async function placeInPlan(
  plans: Family['plans'],
  caller: Caller,
  carePlanId: string,
  ehrId: string | undefined,
): Promise<Place> {
  const plan = await plans(carePlanId)
  if (!plan || plan.ehrId !== (ehrId ?? plan.ehrId) || !isPermitted(plan._wperm, caller)) throw notFound()
  if (plan.status !== 'ACTIVE') throw invalid(isClosed('CarePlan'))
  return { permissions: { read: plan._rperm, write: plan._wperm }, ehrId: plan.ehrId }
}

async function requireOpenGoal(
  database: Database,
  caller: Caller,
  goalId: string,
  carePlanId: string,
): Promise<void> {
  const status = await statusOfWritableGoal(database, caller, goalId, carePlanId)
  if (status === undefined) throw notFound()
  if (status !== 'ACTIVE') throw invalid(isClosed('Goal'))
}

function aclOf({ read, write }: Permissions): Parse.ACL {
  const acl = new Parse.ACL()
  for (const who of read) acl.setReadAccess(who, true)
  for (const who of write) acl.setWriteAccess(who, true)
  return acl
}
