import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import type { Document } from 'mongodb'
import { auditEntryCollection } from '../../records/store/audit/audit-log.ts'
import { bySize } from '../harness/test-size.ts'
import { waitUntil } from '../harness/wait.ts'
import { Clients, requestIdOf } from './sequences/clients.ts'
import { Cluster } from './sequences/cluster.ts'
import { findUnexplained, versionsOf } from './sequences/explanation.ts'
import { anyOperation, CLASS_OF, type RecordName } from './sequences/model.ts'
import { readDatabaseState } from './trials/database-state.ts'
import { findFaults } from './trials/invariants.ts'

const SEED = Number(process.env.SEED ?? 20_261_124)
const OPERATION_COUNT = Number(process.env.OPERATIONS ?? bySize(300, 2_000))
/** In each phase, one process is killed or stands still. */
const PHASE_COUNT = Math.max(4, Math.ceil(OPERATION_COUNT / 250))

describe(`${OPERATION_COUNT} random operations of both families, while processes are killed and stand still (SEED=${SEED})`, function suite() {
  // The machine may be busy.
  this.timeout(OPERATION_COUNT * 1_000 + 600_000)
  let cluster: Cluster
  let clients: Clients

  before(async () => {
    cluster = await Cluster.start()
    clients = await Clients.start(cluster)
    const operations = fc.sample(anyOperation, { numRuns: OPERATION_COUNT, seed: SEED })
    const length = Math.ceil(OPERATION_COUNT / PHASE_COUNT)
    for (let phase = 0; phase < PHASE_COUNT; phase++) {
      const phaseOperations = operations.slice(phase * length, (phase + 1) * length)
      const plan = await clients.prepare()
      await Promise.all([
        clients.run(phaseOperations, plan, Math.floor(phaseOperations.length / 2)),
        disturb(phase),
      ])
    }
    await waitUntil(async () => (await cluster.db.collection('work.underway').countDocuments()) === 0)
  })
  after(() => cluster?.stop())

  async function disturb(phase: number): Promise<void> {
    await sleep(50 + ((phase * 137) % 400))
    const faults = [
      () => cluster.killService(0),
      () => cluster.killEngine(),
      () => cluster.killService(1),
      () => cluster.freezeEngine(3_000),
    ]
    await faults[phase % faults.length]?.()
  }

  const changesOf = (record: RecordName): Promise<Document[]> => {
    const start = `${clients.ehrId}/${CLASS_OF[record]}/${clients.ids.get(record)}/`
    return cluster.db
      .collection('history.changes')
      .find({ _id: { $regex: `^${start}` } as never })
      .toArray()
  }

  for (const record of Object.keys(CLASS_OF) as RecordName[])
    it(`hold in an order that explains every response about ${record}`, async () => {
      const current = await cluster.db
        .collection(CLASS_OF[record])
        .findOne({ _id: clients.ids.get(record) as never })
      const operations = clients.operations.get(record) ?? []
      assert.ok(operations.length > OPERATION_COUNT / 20)
      assert.deepEqual(findUnexplained(versionsOf(record, await changesOf(record), current), operations), [])
    })

  it('leave one audit entry for each version, and no version missing or twice', async () => {
    const state = await readDatabaseState(cluster.db)
    assert.deepEqual(await findFaults(cluster.db, cluster.auditKey, state, new Map()), [])
  })

  it('leave an audit entry for each acknowledged write, and none for a refused one', async () => {
    const entries = await auditEntryCollection(cluster.db)
      .find({ action: { $in: ['create', 'update', 'delete'] }, outcome: { $exists: false } })
      .toArray()
    const idsByRequest = new Map<string, string[]>()
    for (const { requestId, ids } of entries)
      idsByRequest.set(String(requestId), [...(idsByRequest.get(String(requestId)) ?? []), ...ids])
    for (const [record, operations] of clients.operations)
      for (const { number, operation, status } of operations) {
        const id = String(clients.ids.get(record))
        // A pressure has the id of its alert.
        const own = new Set(idsByRequest.get(requestIdOf(number)) ?? [])
        if (status === 0) continue
        const isWritten = operation.action !== 'read' && status < 300
        assert.deepEqual(
          [...own],
          isWritten ? [id] : [],
          `op ${number}: ${JSON.stringify(operation)} ${status}`,
        )
      }
  })

  it('leave every created goal, and none open in a closed plan', async () => {
    const { creations, closedPlans } = clients
    const goals = await cluster.db
      .collection('Goal')
      .find({ carePlanId: { $in: closedPlans } })
      .toArray()
    const byName = new Map<string, Document[]>()
    for (const goal of goals) byName.set(goal.name, [...(byName.get(goal.name) ?? []), goal])
    for (const { text, status, id, isClosing, planId } of creations) {
      const namedRecords = byName.get(text) ?? []
      if (status === 0) assert.ok(namedRecords.length <= 1, text)
      else if (status < 300)
        assert.deepEqual(
          namedRecords.map(({ _id }) => _id),
          [id],
          `${text} in ${planId}`,
        )
      // An account may have too many requests under way.
      else assert.ok((isClosing || status === 429) && namedRecords.length === 0, `${text}: ${status}`)
    }
    assert.deepEqual(
      goals.filter(({ status }) => status === 'ACTIVE').map(({ name }) => name),
      [],
    )
  })
})
