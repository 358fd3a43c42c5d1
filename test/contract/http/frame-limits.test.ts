import assert from 'node:assert/strict'
import { ANNA_HEADERS, createFrameClient, JSON_HEADERS } from './frame-client.ts'
import { startSampleApi } from './sample-api.ts'

describe('the frame of the path family: repeated and too many requests', () => {
  const client = createFrameClient()
  const { call, refused } = client

  describe('a POST with an Idempotency-Key', () => {
    const count = (how: string, key: string, headers: Record<string, string> = {}) =>
      call(
        'POST',
        '/sample/anna/count',
        { ...ANNA_HEADERS, ...JSON_HEADERS, ...headers, 'idempotency-key': key },
        JSON.stringify({ how }),
      )
    const readCount = async (response: Response) =>
      (await response.json()) as { times: number; id: string; isRetry: boolean }
    const claims = () => client.sample.db.collection<{ _id: string; leaseUntil: Date }>('idempotency_keys')

    it('is carried out once; a retry gets the first answer', async () => {
      const firstAnswer = await count('once', 'key-1')
      const replayed = await count('once', 'key-1')
      assert.equal(replayed.status, 200)
      assert.equal(firstAnswer.headers.get('idempotency-replayed'), null)
      assert.equal(replayed.headers.get('idempotency-replayed'), 'true')
      const answer = await readCount(firstAnswer)
      assert.equal(answer.times, 1)
      assert.deepEqual(await replayed.json(), answer)
    })
    it('is refused if body or query differ', async () => {
      assert.equal((await count('one body', 'key-2')).status, 200)
      await refused(await count('another body', 'key-2'), 422, 'idempotency-key-reused')
    })
    it('belongs to its sender', async () => {
      assert.equal((await count('shared', 'key-3')).status, 200)
      const other = await count('shared', 'key-3', { authorization: 'Bearer admin-root' })
      assert.equal((await readCount(other)).times, 2)
    })
    it('is carried out once if several arrive together', async () => {
      const answers = await Promise.all([1, 2, 3, 4].map(() => count('together', 'key-4')))
      for (const answer of answers) {
        if (answer.status === 409) await refused(answer, 409, 'idempotency-key-in-use')
        else assert.equal((await readCount(answer)).times, 1)
      }
      assert.equal((await readCount(await count('together', 'key-4'))).times, 1)
    })
    it('waits for the first one to end, and gets a Retry-After', async () => {
      await count('at work', 'key-10')
      await claims().updateMany(
        {},
        { $set: { leaseUntil: new Date(Date.now() + 9_000) }, $unset: { answer: '' } },
      )
      const laterAnswer = await count('at work', 'key-10')
      assert.ok(Number(laterAnswer.headers.get('retry-after')) > 5)
      await refused(laterAnswer, 409, 'idempotency-key-in-use')
    })
    it('stays claimed longer than a database keeps the transaction of a dead process', async () => {
      const parameter = 'transactionLifetimeLimitSeconds'
      const admin = client.sample.db.client.db('admin')
      const { [parameter]: seconds } = await admin.command({ getParameter: 1, [parameter]: 1 })
      assert.ok(seconds > 0)
      const startTime = Date.now()
      const before = (await claims().find().toArray()).map(({ _id }) => _id)
      await count('for long', 'key-12')
      const claim = await claims().findOne({ _id: { $nin: before } })
      assert.ok(claim && claim.leaseUntil.getTime() >= startTime + seconds * 1000 + 10_000)
    })
    it('is carried out once across instances', async () => {
      const peer = await client.sample.startPeer()
      const firstCount = await readCount(await count('two instances', 'key-9'))
      const replayed = await fetch(`${peer.url}/sample/anna/count`, {
        method: 'POST',
        headers: { ...ANNA_HEADERS, ...JSON_HEADERS, 'idempotency-key': 'key-9' },
        body: '{"how":"two instances"}',
      })
      assert.deepEqual(await replayed.json(), firstCount)
      await peer.close()
    })
    it('replays refusals, and retries failures', async () => {
      await refused(await count('breaks a rule', 'key-5'), 422, 'rule-violated')
      const replay = await count('breaks a rule', 'key-5')
      assert.equal(replay.headers.get('idempotency-replayed'), 'true')
      await refused(await count('fails once', 'key-6'), 500, 'internal')
      const result = await readCount(await count('fails once', 'key-6'))
      assert.deepEqual([result.times, result.isRetry], [2, true])
      assert.equal((await count('is late once', 'key-11')).status, 408)
      assert.equal((await readCount(await count('is late once', 'key-11'))).times, 2)
    })
    it('is taken over with the same ids after a crash', async () => {
      const firstCount = await readCount(await count('crash', 'key-7'))
      // The state after a crash between the work and its record.
      await claims().updateMany({}, { $set: { leaseUntil: new Date(0) }, $unset: { answer: '' } })
      const answers = await Promise.all([1, 2, 3].map(() => count('crash', 'key-7')))
      const successes = answers.filter(({ status }) => status === 200)
      assert.ok(successes.length > 0)
      for (const answer of successes)
        assert.deepEqual(await readCount(answer), { times: 2, id: firstCount.id, isRetry: true })
    })
    it('stores neither key nor answer in readable form', async () => {
      await count('secretive', 'key-secret-8')
      const storedClaims = JSON.stringify(await claims().find().toArray())
      assert.doesNotMatch(storedClaims, /key-secret-8|secretive|times/)
    })
    it('requires a valid key', async () => {
      await refused(await count('x', 'x'.repeat(256)), 400, 'malformed-request')
      await refused(await count('x', 'two words'), 400, 'malformed-request')
    })
  })

  describe('limits', () => {
    const guess = (email: string) => call('POST', '/sample/guess', JSON_HEADERS, JSON.stringify({ email }))
    it('apply to an account and an address, with Retry-After', async () => {
      const firstGuess = await guess('anna@example.org')
      assert.equal(firstGuess.status, 204)
      assert.match(firstGuess.headers.get('ratelimit') ?? '', /^"guardedAccount";r=2;t=\d+$/)
      await guess('anna@example.org')
      await guess(' ANNA@example.org')
      const fourth = await guess('anna@example.org')
      assert.ok(Number(fourth.headers.get('retry-after')) > 0)
      await refused(fourth, 429, 'too-many-requests')
      assert.equal((await guess('bob@example.org')).status, 204)
      await refused(await guess('carl@example.org'), 429, 'too-many-requests')
      await refused(await guess('dora@example.org'), 429, 'too-many-requests')
    })
    it('apply to every request of an address, across instances', async () => {
      const rateLimits = { address: 2, account: 10, guardedAddress: 5, guardedAccount: 3, shared: true }
      const busy = await startSampleApi({ rateLimits })
      const peer = await busy.startPeer()
      const statuses = []
      for (const { url } of [busy, peer, busy, peer])
        statuses.push((await fetch(`${url}/sample/fixed/note`)).status)
      assert.deepEqual(statuses, [200, 200, 429, 429])
      await peer.close()
      await busy.close()
    })
    it('keep counting while the database is unreachable', async () => {
      const alone = await startSampleApi()
      await alone.stopDatabase()
      const guessing = () =>
        fetch(`${alone.url}/sample/guess`, {
          method: 'POST',
          headers: JSON_HEADERS,
          body: '{"email":"anna@example.org"}',
        })
      const statuses = []
      for (let i = 0; i < 4; i++) statuses.push((await guessing()).status)
      assert.deepEqual(statuses, [204, 204, 204, 429])
      const headers = { ...ANNA_HEADERS, ...JSON_HEADERS, 'idempotency-key': 'key-1' }
      const once = await fetch(`${alone.url}/sample/anna/count`, {
        method: 'POST',
        headers,
        body: '{"how":"away"}',
      })
      await refused(once, 503, 'unavailable')
      await alone.close()
    })
  })
})
