import assert from 'node:assert/strict'
import { createClient, isProblem } from 'health-record-client'
import { createPatient, createPlan, createWeight } from '../harness/care/patients.ts'
import { service } from '../harness/service/service.ts'
import { createClientOf } from './harness/client-of.ts'

const WEIGHTS = '/ehr/{ehrId}/procedure/bodyweight'
const WEIGHT = '/ehr/{ehrId}/procedure/bodyweight/{compositionId}'

const PASSWORD = 'correct horse battery staple'
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe('the client', () => {
  it('logs in, stores and reads, and names every violation', async () => {
    const patient = await createPatient()
    const client = createClient({ url: `${service.url}/` })
    const { mvUid } = await client.logIn({ email: patient.email, password: PASSWORD })
    assert.equal(mvUid, patient.mvUid)
    const { data } = await client.GET('/ehr')
    const ehrId = data.items[0]?.id ?? ''
    assert.equal(ehrId, patient.ehrId)
    const path = { ehrId }
    const bad = { carePlanId: 'unknown', timestamp: 'yesterday', weight: -1, weightUnit: 'kg' } as const
    const refusal = client.POST(WEIGHTS, { params: { path }, body: bad })
    await assert.rejects(refusal, (problem) => {
      assert.ok(isProblem(problem, 'invalid-input'))
      assert.deepEqual(problem.errors.map(({ path }) => path).sort(), ['body.timestamp', 'body.weight'])
      assert.match(problem.requestId ?? '', /./)
      return true
    })
    await client.logOut()
    await assert.rejects(client.GET('/ehr'), (problem) => isProblem(problem, 'unauthenticated'))
  })

  it('reads a list over its pages, and resumes at a cursor', async () => {
    const patient = await createPatient()
    const planId = await createPlan(patient)
    for (const weight of [70, 71, 72, 73, 74]) await createWeight(patient, planId, weight)
    const params = { path: { ehrId: patient.ehrId }, query: { limit: 2 } }
    const list = createClientOf(patient).list(WEIGHTS, { params })
    const weights = []
    for await (const { weight } of list) weights.push(weight)
    assert.deepEqual(weights.sort(), [70, 71, 72, 73, 74])
    const { items, page } = await list.page()
    assert.equal(items.length, 2)
    const rest = []
    for await (const { items } of list.pages(page.next ?? '')) rest.push(items.length)
    assert.deepEqual(rest, [2, 1])
  })

  it('changes a record, and asks again when somebody else was faster', async () => {
    const patient = await createPatient()
    const compositionId = await createWeight(patient, await createPlan(patient))
    const params = { path: { ehrId: patient.ehrId, compositionId } }
    const client = createClientOf(patient)
    const calls: unknown[] = []
    const changed = await client.update(WEIGHT, { params }, async (current, conflict) => {
      calls.push([current.comment, conflict?.comment])
      if (!conflict) await client.update(WEIGHT, { params }, (same) => ({ ...same, comment: 'theirs' }))
      return { ...current, weight: 75 }
    })
    assert.deepEqual(calls, [
      [null, undefined],
      ['theirs', null],
    ])
    assert.deepEqual([changed.weight, changed.comment, changed.version], [75, 'theirs', 3])
    const unchangedRecord = await client.update(WEIGHT, { params }, () => undefined)
    assert.equal(unchangedRecord.version, 3)
  })

  it('has the usual methods of each resource', async () => {
    const patient = await createPatient()
    const { ehrId } = patient
    const client = createClientOf(patient)
    const plan = await client.carePlan.add(ehrId, { name: 'Lose weight' })
    const timestamp = '2026-03-01T08:30:00Z'
    const body = { carePlanId: plan.id, timestamp, weight: 70, weightUnit: 'kg' } as const
    const { id } = await client.bodyWeight.add(ehrId, body)
    await client.bodyWeight.update(ehrId, id, (current) => ({ ...current, weight: 71 }))
    assert.equal((await client.bodyWeight.get(ehrId, id)).weight, 71)
    await client.bodyWeight.delete(ehrId, id)
    assert.deepEqual((await client.bodyWeight.list(ehrId, { from: timestamp }).page()).items, [])
    const actions = []
    for await (const { action } of client.bodyWeight.history(ehrId, id)) actions.push(action)
    assert.deepEqual(actions, ['delete', 'update', 'create'])
    assert.equal((await client.bodyWeight.restore(ehrId, id, { version: 1 })).weight, 70)
  })

  it('sends no id that would reach another path', async () => {
    const patient = await createPatient()
    const client = createClientOf(patient)
    for (const id of ['..', '.', '', undefined as never])
      await assert.rejects(client.connection.delete(patient.mvUid, id), (problem) => {
        assert.ok(isProblem(problem, 'invalid-input'))
        assert.deepEqual(
          problem.errors.map(({ path }) => path),
          ['path.connectionMvUid'],
        )
        return true
      })
    assert.equal((await client.GET('/ehr')).data.items[0]?.id, patient.ehrId)
    const params = { path: { ehrId: patient.ehrId, compositionId: '../..' } }
    await assert.rejects(
      client.GET(WEIGHT, { params }),
      (problem) => isProblem(problem) && problem.status === 400,
    )
  })

  it('sends a Blob as what it is', async () => {
    const { mvUid, ...patient } = await createPatient()
    const body = new Blob([Buffer.from(PNG, 'base64')], { type: 'image/png' })
    const { response } = await createClientOf(patient).POST('/profile/{mvUid}/picture', {
      params: { path: { mvUid } },
      body,
    })
    assert.ok(response.ok)
  })

  it('deletes an account with its password', async () => {
    const { mvUid, ...patient } = await createPatient()
    const client = createClientOf(patient)
    await client.account.delete(mvUid, { currentPassword: PASSWORD })
    await assert.rejects(client.GET('/ehr'), (problem) => isProblem(problem, 'unauthenticated'))
  })
})
