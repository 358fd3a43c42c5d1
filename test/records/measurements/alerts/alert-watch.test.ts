import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { Event } from '../../../../records/events/event.ts'
import { PlanAlertRulesStore } from '../../../../records/measurements/alerts/alert-rules.ts'
import { AlertWatch } from '../../../../records/measurements/alerts/attention/alert-watch.ts'
import { BloodPressure } from '../../../../records/measurements/kinds/blood-pressure.ts'
import type { MeasurementKind } from '../../../../records/measurements/measurement.ts'
import type { ParseDocument } from '../../../../records/store/documents/parse-format.ts'
import { lockShared } from '../../../../records/store/writing/ehr-locks.ts'
import { runStoreTransaction } from '../../../../records/store/writing/transaction.ts'
import type { AlertRules } from '../../../../schemas/events/alert-rules.ts'
import { DAY_MS, MINUTE_MS } from '../../../../schemas/time/durations.ts'
import { createCaller, useTestStore } from '../../../harness/test-store.ts'

describe('the watch over alerts', () => {
  const opened = useTestStore()
  const documents = (name: string) => opened.db.collection<ParseDocument>(name)
  const meta = () => {
    const time = new Date()
    return {
      version: 1,
      _created_at: time,
      _updated_at: time,
      _rperm: ['nurse', 'doctor'],
      _wperm: ['nurse', 'doctor'],
    }
  }
  const createWatch = (context = opened.context) =>
    new AlertWatch(context, [BloodPressure as unknown as MeasurementKind], async ({ to }, session) => {
      await opened.db.collection('sent').insertOne({ to }, session ? { session } : {})
    })
  let planCount = 0

  /** A plan whose rules are due. */
  async function createDuePlan(rules: AlertRules, ehrs = ['an EHR']): Promise<string> {
    const carePlanId = `plan${++planCount}`
    const ehrId = `ehr${planCount}`
    for (const _id of ehrs.map(() => ehrId)) await documents('Ehr').insertOne({ _id, ...meta() })
    await documents('CarePlan').insertOne({ _id: carePlanId, ehrId, status: 'ACTIVE', ...meta() })
    await documents('plan.alert-rules').insertOne({
      _id: carePlanId,
      ehrId,
      carePlanId,
      json: JSON.stringify(rules),
      ...meta(),
      dueAt: new Date(Date.now() - 2 * DAY_MS),
    })
    return carePlanId
  }
  const from = new Date(Date.now() - 9 * DAY_MS).toISOString().slice(0, 10)
  const expected = [{ kind: 'bloodpressure', from, everyDays: 1, by: '00:00' }]
  const escalation = { afterMinutes: 5, participants: ['nurse', 'doctor'] }
  const alertsIn = (carePlanId: string) => documents(Event.collection).find({ carePlanId }).toArray()

  before(async () => {
    for (const name of ['Ehr', 'CarePlan', 'plan.alert-rules', 'BloodPressure', 'Event', 'sent', 'ehr.turns'])
      await opened.db.createCollection(name)
  })
  beforeEach(async () => {
    await opened.db.collection('sent').deleteMany({})
  })

  it('does each step once, although several instances watch', async () => {
    const planId = await createDuePlan({ expected, escalation })
    await Promise.all([1, 2, 3].map(() => createWatch().run()))
    await Promise.all([1, 2, 3].map(() => createWatch().run()))
    const [alert, ...more] = await alertsIn(planId)
    assert.deepEqual(more, [])
    assert.deepEqual([alert?.assignedTo, alert?.version], ['nurse', 2])
    assert.equal(await opened.db.collection('sent').countDocuments(), 1)
    await documents(Event.collection).updateOne(
      { carePlanId: planId },
      {
        $set: {
          assignedAt: new Date(Date.now() - 6 * MINUTE_MS),
          attentionAt: new Date(Date.now() - MINUTE_MS),
        },
      },
    )
    await Promise.all([1, 2, 3].map(() => createWatch().run()))
    const [next] = await alertsIn(planId)
    assert.deepEqual([next?.assignedTo, next?.version], ['doctor', 3])
    assert.equal(await opened.db.collection('sent').countDocuments(), 2)
  })

  it('repeats a step that failed before its end', async () => {
    const planId = await createDuePlan({ expected, escalation })
    const failing = new AlertWatch(
      opened.context,
      [BloodPressure as unknown as MeasurementKind],
      async () => {
        throw new Error('killed')
      },
    )
    await assert.rejects(failing.run(), AggregateError)
    assert.deepEqual(
      (await alertsIn(planId)).map(({ version, assignedTo }) => [version, assignedTo]),
      [[1, undefined]],
    )
    await createWatch().run()
    assert.deepEqual(
      (await alertsIn(planId)).map(({ version, assignedTo }) => [version, assignedTo]),
      [[2, 'nurse']],
    )
  })

  it('raises the alerts of a plan whose rules, stored by an earlier version, expect a measurement twice', async () => {
    const once = expected[0] as (typeof expected)[0]
    const planId = await createDuePlan({
      expected: [once, { ...once, severity: 'HIGH' }, { ...once, by: '00:01' }],
    })
    await createWatch().run()
    const alerts = await alertsIn(planId)
    assert.equal(alerts.length, 2)
    await documents('plan.alert-rules').updateOne(
      { _id: planId },
      { $set: { dueAt: new Date(Date.now() - 2 * DAY_MS) } },
    )
    await createWatch().run()
    assert.equal((await alertsIn(planId)).length, 2)
  })

  it('checks a period that ended just before the rules were saved again', async () => {
    const rules = { expected }
    const planId = await createDuePlan(rules)
    const plan = { ehrId: `ehr${planCount}`, carePlanId: planId }
    const store = new PlanAlertRulesStore(opened.context, ['bloodpressure'])
    await store.save(createCaller('nurse'), plan, { expected, escalation }, {})
    await createWatch().run()
    assert.equal((await alertsIn(planId)).length, 1)
    await documents('plan.alert-rules').updateOne(
      { _id: planId },
      { $set: { dueAt: new Date(Date.now() - 2 * DAY_MS) } },
    )
    await store.save(
      createCaller('nurse'),
      plan,
      { expected: [{ ...expected[0], everyDays: 2 }] } as AlertRules,
      {},
    )
    await createWatch().run()
    assert.equal((await alertsIn(planId)).length, 1)
  })

  it('counts a measurement at the end of a period, but none at its beginning', async () => {
    const end = Date.parse(new Date().toISOString().slice(0, 10))
    const raised = []
    for (const time of [end, end - 1, end - DAY_MS + 1, end - DAY_MS]) {
      const carePlanId = await createDuePlan({ expected })
      const measurement = { _id: `edge${planCount}`, carePlanId, timestamp: new Date(time), ...meta() }
      await documents('BloodPressure').insertOne(measurement)
      await createWatch().run()
      raised.push((await alertsIn(carePlanId)).length)
    }
    assert.deepEqual(raised, [0, 0, 0, 1])
  })

  it('waits while the plan or its EHR is deleted', async () => {
    const planId = await createDuePlan({ expected, escalation }, [])
    await createWatch().run()
    assert.deepEqual(await alertsIn(planId), [])
    const rules = await documents('plan.alert-rules').findOne({ _id: planId })
    assert.ok((rules?.dueAt as Date) > new Date())
  })

  it('raises the alert of a period that ends soon after its plan has returned', async () => {
    const due = new Date(Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS + 10 * MINUTE_MS)
    const by = due.toISOString().slice(11, 16)
    const planId = await createDuePlan({ expected: [{ kind: 'bloodpressure', from, everyDays: 1, by }] }, [])
    await createWatch().run()
    await documents('Ehr').insertOne({ _id: `ehr${planCount}`, ...meta() })
    const context = { ...opened.context, clock: () => new Date(due.getTime() + MINUTE_MS) }
    await createWatch(context).run()
    assert.deepEqual(
      (await alertsIn(planId)).map(({ start }) => start),
      [due],
    )
  })

  it('raises no alert while the expected measurement is being stored', async () => {
    const planId = await createDuePlan({ expected })
    const { context } = opened
    let watching: Promise<void> | undefined
    await runStoreTransaction(context, async (tx) => {
      lockShared(context, tx, [`ehr${planCount}`], [])
      const due = new Date(new Date().toISOString().slice(0, 10))
      const measurement = { _id: `late${planCount}`, carePlanId: planId, timestamp: due, ...meta() }
      await documents('BloodPressure').insertOne(measurement, { session: tx.session })
      await tx.pending.flush()
      watching = createWatch().run()
      await sleep(500)
    })
    await watching
    await createWatch().run()
    assert.deepEqual(await alertsIn(planId), [])
  })
})
