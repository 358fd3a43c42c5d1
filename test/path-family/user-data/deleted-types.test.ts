import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { createClassClient } from '../../harness/clients/class-client.ts'
import { assertProblem, assertProblemPlaces, assertStatus } from '../../harness/clients/path-client.ts'
import { createRoleHolder, type Person } from '../../harness/people/people.ts'
import { startSecondInstance } from '../../harness/service/second-instance.ts'
import { service } from '../../harness/service/service.ts'
import { stopProcess } from '../../harness/service/service-process.ts'

type Shown = Record<string, unknown>

describe('a type that was deleted', () => {
  let modeller: Person
  let patient: Patient
  let carePlanId: string
  before(async () => {
    ;[modeller, patient] = await Promise.all([createRoleHolder('modeller'), createPatient()])
    carePlanId = await createPlan(patient)
  })

  const newName = () => `t-${randomUUID()}`
  const pathOf = (type: string, family = 'data') => `/data/type/${family}/${type}`
  const add = async (type: string, more: object, family = 'data'): Promise<Shown> => {
    const body = { type, name: 'Of a test', ...more }
    return assertStatus(await modeller.call('POST', `/data/type/${family}`, body), 201)
  }
  const remove = async (type: string, family = 'data') =>
    assertStatus(await modeller.call('DELETE', pathOf(type, family)), 204)
  const measurement = (dataType: string, value: unknown, more: object = {}) => ({
    carePlanId,
    dataType,
    value,
    timestamp: '2026-03-01T20:00:00Z',
    ...more,
  })
  const store = (body: unknown) => patient.call('POST', `/data/${patient.mvUid}/measurement`, body)
  const storeOne = async (body: object): Promise<string> => assertStatus(await store(body), 201).items[0].href
  const number = { schema: { type: 'number' } }

  it('continues its versions when it is added again, so that data keep the definition that checked them', async () => {
    const type = newName()
    await add(type, { ...number, unit: 'kg' })
    await remove(type)
    const again = await add(type, { ...number, unit: 'g' })
    assert.equal(again.version, 3)
    assertProblem(await modeller.call('GET', `${pathOf(type)}?version=2`), 404, 'not-found')
    const href = await storeOne(measurement(type, 5))
    const next = { type, name: 'Weight', ...number, unit: 'g' }
    assertStatus(await modeller.call('PUT', pathOf(type), next, { 'if-match': '"3"' }))
    assertProblem(
      await modeller.call('PUT', pathOf(type), next, { 'if-match': '"1"' }),
      412,
      'precondition-failed',
    )
    const corrected = assertStatus(await patient.call('PUT', href, measurement(type, 6)))
    assert.deepEqual([corrected.amount, corrected.amountUnit, corrected.typeVersion], [6, 'g', 3])
    const id = String(href.split('/').at(-1))
    const { status } = await createClassClient(patient).put('Measurement', id, { comment: 'By class' })
    assert.equal(status, 200)
    assert.equal(assertStatus(await patient.call('GET', href)).amountUnit, 'g')
  })

  it('does not check data of a type that an earlier release numbered from 1 again', async () => {
    const type = newName()
    await add(type, { schema: { type: 'string' } })
    await remove(type)
    await add(type, number)
    await service.db
      .collection<{ _id: string }>('types.data')
      .updateOne({ _id: type }, { $set: { version: 1 } })
    const href = await storeOne(measurement(type, 5))
    assertStatus(await modeller.call('PUT', pathOf(type), { type, name: 'Another', ...number }))
    assert.equal(assertStatus(await patient.call('PUT', href, measurement(type, 6))).value, 6)
  })

  it('takes no data that another instance has checked by the deleted definition', async () => {
    const other = await startSecondInstance({ INSTANCES: 'several' })
    try {
      const storeThere = async (body: unknown) => {
        const answer = await fetch(`${other.url}/data/${patient.mvUid}/measurement`, {
          method: 'POST',
          headers: { authorization: `Bearer ${patient.authToken}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
        return answer.status
      }
      const type = newName()
      await add(type, { ...number, unit: 'kg' })
      assert.equal(await storeThere(measurement(type, 'a text')), 422)
      await remove(type)
      await add(type, { schema: { type: 'string' } })
      assert.equal(await storeThere(measurement(type, 5)), 422)
      assert.equal(await storeThere(measurement(type, 'a text')), 201)
    } finally {
      await stopProcess(other)
    }
  })

  it('is not one that thresholds of a care plan limit', async () => {
    const plan = await createPlan(patient)
    const type = newName()
    await add(type, { ...number, unit: 'kg' })
    const thresholds = { [type]: { valueHigh: 80, unit: 'kg' } }
    assertStatus(await patient.call('PUT', `careplan/${plan}/thresholds`, thresholds))
    const unchanged = await modeller.call('GET', pathOf(type), undefined, { 'if-none-match': '"1"' })
    assert.equal(assertStatus(unchanged).used, true)
    assertProblem(await modeller.call('DELETE', pathOf(type)), 409, 'conflict')
    const next = { type, name: 'Another', ...number, unit: 'kg' }
    const put = await modeller.call('PUT', pathOf(type), next, { 'if-match': String(unchanged.etag) })
    assert.equal(assertStatus(put).version, 2)
  })

  it('takes data when thresholds in a unit of its former definition remain', async () => {
    const plan = await createPlan(patient)
    const type = newName()
    await add(type, { ...number, unit: 'mm' })
    const thresholds = { [type]: { valueHigh: 80, unit: 'mm' } }
    assertStatus(await patient.call('PUT', `careplan/${plan}/thresholds`, thresholds))
    await service.db
      .collection<{ _id: string }>('plan.thresholds')
      .updateOne({ _id: plan }, { $set: { json: JSON.stringify({ [type]: { valueHigh: 80, unit: 'kg' } }) } })
    const steps = measurement('steps', 100, { carePlanId: plan })
    const ownMeasurement = measurement(type, 90, { carePlanId: plan })
    assert.equal(assertStatus(await store([steps, ownMeasurement])).items.length, 2)
    const graph = assertStatus(await patient.call('GET', `summary/medgraph?measures=${type}`))
    assert.deepEqual([graph.series.length, graph.series[0].bands], [1, []])
  })

  it('is not a device type that measured stored data', async () => {
    const type = newName()
    await add(type, {}, 'device')
    const device = { type, serial: 'SN-1' }
    const timestamp = '2026-03-02T20:00:00Z'
    const href = await storeOne(measurement('steps', 100, { timestamp }))
    const replace = async (device: object) =>
      assertStatus(await patient.call('PUT', href, measurement('steps', 100, { timestamp, device })))
    await replace(device)
    assert.equal(assertStatus(await modeller.call('GET', pathOf(type, 'device'))).used, true)
    assertProblem(await modeller.call('DELETE', pathOf(type, 'device')), 409, 'conflict')
    const retired = { type, name: 'Retired', retired: true }
    assertStatus(await modeller.call('PUT', pathOf(type, 'device'), retired))
    const answer = await store(measurement('steps', 101, { device }))
    assert.deepEqual(assertProblemPlaces(answer, 422, 'rule-violated'), ['body.device.type'])
    await replace(device)
  })
})
