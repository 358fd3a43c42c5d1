import assert from 'node:assert/strict'
import { Agent, request as httpRequest } from 'node:http'
import { type Document, MongoNetworkError } from 'mongodb'
import { createPerson, type Person } from '../../harness/people/people.ts'
import { withAnsweredCommands } from '../../harness/service/database-commands.ts'
import { apiKeys, request, service } from '../../harness/service/service.ts'

/** Sends raw bytes, which a correct client would not send. */
function raw(
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string | Buffer,
  agent?: Agent,
): Promise<{ status: number; type: string; text: string; reused: boolean }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(service.url)
    const clientRequest = httpRequest(
      { hostname, port, method, path, headers, ...(agent ? { agent } : {}) },
      (answer) => {
        let text = ''
        answer.on('data', (chunk) => {
          text += chunk
        })
        answer.on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            type: answer.headers['content-type'] ?? '',
            text,
            reused: clientRequest.reusedSocket,
          }),
        )
      },
    )
    clientRequest.on('error', reject)
    clientRequest.end(body)
  })
}

const FOREIGN_ACCOUNT =
  'Under /1 you can change and delete only your own account. Administrators use /auth/account/{mvUid}.'

describe('class family: errors', () => {
  let user: Person
  let json: Record<string, string>
  before(async () => {
    user = await createPerson()
    json = { ...user.headers, 'Content-Type': 'application/json' }
  })

  const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
  const bodies: Record<string, string | Buffer> = {
    'not JSON': 'not json',
    'half JSON': '{"name": ',
    'a JSON text': '"text"',
    'a JSON list': '[1,2]',
    null: 'null',
    'nested 10,000 deep': nested(10_000),
    'nested 33 deep': nested(33),
    'values without end': JSON.stringify({ answers: Array(50_000).fill('') }),
    '2 MB': JSON.stringify({ name: 'x'.repeat(2_000_000) }),
    __proto__: '{"__proto__": {"admin": true}}',
    'a nested __proto__': '{"payload": {"a": {"__proto__": {"admin": true}}}}',
    constructor: '{"constructor": {"prototype": {"admin": true}}}',
    'a type of the database driver': '{"payload": {"a": {"_bsontype": "Code", "code": "1"}}}',
    '1e400': '{"systolic": 1e400}',
    NaN: '{"systolic": NaN}',
    'an impossible year': '{"dueDate": {"__type": "Date", "iso": "+275760-09-14T00:00:00.000Z"}}',
    'the last year of all': '{"dueDate": {"__type": "Date", "iso": "+275760-09-13T00:00:00.000Z"}}',
    'a Date without iso': '{"dueDate": {"__type": "Date"}}',
    'a Pointer to nothing': '{"ehrId": {"__type": "Pointer"}}',
    'a Relation': '{"ehrId": {"__type": "Relation", "className": 5}}',
    'a File': '{"ehrId": {"__type": "File", "name": "../x"}}',
    'invalid Bytes': '{"ehrId": {"__type": "Bytes", "base64": 5}}',
    'an invalid Polygon': '{"ehrId": {"__type": "Polygon", "coordinates": "x"}}',
    'an invalid GeoPoint': '{"ehrId": {"__type": "GeoPoint", "latitude": "x"}}',
    $where: '{"$where": "sleep(1000)"}',
    'an operator as a value': '{"name": {"$gt": ""}}',
    'a dotted key': '{"a.b": 1}',
    'an unknown operation': '{"name": {"__op": "Explode"}}',
    'an operation of another type': '{"name": {"__op": "Increment", "amount": "x"}}',
    'AddRelation of nothing': '{"name": {"__op": "AddRelation"}}',
    'Batch of nothing': '{"name": {"__op": "Batch"}}',
    'Delete of a required property': '{"name": {"__op": "Delete"}}',
    'an objectId': '{"objectId": "chosen"}',
    'a createdAt': '{"createdAt": "yesterday"}',
    'an ACL': '{"ACL": "all"}',
    authData: '{"authData": {"anonymous": {"id": 5}}}',
    'an unknown method': '{"_method": "EXPLODE"}',
    'a method of another type': '{"_method": {"a": 1}}',
    'a session of another type': '{"_SessionToken": {"$gt": ""}, "_ApplicationId": 5}',
    'bad UTF-8': Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
  }
  const routes: [string, string][] = [
    ['POST', '/1/classes/CarePlan'],
    ['PUT', '/1/classes/CarePlan/abcdefghij'],
    ['POST', '/1/classes/NoSuchClass'],
    ['POST', '/1/users'],
    ['POST', '/1/login'],
    ['POST', '/1/functions/bmi'],
    ['POST', '/functions/Login'],
    ['POST', '/functions/noSuchFunction'],
    ['POST', '/1/requestPasswordReset'],
    ['POST', '/1/verificationEmailRequest'],
    ['POST', '/1/batch'],
  ]

  for (const [method, path] of routes) {
    it(`answers every bad body of ${method} ${path} with a code and a message in JSON, never with a 5xx`, async () => {
      for (const [name, body] of Object.entries(bodies)) {
        const { status, type, text } = await raw(method, path, json, body)
        assert.ok(status < 500, `${name}: ${status} ${text}`)
        assert.match(type, /^application\/json/, `${name}: ${type} ${text}`)
        const answer = JSON.parse(text)
        if (status < 400) continue
        assert.equal(typeof answer.code, 'number', `${name}: ${text}`)
        assert.equal(typeof answer.error, 'string', `${name}: ${text}`)
        assert.deepEqual(Object.keys(answer).sort(), ['code', 'error'])
      }
    })
  }

  const where = (condition: object) =>
    `/1/classes/CarePlan?where=${encodeURIComponent(JSON.stringify(condition))}`
  const explained: [string, string, number, string, object?][] = [
    ['GET', '/1/classes/CarePlan?order=nmae', 102, 'CarePlan has no field "nmae" to sort by.'],
    ['GET', '/1/classes/CarePlan?distinct=nmae', 102, 'CarePlan has no field "nmae" to use with distinct.'],
    ['GET', '/1/classes/CarePlan?lmit=1', 102, 'This query has no parameter "lmit".'],
    ['GET', where({ name: { $text: 'x' } }), 102, 'Operator $text is not supported in where.'],
    ['GET', where({ $text: 'x' }), 102, 'Operator $text is not supported in where.'],
    ['GET', where({ 'a b': 1 }), 102, '"a b" in where is not the name of a field.'],
    ['GET', where({ name: { $in: 'x' } }), 102, '$in needs a list of at most 1000 values.'],
    [
      'GET',
      '/1/login?username=ann&password=secret',
      119,
      'GET /1/login is not accepted because it puts the password into the URL. Use POST /1/login.',
    ],
    [
      'POST',
      '/1/users',
      252,
      'Anonymous and third-party logins are not available under /1. Use a password, or POST /auth/login/google.',
      { authData: { anonymous: { id: 'x' } } },
    ],
    ['PUT', '/1/users/abcdefghij', 206, FOREIGN_ACCOUNT, { name: 'x' }],
    ['DELETE', '/1/users/abcdefghij', 206, FOREIGN_ACCOUNT],
    [
      'POST',
      '/1/classes/CarePlan',
      107,
      '__type must be one of Date, Pointer, Object, Relation, Bytes, GeoPoint, Polygon.',
      { name: { __type: 'File' } },
    ],
  ]
  for (const [method, path, code, error, body] of explained)
    it(`explains why it refuses ${method} ${decodeURIComponent(path)} with code ${code}`, async () => {
      const answer = await raw(method, path, json, body === undefined ? undefined : JSON.stringify(body))
      assert.deepEqual(JSON.parse(answer.text), { code, error })
    })

  it('asks a caller without a session to log in', async () => {
    const { status, body } = await request().get('/1/classes/Ehr').set(apiKeys())
    assert.deepEqual([status, body.code], [401, 209])
    assert.match(body.error, /Log in with POST \/1\/login/)
  })

  it('answers strange paths, methods and content types in the same form', async () => {
    const strange: [string, string, Record<string, string>?, string?][] = [
      ['GET', '/1/classes/CarePlan/a%2Fb'],
      ['GET', '/1/classes/CarePlan/a%00b'],
      ['GET', '/1/classes/CarePlan/%E0%A4%A'],
      ['GET', `/1/classes/CarePlan/${'x'.repeat(8000)}`],
      ['GET', '/1/classes/..%2F..%2Fetc'],
      ['GET', '/1/classes/$where'],
      ['GET', '/1/classes/_Role'],
      ['GET', '/1/classes/'],
      ['GET', '/1/nothing'],
      ['GET', '/1/'],
      ['GET', '/1'],
      ['PATCH', '/1/classes/CarePlan'],
      ['DELETE', '/1/classes/CarePlan'],
      ['PUT', '/1/login'],
      ['GET', '/functions/bmi'],
      ['GET', '/1/schemas'],
      ['POST', '/1/files/x.txt', { 'Content-Type': 'text/plain' }, 'x'],
      ['GET', '/1/serverInfo'],
      ['GET', '/1/aggregate/CarePlan'],
      ['POST', '/1/graphql'],
      ['POST', '/1/classes/CarePlan', { 'Content-Type': 'text/plain' }, 'x'],
      ['POST', '/1/classes/CarePlan', { 'Content-Type': 'application/xml' }, '<a/>'],
      ['POST', '/1/classes/CarePlan', { 'Content-Type': 'multipart/form-data; boundary=x' }, '--x--'],
      ['POST', '/1/classes/CarePlan', { 'Content-Type': 'application/json; charset=klingon' }, '{}'],
      ['POST', '/1/classes/CarePlan', { 'Content-Encoding': 'gzip' }, 'not gzip'],
      ['POST', '/1/classes/CarePlan', { 'Content-Encoding': 'klingon' }, '{}'],
      ['POST', '/1/classes/CarePlan', { 'X-Parse-Cloud-Context': '[' }, '{}'],
      ['POST', '/1/classes/CarePlan', { 'X-Parse-Installation-Id': 'é$'.repeat(50) }, '{}'],
      ['POST', '/1/classes/CarePlan', { 'X-Parse-Master-Key': 'guess' }, '{}'],
      ['POST', '/1/classes/CarePlan', { 'X-Parse-Maintenance-Key': 'guess' }, '{}'],
      ['POST', '/1/classes/CarePlan', { Authorization: `Basic ${'A'.repeat(6000)}` }, '{}'],
    ]
    for (const [method, path, headers = {}, body] of strange) {
      const { status, type, text } = await raw(method, path, { ...json, ...headers }, body)
      const description = `${method} ${path.slice(0, 60)} ${JSON.stringify(headers)}: ${status} ${type} ${text.slice(0, 200)}`
      assert.ok(status >= 400 && status < 500, description)
      assert.match(type, /^application\/json/, description)
      assert.equal(typeof JSON.parse(text).code, 'number', description)
      assert.equal(typeof JSON.parse(text).error, 'string', description)
    }
  })

  it('keeps the connection open after every kind of refusal', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    await raw('GET', '/1/users/me', json, undefined, agent)
    const refusals: [string, string, Record<string, string>, string?][] = [
      ['POST', '/1/classes/CarePlan', { 'Content-Type': 'application/json' }, '{}'],
      ['POST', '/1/classes/CarePlan', { ...apiKeys(), 'Content-Type': 'application/json' }, '{}'],
      ['POST', '/1/classes/CarePlan', json, '{"name": '],
      ['POST', '/1/classes/CarePlan', json, '{"name": {"__op": "Explode"}}'],
      ['GET', '/1/schemas', json],
      ['GET', '/1/classes/CarePlan?limit=abc', json],
      ['GET', '/1/login', json],
      ['GET', '/1/classes/NoSuchClass', json],
    ]
    for (const [method, path, headers, body] of refusals) {
      const { status, reused } = await raw(method, path, headers, body, agent)
      assert.ok(status >= 400 && status < 500, `${method} ${path}: ${status}`)
      assert.ok(reused, `${method} ${path} came on a new connection`)
    }
    const last = await raw('GET', '/1/users/me', json, undefined, agent)
    assert.ok(last.reused && last.status === 200)
    agent.destroy()
  })

  it('gives each failed part of a batch a code', async () => {
    const requests = [
      { method: 'GET', path: '/1/classes/CarePlan/nothing' },
      { method: 'POST', path: '/1/classes/CarePlan', body: { name: { __op: 'Delete' } } },
      { method: 'PUT', path: '/1/classes/CarePlan/x', body: {} },
      { method: 'DELETE', path: '/1/classes/CarePlan/x' },
    ]
    const { status, body } = await request().post('/1/batch').set(user.headers).send({ requests })
    assert.equal(status, 200)
    assert.equal(body.length, requests.length)
    for (const outcome of body) {
      assert.equal(typeof outcome.error.code, 'number', JSON.stringify(outcome))
      assert.notEqual(outcome.error.code, 1, JSON.stringify(outcome))
      assert.equal(typeof outcome.error.error, 'string')
    }
  })

  it('refuses the invalid requests of a batch in their places, and carries out the others', async () => {
    const [ehr] = (await request().get('/1/classes/Ehr').set(user.headers)).body.results
    const create = (values: object) => ({ method: 'POST', path: '/1/classes/Custom', body: values })
    const path = '/1/classes/CarePlan'
    const valid = (name: string) => ({ method: 'POST', path, body: { ehrId: ehr.objectId, name } })
    const invalid: [code: number, part: object][] = [
      [107, create({ payload: { d: { __type: 'Date', iso: 'nope' } } })],
      [107, create({ payload: { d: { __type: 'Foo' } } })],
      [107, create({ name: { __op: 'Explode' } })],
      [107, create({ payload: { constructor: 1 } })],
      [105, create({ 'no name': 1 })],
      [107, { method: 'PUT', path: '/1/classes/CarePlan/x', body: null }],
      [119, { method: 'GET', path: '/1/classes/Nope' }],
      [119, { method: 'GET', path: '/1/schemas' }],
      [119, { method: 'POST', path: '/1/users', body: { username: 'x' } }],
      [102, { method: 'GET', path: '/1/classes/Custom', body: { where: { $foo: 1 } } }],
      [102, { method: 'GET', path: '/1/classes/Custom', body: { distinct: 'version' } }],
    ]
    const requests = [valid('first'), ...invalid.map(([, part]) => part), valid('last')]
    const { status, body } = await request().post('/1/batch').set(user.headers).send({ requests })
    assert.equal(status, 200, JSON.stringify(body))
    const codes = body.slice(1, -1).map(({ error }: { error?: { code: number } }) => error?.code)
    assert.deepEqual(
      codes,
      invalid.map(([code]) => code),
    )
    for (const [i, name] of [[0, 'first'] as const, [-1, 'last'] as const]) {
      const { objectId } = body.at(i).success
      const { body: stored } = await request().get(`${path}/${objectId}`).set(user.headers)
      assert.equal(stored.name, name)
    }
  })

  it('refuses batches without a list, with strange paths, nested or too long', async () => {
    const batch = (body: object) => request().post('/1/batch').set(user.headers).send(body)
    const get = { method: 'GET', path: '/1/classes/CarePlan' }
    for (const body of [
      {},
      { requests: 'x' },
      { requests: [null] },
      { requests: [{ method: 'GET' }] },
      { requests: [{ method: 'POST', path: '/1/classes/CarePlan', body: 5 }] },
      { requests: [{ method: 5, path: '/1/classes/CarePlan' }] },
      { requests: [{ method: 'get', path: '/1/classes/CarePlan' }] },
      { requests: [{ method: 'GET', path: '/1/classes/CarePlan?limit=abc' }] },
      { requests: [{ method: 'GET', path: '/1/../1/schemas' }] },
      { requests: [{ method: 'GET', path: 'nowhere' }] },
      { requests: [{ method: 'POST', path: '/1/batch', body: { requests: [] } }] },
      { requests: Array.from({ length: 51 }, () => get) },
      { requests: [get], transaction: true },
    ]) {
      const { status, body: answer } = await batch(body)
      assert.equal(status, 400, JSON.stringify(body).slice(0, 100))
      assert.equal(typeof answer.code, 'number')
    }
  })

  it('does not read a query from other values', async () => {
    for (const where of [{ $or: 5 }, { x: { $inQuery: { className: 'CarePlan', where: 5 } } }])
      for (const method of ['put', 'delete', 'post'] as const)
        for (const path of ['classes/CarePlan', 'classes/CarePlan/x', 'users', 'functions/bmi']) {
          const { status } = await request()[method](`/1/${path}`).set(user.headers).send({ where })
          assert.ok(status >= 400 && status < 500, `${method} ${path} ${status}`)
        }
  })

  it('refuses an atomic change of a field of another type', async () => {
    const [ehr] = (await request().get('/1/classes/Ehr').set(user.headers)).body.results
    const plan = await request()
      .post('/1/classes/CarePlan')
      .set(user.headers)
      .send({ ehrId: ehr.objectId, name: 'plan' })
    for (const operation of [
      { __op: 'Increment', amount: 1 },
      { __op: 'Add', objects: ['x'] },
      { __op: 'AddUnique', objects: ['x'] },
      { __op: 'Remove', objects: ['x'] },
      { __op: 'AddRelation', objects: [{ __type: 'Pointer', className: 'Ehr', objectId: 'x' }] },
      { __op: 'Batch', ops: [{ __op: 'Delete' }] },
    ])
      for (const field of ['name', 'notes', 'anonymous', 'notes.deep']) {
        const { status, body } = await request()
          .put(`/1/classes/CarePlan/${plan.body.objectId}`)
          .set(user.headers)
          .send({ [field]: operation })
        assert.equal(status, 400, JSON.stringify([field, operation, body]))
        assert.ok([107, 111].includes(body.code), JSON.stringify([field, operation, body]))
      }
  })

  it('refuses operations of relations, and the deletion of unknown properties', async () => {
    const [ehr] = (await request().get('/1/classes/Ehr').set(user.headers)).body.results
    const fields = { ehrId: ehr.objectId, name: 'plan' }
    const send = (method: 'post' | 'put', path: string, body: object) =>
      request()[method](`/1/classes/CarePlan${path}`).set(user.headers).send(body)
    const { objectId } = (await send('post', '', fields)).body
    const refusals: [property: object, code: number][] = [
      [{ friends: { __op: 'AddRelation', objects: [] } }, 111],
      [{ friends: { __op: 'Batch', ops: [] } }, 111],
      [{ name: { __op: 'SetOnInsert', amount: 'x' } }, 111],
      [{ friends: { __op: 'Add', objects: [1] } }, 142],
      [{ friends: { __op: 'Delete' } }, 142],
      [{ friends: null }, 142],
    ]
    for (const [property, code] of refusals)
      for (const { status, body } of [
        await send('put', `/${objectId}`, property),
        await send('post', '', { ...fields, ...property }),
      ])
        assert.deepEqual([status, body.code], [400, code], JSON.stringify([property, body]))
    assert.equal((await send('put', `/${objectId}`, { notes: null })).status, 200)
  })

  it('carries out a request with the same X-Parse-Request-Id once for each account', async () => {
    const send = ({ headers }: Person) =>
      request()
        .post('/1/functions/bmi')
        .set({ ...headers, 'X-Parse-Request-Id': 'the-same-request-0001' })
        .send({ weight: 70, weightUnit: 'kg', height: 175, heightUnit: 'cm' })
    assert.equal((await send(user)).status, 200)
    const { status, body } = await send(user)
    assert.deepEqual([status, body.code], [400, 159])
    assert.equal((await send(await createPerson())).status, 200)
  })

  it('carries out a request again after a failure, with the same X-Parse-Request-Id', async () => {
    const [ehr] = (await request().get('/1/classes/Ehr').set(user.headers)).body.results
    const create = (id: string) =>
      request()
        .post('/1/classes/CarePlan')
        .set({ ...user.headers, 'X-Parse-Request-Id': id })
        .send({ ehrId: ehr.objectId, name: id })
    const failures = {
      'the plan is lost': (command: Document) => JSON.stringify(command).includes('"the plan is lost"'),
      'the claim is lost': ({ insert }: Document) => insert === '_Idempotency',
      'the database goes away': (command: Document) =>
        command.delete === '_Idempotency' || JSON.stringify(command).includes('"the database goes away"'),
    }
    for (const [id, isLost] of Object.entries(failures)) {
      const lose = (command: Document, pass: () => unknown) =>
        isLost(command)
          ? Promise.resolve(command.insert && pass()).then(() =>
              Promise.reject(new MongoNetworkError('lost')),
            )
          : undefined
      await withAnsweredCommands(lose, async () => assert.equal((await create(id)).status, 503, id))
      assert.equal((await create(id)).status, 201, id)
      assert.equal((await create(id)).status, 400, id)
    }
  })

  it('refuses a request for now while another with the same X-Parse-Request-Id is carried out', async () => {
    const [ehr] = (await request().get('/1/classes/Ehr').set(user.headers)).body.results
    const create = () =>
      request()
        .post('/1/classes/CarePlan')
        .set({ ...user.headers, 'X-Parse-Request-Id': 'twice-at-once' })
        .send({ ehrId: ehr.objectId, name: 'twice at once' })
    let second: Awaited<ReturnType<typeof create>> | undefined
    const sendAgain = async (pass: () => unknown) => {
      second = await create()
      return pass()
    }
    const isWrite = (command: Document) => JSON.stringify(command).includes('"twice at once"')
    const repeat = (command: Document, pass: () => unknown) =>
      !second && isWrite(command) ? sendAgain(pass) : undefined
    await withAnsweredCommands(repeat, async () => assert.equal((await create()).status, 201))
    assert.deepEqual([second?.status, second?.headers['retry-after']], [503, '1'])
    const { status, body } = await create()
    assert.deepEqual([status, body.code], [400, 159])
  })

  it('does not carry out a write again, with the same X-Parse-Request-Id, that may have been stored', async () => {
    const [ehr] = (await request().get('/1/classes/Ehr').set(user.headers)).body.results
    const create = () =>
      request()
        .post('/1/classes/CarePlan')
        .set({ ...user.headers, 'X-Parse-Request-Id': 'commit-in-doubt' })
        .send({ ehrId: ehr.objectId, name: 'commit in doubt' })
    const loseReply = ({ commitTransaction }: Document, pass: () => unknown) =>
      commitTransaction
        ? Promise.resolve(pass()).then(() => Promise.reject(new MongoNetworkError('lost')))
        : undefined
    let creation: Awaited<ReturnType<typeof create>> | undefined
    await withAnsweredCommands(loseReply, async () => {
      creation = await create()
    })
    assert.equal(creation?.status, 503)
    assert.match(creation?.body.error, /may have been carried out/)
    assert.equal((await create()).status, 503)
    assert.equal(await service.db.collection('CarePlan').countDocuments({ name: 'commit in doubt' }), 1)
  })

  it('carries out a batch with the same X-Parse-Request-Id once, unless nothing of it was', async () => {
    const [ehr] = (await request().get('/1/classes/Ehr').set(user.headers)).body.results
    const read = { method: 'GET', path: `/1/classes/Ehr/${ehr.objectId}` }
    const send = (name: string) =>
      request()
        .post('/1/batch')
        .set({ ...user.headers, 'X-Parse-Request-Id': name })
        .send({
          requests: [
            { method: 'POST', path: '/1/classes/CarePlan', body: { ehrId: ehr.objectId, name } },
            ...(name === 'nothing of it' ? [] : [read]),
          ],
        })
    const count = (name: string) => service.db.collection('CarePlan').countDocuments({ name })
    const lose = (fits: (text: string) => boolean) => (command: Document) =>
      fits(JSON.stringify(command)) ? Promise.reject(new MongoNetworkError('lost')) : undefined
    const isInsert = (text: string) => text.includes('"nothing of it"')
    await withAnsweredCommands(lose(isInsert), async () =>
      assert.equal((await send('nothing of it')).status, 503),
    )
    assert.equal((await send('nothing of it')).status, 200)
    const again = await send('nothing of it')
    assert.deepEqual([again.status, again.body.code, await count('nothing of it')], [400, 159, 1])
    // Jobs commit transactions at any moment, too.
    let isWritten = false
    let isCommitted = false
    const isAuditOfRead = (text: string) => {
      isWritten ||= text.includes('"audit is lost"')
      isCommitted ||= isWritten && text.includes('"commitTransaction"')
      return isCommitted && text.includes('audit.entries')
    }
    await withAnsweredCommands(lose(isAuditOfRead), async () =>
      assert.equal((await send('audit is lost')).status, 503),
    )
    assert.equal((await send('audit is lost')).status, 503)
    assert.equal(await count('audit is lost'), 1)
  })

  it('answers a too large header without a crash', async () => {
    const { status } = await raw('GET', `/1/classes/CarePlan?where=${'x'.repeat(1_000_000)}`, json).catch(
      () => ({
        status: 431,
      }),
    )
    assert.equal(status, 431)
    await request().get('/1/users/me').set(user.headers).expect(200)
  })
})
