import assert from 'node:assert/strict'
import { type Document, MongoServerError } from 'mongodb'
import { createPlanInOwnEhr, ehrOf } from '../harness/care/by-class-family.ts'
import { createClassClient } from '../harness/clients/class-client.ts'
import { createConnectMessage, openRawSocket } from '../harness/clients/live-client.ts'
import { createPerson, logInAs, type Person } from '../harness/people/people.ts'
import { withFrozenClock } from '../harness/service/clock.ts'
import { recordCommands, withAnsweredCommands } from '../harness/service/database-commands.ts'
import { request } from '../harness/service/service.ts'
import { waitUntil } from '../harness/wait.ts'

const READS = ['find', 'aggregate', 'count', 'distinct']
/** Reads for the request itself; the lookups of its caller come first. */
const isRead = (command: Document): boolean =>
  READS.some((name) => name in command && !/^_/.test(command[name]))
/** Queries of care plans by clients; the audit then looks up their EHRs. */
const isPlanRead = (command: Document): boolean =>
  READS.some((name) => command[name] === 'CarePlan') && command.projection?.ehrId === undefined

/** Slow queries. They end after 5 s, together with all their database commands. */
describe('attack: queries that take long', function suite() {
  this.timeout(30_000)
  let person: Person
  let ehrId: string
  let carePlanId: string
  const rejections: unknown[] = []
  const note = (reason: unknown) => void rejections.push(reason)

  before(async () => {
    person = await createPerson()
    ;({ ehrId, carePlanId } = await createPlanInOwnEhr(person))
    process.on('unhandledRejection', note)
  })
  after(() => void process.off('unhandledRejection', note))
  afterEach(() => assert.deepEqual(rejections.splice(0), []))

  const list = (query: object = {}) =>
    request()
      .get('/1/classes/CarePlan')
      .set(person.headers)
      .query({ where: '{"name":"x"}', ...query })
  const expired = async (): Promise<never> => {
    throw new MongoServerError({ message: 'operation exceeded time limit', code: 50 })
  }

  it('pass their deadline to every reading command, in either family', async () => {
    const { get, batch } = createClassClient(person)
    const where = { ehrId: { $select: { key: 'objectId', query: { className: 'Ehr' } } } }
    for (const work of [
      () => list({ count: 1 }).expect(200),
      () => list({ distinct: 'name' }).expect(200),
      () => list({ where: JSON.stringify(where) }).expect(200),
      () => get('CarePlan', carePlanId).expect(200),
      () => batch([{ method: 'GET', path: '/1/classes/CarePlan' }]).expect(200),
      () => person.call('GET', `/ehr/${ehrId}/careplan?count=true`),
      () => person.call('GET', `/ehr/${ehrId}/careplan/${carePlanId}`),
    ]) {
      const reads = (await recordCommands(work)).filter(isRead)
      assert.ok(reads.some(isPlanRead))
      for (const { maxTimeMS, commandName } of reads)
        assert.ok(maxTimeMS > 0 && maxTimeMS <= 5_000, `${commandName}: ${maxTimeMS}`)
    }
  })

  it('are 408 if the database gives up: code 124 in the class family, a problem in the path family', async () => {
    await withAnsweredCommands(
      (command) => (isPlanRead(command) ? expired() : undefined),
      async () => {
        for (const query of [{}, { count: 1, limit: 0 }, { distinct: 'name' }]) {
          const { status, body } = await list(query)
          assert.deepEqual([status, body.code, typeof body.error], [408, 124, 'string'])
        }
        const { get, batch } = createClassClient(person)
        assert.equal((await get('CarePlan', carePlanId)).body.code, 124)
        const parts = await batch([{ method: 'GET', path: '/1/classes/CarePlan' }]).expect(200)
        assert.equal(parts.body[0].error.code, 124)
        const { status, body } = await person.call('GET', `/ehr/${ehrId}/careplan`)
        assert.deepEqual([status, body.code], [408, 'deadline-exceeded'])
      },
    )
  })

  it('are answered once and in time if the database never answers, even about the caller', async () => {
    const [unknown, powerless] = await Promise.all([createPerson(), createPerson()])
    const plan = { ehrId: await ehrOf(unknown), name: 'too late' }
    const laterGuess = await logInAs(unknown.email)
    await withFrozenClock(async (pass) => pass(5_001))
    const isLookup = ({ find, filter }: Document) =>
      filter?._session_token === laterGuess.sessionToken ||
      (find && JSON.stringify(filter).includes(powerless.mvUid) && /^_Join/.test(find))
    let resumeLookups = () => {}
    const waits = new Promise<void>((resolve) => {
      resumeLookups = resolve
    })
    const replies: ((reply: object) => void)[] = []
    const ask = async () => {
      const startTime = performance.now()
      const [byPath, ...byClass] = await Promise.all([
        person.call('GET', `/ehr/${ehrId}/careplan`),
        list(),
        createClassClient(laterGuess).list('CarePlan'),
        createClassClient(laterGuess).post('CarePlan', plan),
        createClassClient(powerless).list('CarePlan'),
      ])
      assert.ok(performance.now() - startTime < 7_000)
      assert.deepEqual([byPath.status, byPath.body.code], [408, 'deadline-exceeded'])
      for (const { status, body } of byClass) assert.deepEqual([status, body.code], [408, 124])
    }
    await withAnsweredCommands(
      (command, pass) => (isLookup(command) ? waits.then(pass) : undefined),
      async () => {
        await withAnsweredCommands(
          (command) => (isPlanRead(command) ? new Promise((resolve) => replies.push(resolve)) : undefined),
          ask,
        )
        for (const reply of replies) reply({ ok: 1, cursor: { id: 0, ns: 'x.CarePlan', firstBatch: [] } })
        resumeLookups()
        const { body } = await createClassClient(laterGuess).list('CarePlan', { name: plan.name }).expect(200)
        assert.deepEqual(body.results, [], 'what was to be written has not been')
      },
    )
    await list().expect(200)
  })

  it('are 408 also while the session and the roles are looked up', async () => {
    for (const lookedUp of ['_Session', '_Join:users:_Role']) {
      const { headers } = await createPerson()
      await withFrozenClock(async (pass) => pass(5_001))
      await withAnsweredCommands(
        (command) => (command.find === lookedUp ? expired() : undefined),
        async () => {
          const { status, body } = await createClassClient({ headers }).list('CarePlan')
          assert.deepEqual([status, body.code], [408, 124], lookedUp)
        },
      )
    }
  })

  it('are answered once if the database fails while the audit still waits', async () => {
    const fails = async (): Promise<never> => {
      throw new MongoServerError({ message: 'broken', code: 8 })
    }
    await withAnsweredCommands(
      (command) => (isPlanRead(command) ? fails() : undefined),
      async () => {
        for (let i = 0; i < 5; i++) {
          const { status, body } = await list()
          assert.deepEqual([status, body], [500, { code: 1, error: 'Internal server error' }])
        }
      },
    )
  })

  it('end as live queries, if they take too long together; others are told of the change', async () => {
    const { post, put } = createClassClient(person)
    const custom = { ehrId, carePlanId, modelClassName: 'Numbers', payload: {} }
    const { body } = await post('Custom', custom).expect(201)
    const { socket, heard, answer } = await openRawSocket()
    await answer(createConnectMessage({ sessionToken: person.sessionToken }))
    const subscribe = (requestId: number, where: object) =>
      answer({ op: 'subscribe', requestId, query: { className: 'Custom', where } })
    await subscribe(1, { modelClassName: 'Numbers' })
    const values = Array.from({ length: 20 }, (_, k) => ({ a: k }))
    const $nor = Array.from({ length: 99 }, () => ({ 'payload.f': { $in: values } }))
    for (let requestId = 2; requestId <= 11; requestId++) await subscribe(requestId, { $nor })
    const payload = { f: Array.from({ length: 40_000 }, (_, i) => i % 10) }
    await put('Custom', body.objectId, { payload }).expect(200)
    await waitUntil(() => heard.some(({ op }) => op === 'update') && heard.some(({ op }) => op === 'error'))
    const { code, requestId } = heard.find(({ op }) => op === 'error')
    assert.ok(code === 124 && requestId > 1, `${code} ${requestId}`)
    assert.equal(heard.find(({ op }) => op === 'update').requestId, 1)
    socket.close()
  })
})
