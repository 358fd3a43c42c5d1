import assert from 'node:assert/strict'
import { followLink, waitForMail } from '../../harness/mail/mail.ts'
import { createAddress, createPerson, type Person, password, signUp } from '../../harness/people/people.ts'
import { apiKeys, request, service } from '../../harness/service/service.ts'
import { bySize } from '../../harness/test-size.ts'
import { waitUntil } from '../../harness/wait.ts'

describe('class family: sign-up and login', () => {
  let user: Person
  before(async () => {
    user = await createPerson()
  })

  for (const path of ['/1/login', '/1/Login', '/Login', '/login']) {
    it(`returns the user and a session token from POST ${path}`, async () => {
      const { status, body } = await request()
        .post(path)
        .set(apiKeys())
        .send({ username: user.email, password })
      assert.equal(status, 200)
      assert.equal(body.objectId, user.mvUid)
      assert.match(body.sessionToken, /^r:/)
      assert.equal(body.password, undefined)
      await request()
        .get('/1/users/me')
        .set({ ...apiKeys(), 'X-Parse-Session-Token': body.sessionToken })
        .expect(200)
    })

    it(`refuses GET ${path} with any credentials in the URL`, async () => {
      const { status, body, headers } = await request()
        .get(`${path}?username=${encodeURIComponent(user.email)}&password=${encodeURIComponent(password)}`)
        .set(apiKeys())
      assert.equal(status, 405)
      assert.equal(headers.allow, 'POST')
      assert.equal(body.code, 119)
    })
  }

  it('refuses credentials in the URL of a POST', async () => {
    const { status, body } = await request()
      .post(`/1/login?username=${encodeURIComponent(user.email)}&password=${encodeURIComponent(password)}`)
      .set(apiKeys())
    assert.equal(status, 400)
    assert.deepEqual(body, { code: 102, error: 'This request has no parameter "username".' })
  })

  for (const path of ['/functions/Login', '/1/functions/Login']) {
    it(`does the same with the function at ${path}`, async () => {
      const { status, body } = await request()
        .post(path)
        .set(apiKeys())
        .send({ username: user.email, password })
      assert.equal(status, 200)
      assert.equal(body.result.objectId, user.mvUid)
      assert.match(body.result.sessionToken, /^r:/)
      assert.equal(body.result.password, undefined)
    })
  }

  it('refuses malformed credentials with a code, on the route and in the function', async () => {
    const bad = [
      {},
      { username: user.email },
      { username: { $ne: '' }, password },
      { username: ['a'], password: ['b'] },
    ]
    for (const credentials of [
      ...bad,
      { username: '', password: '' },
      { username: user.email, password: { $gt: '' } },
    ])
      for (const path of ['/1/login', '/functions/Login']) {
        const { status, body } = await request().post(path).set(apiKeys()).send(credentials)
        assert.ok(status >= 400 && status < 500, `${path} ${JSON.stringify(credentials)}: ${status}`)
        assert.equal(typeof body.code, 'number')
        assert.equal(typeof body.error, 'string')
      }
  })

  it('refuses logins before the address is confirmed', async () => {
    const email = createAddress()
    const { status: signUpStatus, body: user } = await signUp(email)
    assert.equal(signUpStatus, 201)
    assert.equal(user.sessionToken, undefined)
    const { status, body } = await request()
      .post('/1/login')
      .set(apiKeys())
      .send({ username: email, password })
    assert.equal(status, 404)
    assert.equal(body.code, 101)
    const { link } = await waitForMail(email)
    assert.match(await followLink(link), /is confirmed/)
    await request().post('/1/login').set(apiKeys()).send({ username: email, password }).expect(200)
  })

  it('creates one account from two concurrent sign-ups, in whatever case the address is written', async () => {
    const email = createAddress()
    const spellings = [email, email.toUpperCase(), email, email.replace('user', 'User')]
    const answers = await Promise.all(spellings.map((name) => signUp(name)))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 201, 201, 201],
    )
    // Each sign-up replaces the account of the one before, after its response. Then one account stays.
    const findIds = async () =>
      (await service.db.collection('_User').find({ email }).toArray()).map(({ _id }) => String(_id))
    let formerIds: string[] = []
    let since = Date.now()
    await waitUntil(async () => {
      const ids = await findIds()
      if (ids.length !== 1 || ids[0] !== formerIds[0]) since = Date.now()
      formerIds = ids
      return Date.now() - since > 1_000
    })
  })

  it('refuses a weak password, and one that contains the name', async () => {
    const email = createAddress()
    for (const weak of ['short', `${email}!`, '']) {
      const { status, body } = await request()
        .post('/1/users')
        .set(apiKeys())
        .send({ username: email, email, password: weak })
      assert.equal(status, 400)
      assert.equal(typeof body.code, 'number')
    }
  })

  const many = bySize(40, 200)
  it(`locks the account after ${many} wrong passwords, and never fails`, async () => {
    const victim = await createPerson()
    const answers = []
    for (let batch = 0; batch < many / 20; batch++)
      answers.push(
        ...(await Promise.all(
          Array.from({ length: 20 }, () =>
            request().post('/1/login').set(apiKeys()).send({ username: victim.email, password: 'wrong' }),
          ),
        )),
      )
    for (const { status, body } of answers) {
      assert.ok([404, 429].includes(status), String(status))
      assert.ok([101, 155].includes(body.code))
    }
    const right = await request().post('/1/login').set(apiKeys()).send({ username: victim.email, password })
    assert.equal(right.status, 404)
    assert.match(right.body.error, /locked/)
    await request().get('/1/users/me').set(victim.headers).expect(200)
  })
})
