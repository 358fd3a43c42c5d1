import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Document } from 'mongodb'
import { createPlanInOwnEhr } from '../../harness/care/by-class-family.ts'
import { createPatient, type Patient } from '../../harness/care/patients.ts'
import { createClassClient, parseDate } from '../../harness/clients/class-client.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createAdmin, type Person } from '../../harness/people/people.ts'
import { recordTransactions } from '../../harness/service/database-commands.ts'
import { service } from '../../harness/service/service.ts'
import { bySize } from '../../harness/test-size.ts'

/** A version of a plan, as far as the operations below change it. */
interface PlanVersion {
  version: number
  name: string
  notes: string | undefined
}

/** An operation of one family, which sets fields to a text of its own. */
interface Operation {
  plan: 0 | 1
  family: 'class' | 'path'
  fields: readonly ('name' | 'notes')[]
}

const anyOperation: fc.Arbitrary<Operation> = fc.record({
  plan: fc.constantFrom(0, 1),
  family: fc.constantFrom('class', 'path'),
  fields: fc.constantFrom(['name'], ['notes'], ['name', 'notes']),
})

const idsOf = (version: Document): PlanVersion => ({
  version: version.version,
  name: version.name,
  notes: version.notes ?? undefined,
})

describe('concurrent writes of both families', function suite() {
  this.timeout(600_000)
  let patient: Patient
  let carePlanId: string

  before(async () => {
    patient = await createPatient()
    ;({ carePlanId } = await createPlanInOwnEhr(patient))
  })

  const newPlan = async (name = 'first'): Promise<string> =>
    assertStatus(await patient.call('POST', 'careplan', { name }), 201).id

  /** All versions of a plan: those that the history keeps, and the current one. */
  async function versionsOf(id: string): Promise<PlanVersion[]> {
    const history = service.db.collection<{ _id: string; before: Document | null }>('history.changes')
    const changes = await history
      .find({ _id: { $regex: `^${patient.ehrId}/CarePlan/${id}/` } })
      .sort({ _id: 1 })
      .toArray()
    const now = await service.db.collection<Document & { _id: string }>('CarePlan').findOne({ _id: id })
    assert.ok(now)
    return [...changes.flatMap(({ before }) => before ?? []), now].map(idsOf)
  }

  /** Sends an operation. @returns the version that the response shows */
  async function send(plan: string, { family, fields }: Operation, text: string): Promise<PlanVersion> {
    const values = Object.fromEntries(fields.map((field) => [field, text]))
    if (family === 'class') {
      const { status, body } = await createClassClient(patient).put('CarePlan', plan, values)
      assert.equal(status, 200, JSON.stringify(body))
      return idsOf(body)
    }
    return idsOf(assertStatus(await patient.call('PUT', `careplan/${plan}`, { name: text, ...values })))
  }

  it('hold in an order that explains every response, with each version once in history and audit', () =>
    fc.assert(
      fc.asyncProperty(fc.array(anyOperation, { minLength: 8, maxLength: 40 }), async (operations) => {
        const plans = [await newPlan(), await newPlan()]
        const updates = await Promise.all(
          operations.map(async (operation, i) => {
            const text = `text ${i}`
            return { operation, text, seen: await send(plans[operation.plan] ?? '', operation, text) }
          }),
        )
        for (const [number, plan] of plans.entries()) {
          const versions = await versionsOf(plan)
          const ownUpdates = updates.filter(({ operation }) => operation.plan === number)
          assert.deepEqual(
            versions.map(({ version }) => version),
            Array.from({ length: ownUpdates.length + 1 }, (_, i) => i + 1),
          )
          for (const { operation, text, seen } of ownUpdates) {
            const before = versions[seen.version - 2] as PlanVersion
            assert.deepEqual(versions[seen.version - 1], seen, 'the response shows the version that it made')
            const values = Object.fromEntries(operation.fields.map((field) => [field, text]))
            const rest = operation.family === 'class' ? before : { name: text, notes: undefined }
            assert.deepEqual(seen, { ...rest, ...values, version: seen.version }, 'only its fields changed')
          }
          // The stored form leaves out the outcome `done`.
          const filter = { type: 'CarePlan', ids: plan, action: 'update', outcome: { $exists: false } }
          assert.equal(await service.db.collection('audit.entries').countDocuments(filter), ownUpdates.length)
        }
      }),
      { numRuns: bySize(4, 80) },
    ))

  it('both hold if they change different properties of an object', async () => {
    const { put, get } = createClassClient(patient)
    const plan = await newPlan()
    for (let round = 0; round < bySize(10, 1000); round++) {
      const name = `name ${round}`
      const notes = `notes ${round}`
      await Promise.all([
        put('CarePlan', plan, { name }).expect(200),
        put('CarePlan', plan, { notes }).expect(200),
      ])
      const { body } = await get('CarePlan', plan).expect(200)
      assert.deepEqual([body.name, body.notes], [name, notes])
    }
  })

  it('both hold if they change different parts of a property, or set and delete them', async () => {
    const { post, put, get } = createClassClient(patient)
    const diary = { ehrId: patient.ehrId, carePlanId, modelClassName: 'Diary', payload: { old: 1 } }
    const { objectId } = (await post('Custom', diary).expect(201)).body
    for (let round = 0; round < bySize(10, 200); round++) {
      await put('Custom', objectId, { 'payload.old': round }).expect(200)
      const answers = await Promise.all([
        put('Custom', objectId, { 'payload.mood': round }),
        put('Custom', objectId, { 'payload.sleep': round, 'payload.old': { __op: 'Delete' } }),
        put('Custom', objectId, { 'payload.note': { text: `note ${round}` } }),
      ])
      for (const { status, body } of answers) assert.equal(status, 200, JSON.stringify(body))
      const { payload } = (await get('Custom', objectId).expect(200)).body
      assert.deepEqual(payload, { mood: round, sleep: round, note: { text: `note ${round}` } })
    }
  })

  it('answer the whole object each, also if they change nothing', async () => {
    const { put, get } = createClassClient(patient)
    const plan = await newPlan()
    const carePlan = (await get('CarePlan', plan).expect(200)).body
    const answers = await Promise.all(Array.from({ length: 8 }, () => put('CarePlan', plan, {}).expect(200)))
    for (const { body } of answers) assert.deepEqual(body, carePlan)
  })

  it('set what they say, even if it was there when they began', async () => {
    const { put, get } = createClassClient(patient)
    const plan = await newPlan()
    for (let round = 0; round < bySize(10, 200); round++) {
      await put('CarePlan', plan, { notes: 'a' }).expect(200)
      const answers = await Promise.all(
        ['b', 'a', 'c', 'a'].map(async (notes) => ({
          notes,
          answer: await put('CarePlan', plan, { notes }),
        })),
      )
      for (const { notes, answer } of answers) assert.equal(answer.body.notes, notes)
      const [last] = answers.sort((a, b) => b.answer.body.version - a.answer.body.version)
      assert.equal((await get('CarePlan', plan).expect(200)).body.notes, last?.notes)
    }
  })

  it('do not exceed together what each of them may add', async () => {
    const { post, put, get } = createClassClient(patient)
    const participants = Array.from({ length: 97 }, (_, i) => ({ mvUid: `user${i}`, status: 'INVITED' }))
    const start = parseDate('2026-03-01T08:30:00.000Z')
    const event = { ehrId: patient.ehrId, type: 'meeting', title: 'All', start, participants }
    const { objectId } = (await post('Event', event).expect(201)).body
    const add = (i: number) =>
      put('Event', objectId, {
        participants: { __op: 'AddUnique', objects: [{ mvUid: `guest${i}`, status: 'INVITED' }] },
      })
    const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => add(i % 6)))
    for (const { status, body } of answers)
      assert.ok(status === 200 || body.code === 142, JSON.stringify(body))
    assert.equal((await get('Event', objectId).expect(200)).body.participants.length, 100)
    const plan = await newPlan()
    const addGoals = (count: number) => {
      const goal = { ehrId: patient.ehrId, carePlanId: plan, name: 'walk' }
      return Promise.all(Array.from({ length: count }, () => post('Goal', goal)))
    }
    // Few at once: on a busy machine, more would queue for too long.
    for (let wave = 0; wave < 8; wave++)
      for (const { status } of await addGoals(12)) assert.equal(status, 201)
    for (const { status, body } of await addGoals(9))
      assert.ok(status === 201 || body.code === 142, JSON.stringify(body))
    assert.equal(await service.db.collection('Goal').countDocuments({ carePlanId: plan }), 100)
  })

  it('add up their increments', async () => {
    const { post, put, get } = createClassClient(patient)
    const timestamp = parseDate('2026-01-02T03:04:05.000Z')
    const weight = { carePlanId, timestamp, weight: 50, weightUnit: 'kg' }
    const { objectId } = (await post('BodyWeight', weight).expect(201)).body
    const increment = { weight: { __op: 'Increment', amount: 1 } }
    const increments = Array.from({ length: 30 }, () => put('BodyWeight', objectId, increment))
    const writes = await recordTransactions(async () => {
      const weights = (await Promise.all(increments)).map(({ status, body }) => status === 200 && body.weight)
      assert.deepEqual(
        weights.sort((a, b) => a - b),
        Array.from({ length: 30 }, (_, i) => 51 + i),
      )
    })
    assert.equal((await get('BodyWeight', objectId).expect(200)).body.weight, 80)
    const changes = writes.map(({ documents }) => documents['history.changes'] ?? 0)
    assert.equal(
      changes.reduce((sum, some) => sum + some),
      30,
    )
    // Under load, one transaction for each update would exceed the time that a request waits.
    assert.ok(changes.length <= 10, `${changes.length} transactions`)
  })

  it('return a deleted record once, and find it there if another request has returned it', async () => {
    const { post, delete: remove } = createClassClient(patient)
    const timestamp = parseDate('2026-01-02T03:04:05.000Z')
    const weight = { carePlanId, timestamp, weight: 50, weightUnit: 'kg' }
    for (let round = 0; round < bySize(3, 30); round++) {
      const { objectId } = (await post('BodyWeight', weight).expect(201)).body
      await remove('BodyWeight', objectId).expect(200)
      const path = `procedure/bodyweight/${objectId}/restore`
      const etags = await Promise.all(
        Array.from({ length: 4 }, async () => {
          const restored = await patient.call('POST', path, { version: 1 })
          assertStatus(restored)
          return restored.etag
        }),
      )
      assert.deepEqual(etags.sort(), ['"3"', '"4"', '"5"', '"6"'])
    }
  })

  it('leave no open goal in a plan that is closed with its contents', async () => {
    const { post } = createClassClient(patient)
    for (let round = 0; round < bySize(5, 200); round++) {
      const plan = await newPlan()
      const goal = { ehrId: patient.ehrId, carePlanId: plan, name: 'x' }
      const [, ...created] = await Promise.all([
        patient.call('POST', `careplan/${plan}/close`, { closeOpen: true }).then(assertStatus),
        ...Array.from({ length: 6 }, () => post('Goal', goal)),
      ])
      for (const { status } of created) assert.ok([201, 400].includes(status), String(status))
      const open = { carePlanId: plan, status: 'ACTIVE' }
      assert.equal(await service.db.collection('Goal').countDocuments(open), 0)
    }
  })

  it('into an EHR that is deleted are there after its restoration, or were refused', async () => {
    const admin: Person & Pick<Patient, 'call'> = await createAdmin()
    for (let round = 0; round < bySize(3, 30); round++) {
      const owner = await createPatient()
      const { post, get } = createClassClient(owner)
      const plans = Array.from({ length: 12 }, (_, i) => ({ ehrId: owner.ehrId, name: `plan ${i}` }))
      const [, ...created] = await Promise.all([
        owner.call('DELETE', `/med/ehr/${owner.ehrId}`),
        ...plans.map((plan) => post('CarePlan', plan)),
      ])
      for (const { status } of created) assert.ok([201, 404].includes(status), String(status))
      assertStatus(await admin.call('POST', `/med/ehr/${owner.ehrId}/restore`))
      for (const { status, body } of created)
        if (status === 201) await get('CarePlan', body.objectId).expect(200)
    }
  })
})
