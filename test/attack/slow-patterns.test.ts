import assert from 'node:assert/strict'
import { newId } from '../../records/store/documents/ids.ts'
import { createPlanInOwnEhr } from '../harness/care/by-class-family.ts'
import { createClassClient } from '../harness/clients/class-client.ts'
import { createConnectMessage, openRawSocket } from '../harness/clients/live-client.ts'
import { createRandomText } from '../harness/naughty-values.ts'
import { createPerson, type Person } from '../harness/people/people.ts'
import { request, service } from '../harness/service/service.ts'
import { waitUntil } from '../harness/wait.ts'

const RANDOM_TEXT = createRandomText(1, 400_000)

/** Regular expressions that would keep a backtracking engine busy for hours, and all users waiting. */
describe('attack: regular expressions over many long texts', function suite() {
  this.timeout(60_000)
  let person: Person
  let place: Awaited<ReturnType<typeof createPlanInOwnEhr>>
  let long: string

  before(async () => {
    person = await createPerson()
    place = await createPlanInOwnEhr(person)
    const custom = { ...place, modelClassName: 'Text', payload: { text: 'a'.repeat(9_000) } }
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
    const startTime = performance.now()
    for (const pattern of ['a[ab]{1000}[^ab]', 'a[ab]{200}c', '(?i)a[ab]{0,60}z']) {
      const { status, body } = await find({ modelClassName: 'Long', 'payload.text': { $regex: pattern } })
      assert.deepEqual([pattern, status, body.code], [pattern, 408, 124])
    }
    // The timeout of a query would end each of them after 5 s.
    assert.ok(performance.now() - startTime < 7_000)
  })

  it('answers a short pattern on a long text', async () => {
    for (const pattern of ['\\Qabba\\E', '(?i)ABBA', 'a{1,5}b{1,5}a', '^[ab]+']) {
      const { body } = await find({ modelClassName: 'Long', 'payload.text': { $regex: pattern } })
      assert.deepEqual([pattern, body.results?.length], [pattern, 1])
    }
  })

  it('ends the patterns of one object before they hold others, together', async () => {
    const texts = Array.from({ length: 60 }, (_, i) => createRandomText(i + 1, 2_000))
    const body = { ...place, modelClassName: 'Many', payload: { texts } }
    await createClassClient(person).post('Custom', body).expect(201)
    const pattern = (length: number) => ({ 'payload.texts': { $regex: `a[ab]{${length}}c` } })
    const patterns = Array.from({ length: 10 }, (_, i) => pattern(30 + i))
    for (const where of [pattern(80), { $or: patterns }, { $and: [{ $or: patterns }] }]) {
      const { status, body } = await find({ modelClassName: 'Many', ...where })
      assert.deepEqual([JSON.stringify(where), status, body.code], [JSON.stringify(where), 408, 124])
    }
    const { body: listed } = await find({ modelClassName: 'Many', 'payload.texts': { $regex: 'abba{1,3}b' } })
    assert.equal(listed.results.length, 1)
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
    await createClassClient(person)
      .put('Custom', long, { modelClassName: 'Long', payload: { text: RANDOM_TEXT, changed: true } })
      .expect(200)
    await waitUntil(() => heard.length === 5)
    const [failed, changed] = heard.slice(3).toSorted((one, other) => one.requestId - other.requestId)
    assert.deepEqual([failed.op, failed.code, failed.requestId], ['error', 124, 1])
    assert.deepEqual([changed.op, changed.requestId, closedWith()], ['update', 2, undefined])
    socket.close()
  })

  it('ends live queries whose patterns take too long together, and tells others of the change', async () => {
    const custom = { ...place, modelClassName: 'Slow', payload: { text: createRandomText(7, 5_000) } }
    const { post, put } = createClassClient(person)
    const { body } = await post('Custom', custom).expect(201)
    const { socket, heard, answer } = await openRawSocket()
    await answer(createConnectMessage({ sessionToken: person.sessionToken }))
    const subscribe = (requestId: number, where: object) =>
      answer({ op: 'subscribe', requestId, query: { className: 'Custom', where } })
    await subscribe(1, { modelClassName: 'Slow' })
    const slow = { modelClassName: 'Slow', 'payload.text': { $regex: 'a[ab]{20}c' } }
    for (let requestId = 2; requestId <= 80; requestId++) await subscribe(requestId, slow)
    await put('Custom', body.objectId, { payload: { text: createRandomText(8, 5_000) } })
    await waitUntil(() => heard.some(({ op }) => op === 'update') && heard.some(({ op }) => op === 'error'))
    assert.deepEqual([heard.find(({ op }) => op === 'update').requestId], [1])
    const { code, requestId } = heard.find(({ op }) => op === 'error')
    assert.ok(code === 124 && requestId > 2, `${code} ${requestId}`)
    socket.close()
  })

  it('refuses patterns whose paths MongoDB would try one after the other', async () => {
    // With `[ab]*[bc]`, PCRE2 takes 100 s for one text of 100,000 letters.
    const endless = ['[ab]*[bc]', 'a+$', 'blood.*pressure', 'a+b+a', '.*.*.*.*b']
    const nested = ['(a+)+b', '(a|aa)*b', '(a*)*(a*)*b', '^(a|b)*$', '(?i)a(a|b|bb){60}z']
    for (const pattern of [...endless, ...nested, 'a{0,200}a{0,200}b']) {
      const { status, body } = await find({ 'payload.text': { $regex: pattern } })
      assert.deepEqual([pattern, status, body.code], [pattern, 400, 102])
      assert.match(body.error, /bounds such as \{0,50\}/)
    }
  })

  for (const pattern of [
    'a{0,9}a{0,9}b',
    '[ab]{0,99}[bc]',
    '^[ab]*[ab]{0,9}[bc]',
    'a{1000}b',
    'a(a|b|bb){0,3}z',
  ])
    it(`answers or ends ${pattern} in time, and delays nobody`, async () => {
      const where = JSON.stringify({ modelClassName: 'Text', 'payload.text': { $regex: pattern } })
      const startTime = performance.now()
      const query = request().get('/1/classes/Custom').set(person.headers).query({ where, limit: 1 })
      const [answer, latencies] = await Promise.all([
        query,
        Promise.all(
          Array.from({ length: 5 }, async () => {
            const from = performance.now()
            await request().get('/1/users/me').set(person.headers).expect(200)
            return performance.now() - from
          }),
        ),
      ])
      assert.ok(performance.now() - startTime < 7_000)
      assert.ok(Math.max(...latencies) < 3_000, `${latencies}`)
      if (answer.status !== 200) assert.deepEqual([answer.status, answer.body.code], [408, 124])
      else assert.equal(answer.body.results.length, 0)
    })
})
