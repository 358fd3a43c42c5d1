import assert from 'node:assert/strict'
import { LRUCache } from 'lru-cache'
import type { Document } from 'mongodb'
import { contents } from '../../../../records/kinds.ts'
import { openAudit } from '../../../../records/store/audit/trail.ts'
import { verifyAudit } from '../../../../records/store/audit/verifier.ts'
import { STEP } from '../../../../records/store/batching/steps.ts'
import type { Caller } from '../../../../records/store/documents/caller.ts'
import { newId } from '../../../../records/store/documents/ids.ts'
import { worksOf } from '../../../../records/store/steps/under-way.ts'
import { RecentRemovals } from '../../../../records/store/writing/removal/recent-removals.ts'
import type { Records } from '../../../../records/store/writing/transaction.ts'
import { Turns } from '../../../../records/store/writing/turns.ts'
import { letIn, newGoal, newPatient, newPlan, newTask } from '../../../harness/care/patients.ts'
import type { Answer } from '../../../harness/clients/path-client.ts'
import { newAdmin, newPerson, type Person } from '../../../harness/people/people.ts'
import { config, service } from '../../../harness/service/service.ts'
import { sized } from '../../../harness/size.ts'
import { found } from '../../../harness/until.ts'

type Kept = Document & { _id: string }

/** Everything, also what is hidden. */
export const kept = (name: string) => service.client.db(service.db.databaseName).collection<Kept>(name)

type Scene = Awaited<ReturnType<typeof openScene>>

/** What the tests of a block need; to be used in them. */
export function sceneOfBlock(): Scene {
  const scene = {} as Scene
  before(async () => {
    Object.assign(scene, await openScene())
  })
  after(() => scene.close())
  return scene
}

/** People, and an instance that is killed as soon as the first transaction has been committed. */
async function openScene() {
  const usual = STEP.documents
  STEP.documents = sized(100, usual)
  const [stranger, admin, nurse] = await Promise.all([newPerson(), newAdmin(), newPerson()])
  const { client, db } = service
  const clock = () => new Date()
  const audit = await openAudit({ db, key: config.auditKey, clock, onFault: () => {} })
  const all = client.db(db.databaseName)
  const underWay = { db: all, begin: () => {}, done: async () => false } as unknown as Records['underWay']
  const recentRemovals = new RecentRemovals()
  const tellOfPendingEhr = async () => {}
  const definitions = new LRUCache<string, object>({ max: 10 })
  const dying = {
    client,
    db,
    clock,
    audit,
    contents,
    underWay,
    turns: new Turns(),
    recentRemovals,
    definitions,
    tellOfPendingEhr,
  }
  const close = async () => {
    STEP.documents = usual
    await audit.close()
  }
  return { stranger, admin, nurse, dying, close }
}

/** A plan with goals of 100 tasks each; the tasks but the first are put there as they would be. */
export async function largePlan(nurse: Person, goals = sized(2, 11)) {
  const owner = await newPatient()
  const planId = await newPlan(owner)
  await letIn(planId, nurse, 'read')
  const goalId = await newGoal(owner, planId)
  const taskId = await newTask(owner, planId, goalId)
  const [goal, task] = [await kept('Goal').findOne({}), await kept('Task').findOne({ _id: taskId })]
  const ofPlan = { ...(await kept('Goal').findOne({ _id: goalId })) }
  assert.ok(goal && task)
  const goalIds = [goalId, ...Array.from({ length: goals - 1 }, newId)]
  await kept('Goal').insertMany(goalIds.slice(1).map((_id) => ({ ...ofPlan, _id })))
  await kept('Task').insertMany(
    goalIds.flatMap((goalId, i) =>
      Array.from({ length: i === 0 ? 99 : 100 }, () => ({ ...task, _id: newId(), goalId })),
    ),
  )
  const tasks = 100 * goals
  return { owner, planId, goalId, taskId, goals, tasks, path: `/ehr/${owner.ehrId}/careplan/${planId}` }
}

export const callerOf = ({ mvUid }: Person): Caller => ({
  ...{ userId: mvUid, roles: [], application: 'tests', requestId: 'killed' },
})

export const statuses = async (name: string, carePlanId: string) =>
  (await kept(name).distinct('status', { carePlanId })).join()

/** How many records each entry of the audit names. */
export const audited = async (ehrId: string, action: string, type: string): Promise<number[]> =>
  (await kept('audit.entries').find({ ehrId, action, type, outcome: 'done' }).toArray()).map(
    ({ ids }) => ids.length,
  )

export const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0)

/** Lets the time pass after which another instance goes on. */
export const takenOver = () => worksOf(service).updateMany({}, { $set: { leaseUntil: new Date(0) } })

/** Nobody goes on with it before {@link takenOver}. */
export async function heldUp(id: string): Promise<void> {
  const later = { $set: { leaseUntil: new Date(Date.now() + 60_000) } }
  assert.equal((await worksOf(service).updateOne({ id }, later)).matchedCount, 1)
}

export const isSound = async () => assert.equal((await verifyAudit(service.db, config.auditKey)).broken, null)

/** Asks again as long as it is told to. */
export const answered = <A extends Pick<Answer, 'status' | 'body'>>(ask: () => Promise<A>): Promise<A> =>
  found(async () => {
    const answer = await ask()
    return answer.status === 503 ? undefined : answer
  })

/** Whether a request is answered before long, on a machine that has much else to do, too. */
export async function isAnswered(answer: Promise<{ status: number }>): Promise<boolean> {
  const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 1000))
  return (await Promise.race([answer, late])) !== undefined
}
