import { MongoServerError } from 'mongodb'
import { ehrPermissions } from './access.ts'
import { type Caller, type Permissions, permitted } from './caller.ts'
import { type Database, documentsOf, together } from './database.ts'
import { storedPermissions } from './parse-format.ts'
import { createEhrRoles } from './roles.ts'

const DUPLICATE_KEY = 11_000

/**
 * Makes the EHR that comes with an account, with exactly the id that the account names, unless it is there.
 * Safe to repeat and to race: one of those who make it at once succeeds. An account whose EHR has been deleted names none, and gets none again.
 */
export async function ensureEhrOfAccount(database: Database, userId: string, ehrId: string): Promise<void> {
  const ehrs = documentsOf(database, 'Ehr')
  if (await ehrs.findOne({ _id: ehrId }, { projection: { _id: 1 } })) return
  const made = together(database, async (session) => {
    if (await ehrs.findOne({ _id: ehrId }, { projection: { _id: 1 }, session })) return
    const users = documentsOf(database, '_User')
    if (!(await users.findOne({ _id: userId, ehrId }, { projection: { _id: 1 }, session }))) return
    const at = new Date()
    const permissions = storedPermissions(ehrPermissions(ehrId, userId))
    const meta = { _id: ehrId, version: 1, _created_at: at, _updated_at: at }
    await ehrs.insertOne({ ...meta, subjectId: userId, ...permissions }, { session })
    await createEhrRoles(database, session, ehrId)
  })
  await made.catch((error: unknown) => {
    if (!(error instanceof MongoServerError && error.code === DUPLICATE_KEY)) throw error
  })
}

/** The subject of an EHR that the caller may write; nothing tells one that is missing from someone else's. */
export async function subjectOfWritableEhr(
  database: Database,
  caller: Caller,
  ehrId: string,
): Promise<string | undefined> {
  const ehr = await documentsOf(database, 'Ehr').findOne(
    { _id: ehrId, ...permitted('_wperm', caller) },
    { projection: { subjectId: 1 } },
  )
  return ehr ? String(ehr.subjectId) : undefined
}

/** A care plan, as far as what is registered in it must know. */
interface WritablePlan {
  ehrId: string
  status: string
  /** Those of the plan are those of all that is registered in it. */
  permissions: Permissions
}

/** A care plan of that EHR (of any, without one) that the caller may write; one indexed lookup. */
export async function writablePlan(
  database: Database,
  caller: Caller,
  carePlanId: string,
  ehrId: string | undefined,
): Promise<WritablePlan | undefined> {
  const plan = await documentsOf(database, 'CarePlan').findOne(
    { _id: carePlanId, ...(ehrId !== undefined && { ehrId }), ...permitted('_wperm', caller) },
    { projection: { ehrId: 1, status: 1, _rperm: 1, _wperm: 1 } },
  )
  if (!plan) return undefined
  const permissions = { read: plan._rperm, write: plan._wperm }
  return { ehrId: String(plan.ehrId), status: String(plan.status), permissions }
}

/** Whether a goal of that care plan takes tasks; undefined when there is none that the caller may write. */
export async function statusOfWritableGoal(
  database: Database,
  caller: Caller,
  goalId: string,
  carePlanId: string,
): Promise<string | undefined> {
  const goal = await documentsOf(database, 'Goal').findOne(
    { _id: goalId, carePlanId, ...permitted('_wperm', caller) },
    { projection: { status: 1 } },
  )
  return goal ? String(goal.status) : undefined
}
