import assert from 'node:assert/strict'
import { LRUCache } from 'lru-cache'
import type { Document } from 'mongodb'
import { accessesOfList } from '../../../../records/ehrs/rights/query-accesses.ts'
import { containedCollections } from '../../../../records/kinds.ts'
import { openAuditLog } from '../../../../records/store/audit/audit-log.ts'
import { verifyAudit } from '../../../../records/store/audit/verifier.ts'
import { BulkWriteSupport } from '../../../../records/store/batching/pending-writes.ts'
import { BATCH_LIMITS } from '../../../../records/store/batching/transaction-batches.ts'
import type { Caller } from '../../../../records/store/documents/caller.ts'
import { newId } from '../../../../records/store/documents/ids.ts'
import { jobCollection } from '../../../../records/store/jobs/background-jobs.ts'
import { EhrLocks } from '../../../../records/store/writing/ehr-locks.ts'
import type { StoreContext } from '../../../../records/store/writing/transaction.ts'
import {
  addParticipant,
  createGoal,
  createPatient,
  createPlan,
  createTask,
  type Patient,
} from '../../../harness/care/patients.ts'
import type { Answer } from '../../../harness/clients/path-client.ts'
import { createAdmin, createPerson, type Person } from '../../../harness/people/people.ts'
import { config, service } from '../../../harness/service/service.ts'
import { bySize, isFullSize } from '../../../harness/test-size.ts'
import { waitFor, waitUntil } from '../../../harness/wait.ts'

type Kept = Document & { _id: string }

/** All documents, also hidden ones. */
export const unfilteredCollection = (name: string) =>
  service.client.db(service.db.databaseName).collection<Kept>(name)

type Scene = Awaited<ReturnType<typeof openScene>>

/** The scene for the tests of a block; use it only within them. */
export function sceneOfBlock(): Scene {
  const scene = {} as Scene
  before(async () => {
    Object.assign(scene, await openScene())
  })
  after(() => scene.close())
  return scene
}

/** People, and an instance that ends as soon as its first transaction has been committed. */
async function openScene() {
  const usual = BATCH_LIMITS.maxDocuments
  BATCH_LIMITS.maxDocuments = bySize(100, usual)
  const [stranger, admin, nurse] = await Promise.all([createPerson(), createAdmin(), createPerson()])
  const { client, db } = service
  const clock = () => new Date()
  const audit = await openAuditLog({ db, key: config.auditKey, clock, onFault: () => {} })
  const database = client.db(db.databaseName)
  const jobs = {
    unfilteredDb: database,
    startJob: () => {},
    waitUntilDone: async () => false,
  } as unknown as StoreContext['jobs']
  const notifyOfPendingEhr = async () => {}
  const definitions = new LRUCache<string, object>({ max: 10 })
  const dying = {
    client,
    db,
    clock,
    audit,
    contents: containedCollections,
    jobs,
    ehrLocks: new EhrLocks(),
    bulkWrites: new BulkWriteSupport(),
    definitions,
    accessesOfList,
    notifyOfPendingEhr,
  }
  const close = async () => {
    BATCH_LIMITS.maxDocuments = usual
    await audit.close()
  }
  return { stranger, admin, nurse, dying, close }
}

/** A plan with goals of 100 tasks each. The tasks except the first are inserted directly. */
export async function largePlan(nurse: Person, goals = bySize(2, 11)) {
  const owner = await createPatient()
  const planId = await createPlan(owner)
  await addParticipant(planId, nurse, 'read')
  const goalId = await createGoal(owner, planId)
  const taskId = await createTask(owner, planId, goalId)
  const goal = await unfilteredCollection('Goal').findOne({})
  const task = await unfilteredCollection('Task').findOne({ _id: taskId })
  const ofPlan = { ...(await unfilteredCollection('Goal').findOne({ _id: goalId })) }
  assert.ok(goal && task)
  const goalIds = [goalId, ...Array.from({ length: goals - 1 }, newId)]
  await unfilteredCollection('Goal').insertMany(goalIds.slice(1).map((_id) => ({ ...ofPlan, _id })))
  await unfilteredCollection('Task').insertMany(
    goalIds.flatMap((goalId, i) =>
      Array.from({ length: i === 0 ? 99 : 100 }, () => ({ ...task, _id: newId(), goalId })),
    ),
  )
  const tasks = 100 * goals
  return { owner, planId, goalId, taskId, goals, tasks, path: `/ehr/${owner.ehrId}/careplan/${planId}` }
}

export const callerOf = ({ mvUid }: Person): Caller => ({
  userId: mvUid,
  roles: [],
  application: 'tests',
  requestId: 'killed',
})

export const statuses = async (name: string, carePlanId: string) =>
  (await unfilteredCollection(name).distinct('status', { carePlanId })).join()

/** The number of records in each audit entry. */
export const audited = async (ehrId: string, action: string, type: string): Promise<number[]> =>
  (
    await unfilteredCollection('audit.entries')
      .find({ ehrId, action, type, outcome: { $exists: false } })
      .toArray()
  ).map(({ ids }) => ids.length)

export const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0)

/** Expires the leases, after which another instance takes over. */
export const takenOver = () => jobCollection(service).updateMany({}, { $set: { leaseUntil: new Date(0) } })

/** Extends the lease, so that no instance continues before {@link takenOver}. */
export async function heldUp(id: string): Promise<void> {
  const later = { $set: { leaseUntil: new Date(Date.now() + 60_000) } }
  assert.equal((await jobCollection(service).updateOne({ id }, later)).matchedCount, 1)
}

export const isSound = async () => assert.equal((await verifyAudit(service.db, config.auditKey)).broken, null)

/** Repeats a request until its answer is not a 503. */
export const retryWhileUnavailable = <A extends Pick<Answer, 'status' | 'body'>>(
  ask: () => Promise<A>,
): Promise<A> =>
  waitFor(async () => {
    const answer = await ask()
    return answer.status === 503 ? undefined : answer
  })

/**
 * Waits until the job is done that a request has started in an EHR. At full size, on a busy machine, the job outlasts the
 * request (503), or reading its result does (408).
 */
export async function completed(started: PromiseLike<{ status: number }>, { ehrId }: Patient): Promise<void> {
  const { status } = await started
  assert.ok(status < 300 || (isFullSize && [408, 503].includes(status)), String(status))
  await waitUntil(async () => (await jobCollection(service).countDocuments({ ehrId })) === 0)
}

/** Whether a request is answered within a second. */
export async function isAnswered(answer: Promise<{ status: number }>): Promise<boolean> {
  const timeout = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 1000))
  return (await Promise.race([answer, timeout])) !== undefined
}
