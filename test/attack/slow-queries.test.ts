import assert from 'node:assert/strict'
import { type Document, MongoServerError } from 'mongodb'
import { ehrOf, newPlan } from '../harness/care/by-class-family.ts'
import { classesOf } from '../harness/clients/class-client.ts'
import { logInAs, newPerson, type Person } from '../harness/people/people.ts'
import { standstill } from '../harness/service/clock.ts'
import { answering, commandsOf } from '../harness/service/database-commands.ts'
import { request } from '../harness/service/service.ts'

const READS = ['find', 'aggregate', 'count', 'distinct']
/** Who asks is looked up before. */
const isRead = (command: Document): boolean =>
  READS.some((name) => name in command && !/^_/.test(command[name]))
/** What clients ask of care plans; the audit looks up where they belong. */
const ofPlans = (command: Document): boolean =>
  READS.some((name) => command[name] === 'CarePlan') && command.projection?.ehrId === undefined

/** Queries that the database cannot answer soon. They end after 5 s, with everything that they asked for. */
describe('attack: queries that take long', function suite() {
  this.timeout(30_000)
  let person: Person
  let ehrId: string
  let carePlanId: string
  const rejections: unknown[] = []
  const note = (reason: unknown) => void rejections.push(reason)

  before(async () => {
    person = await newPerson()
    ;({ ehrId, carePlanId } = await newPlan(person))
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

  it('carry their deadline to every command that reads, in either family', async () => {
    const { get, batch } = classesOf(person)
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
      const reads = (await commandsOf(work)).filter(isRead)
      assert.ok(reads.some(ofPlans))
      for (const { maxTimeMS, commandName } of reads)
        assert.ok(maxTimeMS > 0 && maxTimeMS <= 5_000, `${commandName}: ${maxTimeMS}`)
    }
  })

  it('are 408 when the database gives up: code 124 there, a problem here', async () => {
    await answering(
      (command) => (ofPlans(command) ? expired() : undefined),
      async () => {
        for (const query of [{}, { count: 1, limit: 0 }, { distinct: 'name' }]) {
          const { status, body } = await list(query)
          assert.deepEqual([status, body.code, typeof body.error], [408, 124, 'string'])
        }
        const { get, batch } = classesOf(person)
        assert.equal((await get('CarePlan', carePlanId)).body.code, 124)
        const parts = await batch([{ method: 'GET', path: '/1/classes/CarePlan' }]).expect(200)
        assert.equal(parts.body[0].error.code, 124)
        const { status, body } = await person.call('GET', `/ehr/${ehrId}/careplan`)
        assert.deepEqual([status, body.code], [408, 'deadline-exceeded'])
      },
    )
  })

  it('are answered in time, and once, by a database that never does, also when it never says who asks', async () => {
    const [unknown, powerless] = await Promise.all([newPerson(), newPerson()])
    const plan = { ehrId: await ehrOf(unknown), name: 'too late' }
    const late = await logInAs(unknown.email)
    await standstill(async (pass) => pass(5_001))
    const isLookup = ({ find, filter }: Document) =>
      filter?._session_token === late.sessionToken ||
      (find && JSON.stringify(filter).includes(powerless.mvUid) && /^_Join/.test(find))
    let known = () => {}
    const waits = new Promise<void>((resolve) => {
      known = resolve
    })
    const replies: ((reply: object) => void)[] = []
    const ask = async () => {
      const begun = performance.now()
      const [byPath, ...byClass] = await Promise.all([
        person.call('GET', `/ehr/${ehrId}/careplan`),
        list(),
        classesOf(late).list('CarePlan'),
        classesOf(late).post('CarePlan', plan),
        classesOf(powerless).list('CarePlan'),
      ])
      assert.ok(performance.now() - begun < 7_000)
      assert.deepEqual([byPath.status, byPath.body.code], [408, 'deadline-exceeded'])
      for (const { status, body } of byClass) assert.deepEqual([status, body.code], [408, 124])
    }
    await answering(
      (command, pass) => (isLookup(command) ? waits.then(pass) : undefined),
      async () => {
        await answering(
          (command) => (ofPlans(command) ? new Promise((resolve) => replies.push(resolve)) : undefined),
          ask,
        )
        for (const reply of replies) reply({ ok: 1, cursor: { id: 0, ns: 'x.CarePlan', firstBatch: [] } })
        known()
        const { body } = await classesOf(late).list('CarePlan', { name: plan.name }).expect(200)
        assert.deepEqual(body.results, [], 'what was to be written has not been')
      },
    )
    await list().expect(200)
  })

  it('are 408 also while who asks is looked up: the session, the roles', async () => {
    for (const lookedUp of ['_Session', '_Join:users:_Role']) {
      const { headers } = await newPerson()
      await standstill(async (pass) => pass(5_001))
      await answering(
        (command) => (command.find === lookedUp ? expired() : undefined),
        async () => {
          const { status, body } = await classesOf({ headers }).list('CarePlan')
          assert.deepEqual([status, body.code], [408, 124], lookedUp)
        },
      )
    }
  })

  it('are answered once when the database fails, while the audit still waits', async () => {
    const fails = async (): Promise<never> => {
      throw new MongoServerError({ message: 'broken', code: 8 })
    }
    await answering(
      (command) => (ofPlans(command) ? fails() : undefined),
      async () => {
        for (let i = 0; i < 5; i++) {
          const { status, body } = await list()
          assert.deepEqual([status, body], [500, { code: 1, error: 'Internal server error' }])
        }
      },
    )
  })
})
