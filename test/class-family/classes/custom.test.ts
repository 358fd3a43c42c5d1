import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { createPlanInOwnEhr, createPressureObject } from '../../harness/care/by-class-family.ts'
import { assertError, createClassClient } from '../../harness/clients/class-client.ts'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { withAnsweredCommands } from '../../harness/service/database-commands.ts'
import { request } from '../../harness/service/service.ts'

/** Waits a moment for a second read, which comes only if they run in parallel. */
async function waitForSecond(reads: readonly unknown[]): Promise<void> {
  for (let i = 0; i < 10 && reads.length < 2; i++) await setTimeout(1)
}

describe('Custom', () => {
  let owner: Person
  let context: { ehrId: string; carePlanId: string; modelClassName: string }

  const create = (payload: unknown) => createClassClient(owner).post('Custom', { ...context, payload })

  before(async () => {
    owner = await createPerson()
    context = { ...(await createPlanInOwnEhr(owner)), modelClassName: 'SleepDiary' }
  })

  it('stores any object and finds it by its properties', async () => {
    const payload = { hours: 7.5, wakeUps: [1, 2], mood: { morning: 'good' }, nothing: null }
    const { body } = await create(payload).expect(201)
    assert.deepEqual(body.payload, payload)
    const { list } = createClassClient(owner)
    const countFound = async (where: object) =>
      (await list('Custom', { modelClassName: 'SleepDiary', ...where }).expect(200)).body.results.length
    assert.equal(await countFound({ 'payload.hours': 7.5 }), 1)
    assert.equal(await countFound({ 'payload.hours': { $gte: 8 } }), 0)
    assert.equal(await countFound({ 'payload.mood.morning': 'good' }), 1)
  })

  it('includes several objects of one property, though their reads end at the same time', async () => {
    const client = createClassClient(owner)
    const createPressure = () =>
      client.post('BloodPressure', createPressureObject(context.carePlanId)).expect(201)
    const pointers: Record<string, object> = {}
    for (const name of ['first', 'second']) {
      const { objectId } = (await createPressure()).body
      pointers[name] = { __type: 'Pointer', className: 'BloodPressure', objectId }
    }
    const { objectId } = (await create(pointers).expect(201)).body
    const include = 'payload.first,payload.second'
    for (let i = 0; i < 20; i++) {
      const reads: PromiseLike<unknown>[] = []
      const endTogether = async (pass: () => unknown) => {
        const ownPass = Promise.resolve(pass())
        reads.push(ownPass)
        await waitForSecond(reads)
        await Promise.all(reads)
        return ownPass
      }
      await withAnsweredCommands(
        ({ find }, pass) => (find === 'BloodPressure' ? endTogether(pass) : undefined),
        async () => {
          const { body } = await request()
            .get(`/1/classes/Custom/${objectId}`)
            .set(owner.headers)
            .query({ include })
            .expect(200)
          const { first, second } = body.payload
          assert.deepEqual([first.__type, second.__type], ['Object', 'Object'])
        },
      )
    }
  })

  it('is found by properties with any name, wherever a query may have conditions', async () => {
    const modelClassName = 'AnyName'
    const payload = { 'heart-rate': 80, é: { 'a b': 1 }, _x_: 2, _x_6100: 3, 'text/plain': 'x' }
    const client = createClassClient(owner)
    const { objectId } = (await client.post('Custom', { ...context, modelClassName, payload }).expect(201))
      .body
    await client.post('Custom', { ...context, modelClassName, payload: { a: 3 } }).expect(201)
    const answers = (where: object, more = {}) =>
      client.list('Custom', { modelClassName, ...where }, more).expect(200)
    const fits = { 'payload.heart-rate': { $gte: 80 } }
    const subquery = { className: 'Custom', where: fits }
    for (const where of [
      fits,
      { 'payload.heart-rate': 80 },
      { 'payload.é.a b': { $exists: true } },
      { 'payload._x_': 2, 'payload._x_6100': 3 },
      { 'payload.text/plain': { $regex: '^x' } },
      { $or: [{ $and: [fits] }, { 'payload.no-such': 1 }] },
      { $nor: [{ 'payload.heart-rate': { $exists: false } }] },
      { objectId: { $select: { query: subquery, key: 'objectId' } } },
    ]) {
      const { results } = (await answers(where)).body
      assert.deepEqual(
        results.map((one: { objectId: string }) => one.objectId),
        [objectId],
        JSON.stringify(where),
      )
    }
    const unlike = { objectId: { $dontSelect: { query: subquery, key: 'objectId' } } }
    const { results, count } = (await answers(unlike, { count: 1 })).body
    assert.deepEqual([results.length, count], [1, 1])
    const distinct = 'payload.é.a b'
    assert.deepEqual((await answers(fits, { distinct })).body.results, [1])
    const where = { modelClassName, ...fits }
    const [part] = (await client.batch([{ method: 'GET', path: '/1/classes/Custom', body: { where } }])).body
    assert.equal(part.success.results.length, 1)
    const sdkAnswer = await client.post('Custom', { _method: 'GET', where })
    assert.equal(sdkAnswer.body.results.length, 1)
  })

  it('requires ehrId, carePlanId and modelClassName', async () => {
    assertError(
      await createClassClient(owner).post('Custom', { payload: {} }),
      141,
      'Missing required properties: carePlanId, ehrId, modelClassName',
    )
    const { ehrId: _, ...without } = context
    assertError(
      await createClassClient(owner).post('Custom', without),
      141,
      'Missing required properties: ehrId',
    )
  })

  it('changes its payload, completely or partly, and keeps its parents', async () => {
    const { objectId } = (await create({ a: 1, b: 2 }).expect(201)).body
    const { put } = createClassClient(owner)
    assert.deepEqual((await put('Custom', objectId, { payload: { c: 3 } }).expect(200)).body.payload, {
      c: 3,
    })
    const answer = await put('Custom', objectId, { 'payload.d': 4 }).expect(200)
    assert.deepEqual(answer.body.payload, { c: 3, d: 4 })
    assert.deepEqual((await createClassClient(owner).get('Custom', objectId)).body.payload, { c: 3, d: 4 })
    assert.equal((await put('Custom', objectId, { 'payload.d.e': 4 })).status, 400)
    assert.equal((await put('Custom', objectId, { 'payload.d': null })).status, 400)
    assertError(await put('Custom', objectId, { ehrId: 'other' }), 142, 'ehrId cannot be changed')
  })

  it('refuses payloads that are not objects or could inject query operators', async () => {
    for (const payload of ['text', 5, [1], { $where: '1' }, { a: { 'b.c': 1 } }, { a: { $gt: 1 } }]) {
      const { status, body } = await create(payload)
      assert.equal(status, 400)
      assert.equal(typeof body.code, 'number')
    }
    const nested = (levels: number): unknown => (levels === 1 ? {} : { a: nested(levels - 1) })
    assert.equal((await create(nested(30))).status, 201)
    assert.equal((await create(nested(40))).status, 400)
  })

  it('stores unusual values', async () => {
    const odd: object[] = [
      { a: { __op: 'Increment', amount: 1 } },
      { a: { __op: 'Delete' } },
      { a: { __type: 'Pointer', className: '_User', objectId: owner.mvUid } },
      { a: { __type: 'Date', iso: 'never' } },
      { a: { __type: 'Object', className: 'Ehr' } },
      { a: { __type: 'Bytes', base64: '%%%' } },
      { a: { __type: 'File', name: 'x', url: 'http://example.org' } },
      { a: { __type: 'GeoPoint', latitude: 500, longitude: 'x' } },
      { a: { __type: 'Relation', className: '_User' } },
      { constructor: 1 },
      { _bsontype: 'Code' },
      { a: { _bsontype: 'Other' } },
      { toString: 'x' },
      { '': 1 },
    ]
    for (const payload of odd) assert.ok((await create(payload)).status < 500, JSON.stringify(payload))
  })
})
