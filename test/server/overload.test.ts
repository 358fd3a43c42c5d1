import assert from 'node:assert/strict'
import { CONCURRENCY_LIMITS } from '../../records/limits/admission/concurrency-limit.ts'
import { SHARED_QUEUE } from '../../records/limits/admission/fair-queue.ts'
import { call } from '../harness/clients/path-client.ts'
import { createPerson, logInAs, type Person } from '../harness/people/people.ts'
import { request } from '../harness/service/service.ts'
import { waitUntil } from '../harness/wait.ts'

const PEOPLE = 8
/** Together more than may always wait. */
const CLIENTS_OF_EACH = 20

const readByPath = ({ call, mvUid }: Person) => call('GET', `/profile/${mvUid}`)
const readByClass = ({ headers }: Person) => call('GET', '/1/classes/CarePlan?limit=1', undefined, headers)

describe('a service with more requests than it can answer', () => {
  const usual = { limit: { ...CONCURRENCY_LIMITS.all }, queue: { ...SHARED_QUEUE } }
  let people: Person[]
  let isFlooded = false
  let flood: Promise<unknown>
  /** One of those who send too much, by another session, which the service knows and which has ended. */
  let gone: Person
  before(async () => {
    people = await Promise.all(Array.from({ length: PEOPLE }, () => createPerson()))
    gone = await logInAs((people[0] as Person).email)
    assert.deepEqual([(await readByPath(gone)).status, (await readByClass(gone)).status], [200, 200])
    assert.equal((await gone.call('POST', '/auth/logout')).status, 204)
    assert.equal((await readByClass(gone)).status, 401)
    Object.assign(CONCURRENCY_LIMITS.all, { min: 1, minLatencyMs: 0 })
    Object.assign(SHARED_QUEUE, { burstMs: 0, maxWaitMs: 1 })
    isFlooded = true
    const readOn = async (person: Person, read: (person: Person) => Promise<unknown>) => {
      while (isFlooded) await read(person)
    }
    flood = Promise.all(
      people.flatMap((person) =>
        Array.from({ length: CLIENTS_OF_EACH }, (_, i) => readOn(person, i % 2 ? readByPath : readByClass)),
      ),
    )
  })
  after(async () => {
    isFlooded = false
    await flood
    Object.assign(CONCURRENCY_LIMITS.all, usual.limit)
    Object.assign(SHARED_QUEUE, usual.queue)
    // The next tests of this process need it.
    await waitUntil(async () => {
      const answers = await Promise.all(people.map(readByClass))
      return answers.every(({ status }) => status === 200)
    })
  })

  for (const [family, read] of [
    ['path', readByPath],
    ['class', readByClass],
  ] as const)
    it(`refuses at once in the ${family} family, before it looks at the session`, async () => {
      let answer = await read(gone)
      await waitUntil(async () => {
        answer = await read(gone)
        return answer.status === 503
      })
      assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    })

  it('answers its probes', async () => {
    for (const path of ['/health/live', '/health/ready', '/metrics']) await request().get(path).expect(200)
  })
})
