import assert from 'node:assert/strict'
import { newId } from '../../records/store/documents/ids.ts'
import { createPlanInOwnEhr } from '../harness/care/by-class-family.ts'
import { createClassClient } from '../harness/clients/class-client.ts'
import { createConnectMessage, openRawSocket } from '../harness/clients/live-client.ts'
import { createPerson, type Person } from '../harness/people/people.ts'
import { request, service } from '../harness/service/service.ts'
import { waitUntil } from '../harness/wait.ts'

let seed = 1
const nextBit = (): number => {
  seed = (seed * 48_271) % 2_147_483_647
  return seed & 1
}
/** Random letters, so that the states of an expression repeat as little as possible. */
const RANDOM_TEXT = Array.from({ length: 400_000 }, () => 'ab'[nextBit()]).join('')

/** Regular expressions that would keep a backtracking engine busy for hours, and all users waiting. */
describe('attack: regular expressions over many long texts', function suite() {
  this.timeout(60_000)
  let person: Person
  let long: string

  before(async () => {
    person = await createPerson()
    const { ehrId, carePlanId } = await createPlanInOwnEhr(person)
    const custom = { ehrId, carePlanId, modelClassName: 'Text', payload: { text: 'a'.repeat(9_000) } }
    const { body } = await createClassClient(person).post('Custom', custom).expect(201)
    const customs = service.db.collection<{ _id: string }>('Custom')
    const stored = await customs.findOne({ _id: body.objectId })
    await customs.insertMany(Array.from({ length: 299 }, () => ({ ...stored, _id: newId() })))
    long = await createClassClient(person)
      .post('Custom', { ...custom, modelClassName: 'Long' })
      .expect(201)
      .then((answer) => answer.body.objectId)
    await customs.updateOne({ _id: long }, { $set: { payload: { text: RANDOM_TEXT } } } as never)
  })

  const find = (where: object) =>
    request()
      .get('/1/classes/Custom')
      .set(person.headers)
      .query({ where: JSON.stringify(where), limit: 1 })

  it('ends a large pattern on a long text before it holds others', async () => {
    const begun = performance.now()
    for (const pattern of ['a[ab]{1000}[^ab]', '[ab]{200}c', '(?i)(a|b|ab){60}z']) {
      const { status, body } = await find({ modelClassName: 'Long', 'payload.text': { $regex: pattern } })
      assert.deepEqual([pattern, status, body.code], [pattern, 408, 124])
    }
    assert.ok(performance.now() - begun < 2_000)
  })

  it('answers a short pattern on a long text', async () => {
    for (const pattern of ['\\Qabba\\E', '(?i)ABBA', 'a+b+a']) {
      const { body } = await find({ modelClassName: 'Long', 'payload.text': { $regex: pattern } })
      assert.deepEqual([pattern, body.results?.length], [pattern, 1])
    }
  })

  it('refuses patterns with too many repetitions, before they are compiled', async () => {
    for (const pattern of ['[ab]{1000}'.repeat(17), '((a{10}){10}){10}'.repeat(3), 'a{999}'.repeat(3)]) {
      const { status, body } = await find({ 'payload.text': { $regex: pattern } })
      assert.deepEqual([pattern, status, body.code], [pattern, 400, 102])
      assert.match(body.error, /few repetitions/)
    }
  })

  it('ends only the live query whose pattern takes too long', async () => {
    const { closedWith, socket, heard, answer } = await openRawSocket()
    await answer(createConnectMessage({ sessionToken: person.sessionToken }))
    const subscribe = (requestId: number, where: object) =>
      answer({ op: 'subscribe', requestId, query: { className: 'Custom', where } })
    await subscribe(1, { modelClassName: 'Long', 'payload.text': { $regex: 'a[ab]{1000}[^ab]' } })
    await subscribe(2, { modelClassName: 'Long' })
    await createClassClient(person).put('Custom', long, {
      modelClassName: 'Long',
      payload: { text: RANDOM_TEXT, changed: true },
    })
    await waitUntil(() => heard.length === 5)
    const [failed, changed] = heard.slice(3).toSorted((one, other) => one.requestId - other.requestId)
    assert.deepEqual([failed.op, failed.code, failed.requestId], ['error', 124, 1])
    assert.deepEqual([changed.op, changed.requestId, closedWith()], ['update', 2, undefined])
    socket.close()
  })

  for (const pattern of ['a{0,200}a{0,200}b', '(a+)+b', '(a|aa)*b', '(a*)*(a*)*b', '.*.*.*.*b'])
    it(`answers or ends ${pattern} in time, and delays nobody`, async () => {
      const where = JSON.stringify({ modelClassName: 'Text', 'payload.text': { $regex: pattern } })
      const begun = performance.now()
      const query = request().get('/1/classes/Custom').set(person.headers).query({ where, limit: 1 })
      const [answer, others] = await Promise.all([
        query,
        Promise.all(
          Array.from({ length: 5 }, async () => {
            const from = performance.now()
            await request().get('/1/users/me').set(person.headers).expect(200)
            return performance.now() - from
          }),
        ),
      ])
      assert.ok(performance.now() - begun < 7_000)
      assert.ok(Math.max(...others) < 3_000, `${others}`)
      if (answer.status !== 200) assert.deepEqual([answer.status, answer.body.code], [408, 124])
      else assert.equal(answer.body.results.length, 0)
    })
})
