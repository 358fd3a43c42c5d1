import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Response } from 'supertest'
import { CLASS_NAMES, classKinds } from '../../../records/kinds.ts'
import { createPlanInOwnEhr, createPressureObject, ehrOf } from '../../harness/care/by-class-family.ts'
import { createClassClient } from '../../harness/clients/class-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { request } from '../../harness/service/service.ts'
import { bySize } from '../../harness/test-size.ts'

const NAMES = [...new Set(CLASS_NAMES.flatMap((name) => Object.keys(classKinds[name].stored.properties)))]
const ODD_NAMES = [
  'ACL',
  '_rperm',
  '_wperm',
  '__type',
  'className',
  'payload.a',
  'payload.a.b',
  'a-b',
  '$set',
  '',
  'id',
]

const odd = fc.constantFrom<unknown>(
  null,
  true,
  0,
  -1,
  1e308,
  '',
  ' ',
  'x'.repeat(20_000),
  '\u0000',
  '\ud800',
  '{}',
  [],
  {},
  [[]],
  [null],
  ...['Date', 'Pointer', 'Object', 'GeoPoint', 'Relation', 'Bytes', 'File', 'Polygon', 'X'].map((__type) => ({
    __type,
  })),
  ...['Delete', 'Increment', 'Add', 'Remove', 'Batch', 'AddRelation', 'SetOnInsert', 'X'].map((__op) => ({
    __op,
  })),
  { __op: 'Increment', amount: 1e308 },
  { __op: 'Add', objects: [1] },
  { __op: 'Batch', ops: [{ __op: 'Delete' }] },
  { __op: 'AddRelation', objects: [{ __type: 'Pointer', className: 'Ehr', objectId: 'x' }] },
  { __type: 'Pointer', className: '_User', objectId: 'x' },
  { __type: 'Date', iso: '+275760-09-13T00:00:00.000Z' },
  { __type: 'Date', iso: '2026-02-30T00:00:00.000Z' },
  { __type: 'Date', iso: '2026-01-01T00:00:00.000Z' },
  { $gt: '' },
  { $where: '1' },
  { 'a.b': 1 },
)
const value = fc.oneof(odd, fc.jsonValue({ maxDepth: 3 }), fc.array(odd, { maxLength: 2 }))
const body = fc.dictionary(fc.oneof(fc.constantFrom(...NAMES), fc.constantFrom(...ODD_NAMES)), value, {
  maxKeys: 6,
})

function assertAnswered({ status, body: answer }: Response, input: unknown): void {
  const message = JSON.stringify(input).slice(0, 300)
  assert.ok(status < 500, `${message} -> ${status} ${JSON.stringify(answer)}`)
  if (status >= 400)
    assert.deepEqual([typeof answer.code, typeof answer.error], ['number', 'string'], message)
}

describe('bad input', () => {
  let user: Person
  let valid: Record<string, unknown>
  let ids: Record<string, string>

  before(async () => {
    user = await createPerson()
    const { ehrId, carePlanId } = await createPlanInOwnEhr(user)
    const { post } = createClassClient(user)
    valid = {
      ...createPressureObject(carePlanId),
      ehrId,
      name: 'x',
      modelClassName: 'Model',
      temperatureUnit: 'Cel',
    }
    const created = async (className: string, object: Record<string, unknown>): Promise<[string, string]> => [
      className,
      (await post(className, object).expect(201)).body.objectId,
    ]
    ids = Object.fromEntries([
      ['Ehr', await ehrOf(user)],
      ['CarePlan', carePlanId],
      await created('Goal', { ehrId, carePlanId, name: 'x' }),
      await created('Custom', { ehrId, carePlanId, modelClassName: 'Model', payload: { a: 1 } }),
      await created('BloodPressure', createPressureObject(carePlanId)),
    ])
  })

  it('is answered with a code in a create', async function () {
    this.timeout(120_000)
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...CLASS_NAMES),
        body,
        fc.boolean(),
        async (className, object, mixed) => {
          const { post } = createClassClient(user)
          assertAnswered(await post(className, mixed ? { ...valid, ...object } : object).timeout(5000), [
            className,
            object,
          ])
        },
      ),
      { numRuns: bySize(100, 300) },
    )
  })

  it('is answered with a code in an update, and never damages the stored object', async function () {
    this.timeout(120_000)
    const { get, put } = createClassClient(user)
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...Object.keys(ids)), body, async (className, object) => {
        const id = ids[className] as string
        assertAnswered(await put(className, id, object).timeout(5000), [className, object])
        const { body: storedObject } = await get(className, id).expect(200)
        for (const name of classKinds[className as 'Ehr'].stored.required ?? [])
          assert.ok(
            storedObject[name] !== undefined && storedObject[name] !== null,
            `${className} has lost ${name}`,
          )
      }),
      { numRuns: bySize(100, 300) },
    )
  })

  it('is answered with a code if it has a lone surrogate, which only JSON can express', async () => {
    const { post, list } = createClassClient(user)
    const { ehrId, carePlanId } = valid
    const refused = ({ status, body }: Response) => assert.deepEqual([status, body.code], [400, 107])
    refused(await post('CarePlan', { ehrId, name: 'x\ud800y' }))
    for (const payload of [{ 'a\udc00': 1 }, { a: ['\ud800'] }])
      refused(await post('Custom', { ehrId, carePlanId, modelClassName: 'Diary', payload }))
    refused(await list('CarePlan', { name: '\ud800' }))
    const whole = { ehrId, name: 'x\ud83d\ude00y' }
    assert.equal((await post('CarePlan', whole).expect(201)).body.name, whole.name)
  })

  it('is answered with the first hundred of thousands of violations', async () => {
    const { carePlanId } = valid
    const acq = { carePlanId, timestamp: valid.timestamp, acqVersion: 5, answers: Array(5000).fill('x') }
    const { body } = await createClassClient(user).post('Acq', acq).expect(400)
    assert.equal(body.code, 142)
    assert.match(body.error, /^answers must.*; answers\.98 must [^;]*; and 4\d{3} more$/)
  })

  it('is answered with a code in an address', async () => {
    const names = [
      'a%2Fb',
      '%00',
      '..%2F..',
      '%24ne',
      'x'.repeat(3000),
      '%F0%9F%92%A9',
      '{"$gt":""}',
      'a%20b',
      '%ff',
    ]
    for (const className of [
      'CarePlan',
      '_Role',
      '_Session',
      'Nope',
      '_SCHEMA',
      '_Join:users:_Role',
      'a%2Fb',
      '%00',
    ])
      for (const id of names)
        for (const method of ['get', 'put', 'delete'] as const) {
          const answer = await request()[method](`/1/classes/${className}/${id}`).set(user.headers).send({})
          assertAnswered(answer, [method, className, id])
          assert.ok(answer.status >= 400, `${method} ${className}/${id} -> ${answer.status}`)
        }
  })
})
