import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { createAddress, createPerson, type Person, password } from '../../harness/people/people.ts'
import { measureProcessorTime } from '../../harness/service/processor-time.ts'
import { apiKeys, config, request, service } from '../../harness/service/service.ts'

/** One test for each class of defects in Parse Server 9, so that an update does not bring them back. */
describe('class family: known classes of defects', () => {
  let user: Person
  let other: Person
  before(async () => {
    user = await createPerson()
    other = await createPerson()
  })

  it('identity providers: refuses forged tokens of any algorithm or audience, at sign-up and login', async () => {
    const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = encoded({
      iss: 'https://accounts.google.com',
      aud: 'another-client',
      sub: '1',
      exp: 9_999_999_999,
    })
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const pem = publicKey.export({ type: 'spki', format: 'pem' })
    const unsigned = `${encoded({ alg: 'none' })}.${claims}.`
    const confused = `${encoded({ alg: 'HS256', kid: 'x' })}.${claims}`
    const foreign = `${encoded({ alg: 'RS256', kid: 'x' })}.${claims}`
    const tokens = [
      unsigned,
      `${confused}.${createHmac('sha256', pem).update(confused).digest('base64url')}`,
      `${foreign}.${sign('sha256', Buffer.from(foreign), privateKey).toString('base64url')}`,
    ]
    for (const provider of ['google', 'apple', 'facebook', 'keycloak', 'ldap', 'custom', 'anonymous'])
      for (const token of tokens)
        for (const path of ['/1/users', '/1/login']) {
          const authData = { [provider]: { id: '1', id_token: token, token, access_token: token } }
          const { status, body } = await request().post(path).set(apiKeys()).send({ authData })
          assert.ok(status >= 400 && status < 500, `${provider} ${path}: ${status} ${JSON.stringify(body)}`)
          assert.equal(body.sessionToken, undefined)
        }
  })

  it('sessions: every session expires', async () => {
    for (const body of [
      { expiresAt: null },
      { user: { __type: 'Pointer', className: '_User', objectId: other.mvUid } },
    ]) {
      const answer = await request().post('/1/classes/_Session').set(user.headers).send(body)
      assert.ok(answer.status >= 400 && answer.status < 500, JSON.stringify(answer.body))
      assert.equal(answer.body.sessionToken, undefined)
    }
    const immortal = await service.db
      .collection<{ expiresAt: Date }>('_Session')
      .countDocuments({ expiresAt: { $not: { $type: 'date' } } })
    assert.equal(immortal, 0)
  })

  it('prototypes: refuses a reserved name next to and inside harmless ones', async () => {
    for (const body of [
      '{"a": {"b": 1}, "c": {"__proto__": {"polluted": 1}}}',
      '{"a": [{"b": {"constructor": {"prototype": {"polluted": 1}}}}]}',
      '{"c": {"d": 1, "__proto__": 5, "e": {"f": 1}}}',
    ])
      for (const path of ['/1/classes/Custom', '/1/functions/bmi', '/1/users']) {
        const { status } = await request()
          .post(path)
          .set(user.headers)
          .set('Content-Type', 'application/json')
          .send(body)
        assert.equal(status, 400)
      }
    assert.equal(({} as Record<string, unknown>).polluted, undefined)
  })

  it('internal classes: no route reads or writes them, alone or in a batch', async () => {
    const internal = [
      '_Role',
      '_Installation',
      '_Hooks',
      '_SCHEMA',
      '_GlobalConfig',
      '_PushStatus',
      '_Idempotency',
      '_Join:users:_Role',
      '_Audience',
      '_JobStatus',
    ]
    for (const className of internal) {
      for (const method of ['get', 'post'] as const) {
        const { status } = await request()[method](`/1/classes/${className}`).set(user.headers)
        assert.equal(status, 400, `${method} ${className}`)
      }
      const { body } = await request()
        .post('/1/batch')
        .set(user.headers)
        .send({ requests: [{ method: 'GET', path: `/1/classes/${className}` }] })
      assert.equal(body[0].error.code, 119, className)
    }
  })

  it('headers: no header stalls the service before the keys are checked', async () => {
    const long = 'a'.repeat(7_000)
    for (const headers of [
      { 'X-Parse-Client-Version': `js${long}!` },
      { 'X-Parse-Client-Version': `${'1.'.repeat(3_500)}x` },
      { 'User-Agent': `${long}!` },
      { Authorization: `Basic ${'='.repeat(7_000)}` },
      { 'X-Forwarded-For': `${'1,'.repeat(3_500)}` },
      { Accept: `${'*/*,'.repeat(1_700)}` },
    ] as Record<string, string>[]) {
      const ms = await measureProcessorTime(() =>
        request().get('/1/classes/CarePlan').set(headers).expect(403),
      )
      assert.ok(ms < 500, String(ms))
    }
  })

  it('headers: no answer may be cached, or names the software', async () => {
    const answers = [
      await request().get('/1/health').set(apiKeys()),
      await request().get('/1/users/me').set(user.headers),
      await request().get('/1/classes/CarePlan').set(user.headers),
      await request().get('/1/classes/CarePlan'),
      await request().get('/1/unknown').set(user.headers),
      await request().post('/1/login').set(apiKeys()).send({ username: user.email, password }),
      await request().post('/functions/Login').set(apiKeys()).send({ username: user.email, password: 'x' }),
    ]
    const { paths } = (await request().get('/openapi.json').expect(200)).body
    for (const [template, operations] of Object.entries<object>(paths)) {
      if (!/^\/(1|functions)\//.test(template)) continue
      const path = template.replace(/\{\w+\}/g, 'x')
      for (const method of ['get', 'post', 'put', 'delete'] as const)
        if (method in operations && !/logout/.test(path))
          answers.push(await request()[method](path).set(user.headers), await request()[method](path))
    }
    assert.ok(answers.length > 150, String(answers.length))
    for (const { headers, status, request: sentRequest } of answers) {
      assert.equal(headers['cache-control'], 'no-store', `${sentRequest.url} ${status}`)
      assert.equal(headers['x-powered-by'], undefined, `${sentRequest.url} ${status}`)
    }
  })

  const forwarded: [name: string, value: string][] = [
    ['Forwarded', 'for=203.0.113.1'],
    ['X-Forwarded-For', '203.0.113.1'],
    ['X-Forwarded-Proto', 'https'],
    ['X-Forwarded-Host', 'health.example.org'],
    ['X-Real-IP', '127.0.0.1'],
    ['Via', '1.1 proxy'],
    ...[
      'X-Forwarded',
      'X-Original-Forwarded-For',
      'X-Original-Host',
      'X-Remote-Addr',
      'X-Client-IP',
      'X-Cluster-Client-IP',
      'True-Client-IP',
      'WL-Proxy-Client-IP',
      'CF-Connecting-IP',
      'X-Envoy-External-Address',
      'X-Azure-ClientIP',
      'X-AppEngine-User-IP',
      'CDN-Loop',
    ].map((header): [string, string] => [header, '203.0.113.1']),
  ]
  for (const [name, value] of forwarded)
    it(`proxies: a request with ${name} is not from this machine, unless TRUST_PROXY says so`, async () => {
      const keys: Record<string, string>[] = [
        { 'X-Parse-Master-Key': config.masterKey },
        { 'X-Parse-Master-Key': config.readOnlyMasterKey ?? '', 'X-Operator': 'alice' },
      ]
      for (const key of keys) {
        const ask = () => request().get('/1/classes/Ehr?limit=1').set(apiKeys()).set(key)
        await ask().expect(200)
        await ask().set(name, value).expect(403)
      }
      const open = () => request().get('/auth/administrator?token=x')
      await open().expect(200)
      await open().set(name, value).expect(404)
    })

  it('queries: a nest of $or ends quickly', async () => {
    let where: object = { modelClassName: 'x' }
    for (let i = 0; i < 9; i++) where = { $or: [where, where, where] }
    const ask = request().post('/1/classes/Custom').set(user.headers).send({ _method: 'GET', where })
    const ms = await measureProcessorTime(() => ask.expect(400))
    assert.ok(ms < 1_000, String(ms))
  })

  it('addresses: no operator, dot, sort, subquery or projection reveals one', async () => {
    const queries: Record<string, unknown>[] = [
      { where: JSON.stringify({ email: { $regex: '^user' } }) },
      { where: JSON.stringify({ email: other.email }) },
      { where: JSON.stringify({ $or: [{ email: other.email }] }) },
      { where: JSON.stringify({ 'email.a': 1 }) },
      { where: JSON.stringify({ _hashed_password: { $exists: true } }) },
      { where: JSON.stringify({ 'authData.x': { $exists: true } }) },
      { order: 'email' },
      { order: '-email' },
      { order: '_email_verify_token' },
      { distinct: 'email' },
    ]
    for (const query of queries) {
      const { status, body } = await request()
        .get('/1/users')
        .set(user.headers)
        .query({ ...query, count: 1 })
      const leaks = status === 200 && (body.count > 0 || body.results.length > 0)
      assert.ok(!leaks, `${JSON.stringify(query)}: ${JSON.stringify(body)}`)
      assert.ok(status < 500)
    }
    for (const keysAsked of ['email', 'authData', '_hashed_password', 'sessionToken']) {
      const { body } = await request()
        .get(`/1/users/${other.mvUid}`)
        .set(user.headers)
        .query({ keys: keysAsked })
      assert.doesNotMatch(JSON.stringify(body), /example\.org|\$2b/)
    }
    const viaSubquery = await request()
      .get('/1/classes/Custom')
      .set(user.headers)
      .query({
        where: JSON.stringify({
          modelClassName: {
            $select: { query: { className: '_User', where: { email: other.email } }, key: 'username' },
          },
        }),
      })
    assert.ok(viaSubquery.status === 400 || viaSubquery.body.results.length === 0)
  })

  it('request context: clients cannot set it', async () => {
    const { status } = await request()
      .post('/1/classes/Ehr')
      .set({ ...user.headers, 'X-Parse-Cloud-Context': '{"validated": true, "trusted": true}' })
      .send({})
    assert.equal(status, 400)
  })

  it('master key: guesses and keys in a body grant nothing', async () => {
    for (const body of [
      { _MasterKey: 'guess' },
      { _MasterKey: { $ne: '' } },
      { _MasterKey: config.restApiKey },
    ]) {
      const { status } = await request()
        .post('/1/classes/Ehr')
        .send({ ...body, _ApplicationId: config.applicationId, _method: 'GET' })
      assert.ok(status === 403 || status === 401)
    }
  })

  it('sign-ups: upper case does not end the process', async () => {
    const email = createAddress().toUpperCase()
    const { status } = await request()
      .post('/1/users')
      .set(apiKeys())
      .send({ username: email, email, password })
    assert.equal(status, 201)
    await new Promise((resolve) => setTimeout(resolve, 300))
    await request().get('/health/ready').expect(200)
    await request()
      .post('/1/login')
      .set(apiKeys())
      .send({ username: email, password })
      .expect(404, /Invalid/)
  })
})
