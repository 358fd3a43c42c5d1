import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { followLink, mailTo } from '../../harness/people/mail.ts'
import { newAddress, newPerson, type Person, password, signUp } from '../../harness/people/people.ts'
import { keys, request, service } from '../../harness/service/service.ts'
import { sized } from '../../harness/size.ts'

describe('class family: sign-up and login', () => {
  let user: Person
  before(async () => {
    user = await newPerson()
  })

  for (const path of ['/1/login', '/1/Login', '/Login', '/login']) {
    it(`POST ${path} answers the user and a session token`, async () => {
      const { status, body } = await request().post(path).set(keys()).send({ username: user.email, password })
      assert.equal(status, 200)
      assert.equal(body.objectId, user.mvUid)
      assert.match(body.sessionToken, /^r:/)
      assert.equal(body.password, undefined)
      await request()
        .get('/1/users/me')
        .set({ ...keys(), 'X-Parse-Session-Token': body.sessionToken })
        .expect(200)
    })

    it(`GET ${path} is refused, whatever is in the URL`, async () => {
      const { status, body, headers } = await request()
        .get(`${path}?username=${encodeURIComponent(user.email)}&password=${encodeURIComponent(password)}`)
        .set(keys())
      assert.equal(status, 405)
      assert.equal(headers.allow, 'POST')
      assert.equal(body.code, 119)
    })
  }

  it('takes no credentials from the URL of a POST', async () => {
    const { status, body } = await request()
      .post(`/1/login?username=${encodeURIComponent(user.email)}&password=${encodeURIComponent(password)}`)
      .set(keys())
    assert.equal(status, 400)
    assert.equal(body.code, 200)
  })

  for (const path of ['/functions/Login', '/1/functions/Login']) {
    it(`the function at ${path} does the same`, async () => {
      const { status, body } = await request().post(path).set(keys()).send({ username: user.email, password })
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
        const { status, body } = await request().post(path).set(keys()).send(credentials)
        assert.ok(status >= 400 && status < 500, `${path} ${JSON.stringify(credentials)}: ${status}`)
        assert.equal(typeof body.code, 'number')
        assert.equal(typeof body.error, 'string')
      }
  })

  it('lets nobody in before the address is confirmed', async () => {
    const email = newAddress()
    const { status: made, body: user } = await signUp(email)
    assert.equal(made, 201)
    assert.equal(user.sessionToken, undefined)
    const { status, body } = await request().post('/1/login').set(keys()).send({ username: email, password })
    assert.equal(status, 404)
    assert.equal(body.code, 101)
    const { link } = await mailTo(email)
    assert.match(await followLink(link), /is confirmed/)
    await request().post('/1/login').set(keys()).send({ username: email, password }).expect(200)
  })

  it('makes one account of two sign-ups at the same instant, in whatever case the address is written', async () => {
    const email = newAddress()
    const spellings = [email, email.toUpperCase(), email, email.replace('user', 'User')]
    const answers = await Promise.all(spellings.map((name) => signUp(name)))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 201, 201, 201],
    )
    const accounts = () => service.db.collection('_User').countDocuments({ email })
    // Each takes the place of the one before, until the last.
    for (let i = 0; i < 1_000 && (i < 20 || (await accounts()) !== 1); i++) await sleep(25)
    assert.equal(await accounts(), 1)
  })

  it('refuses a weak password, and one that holds the name', async () => {
    const email = newAddress()
    for (const weak of ['short', `${email}!`, '']) {
      const { status, body } = await request()
        .post('/1/users')
        .set(keys())
        .send({ username: email, email, password: weak })
      assert.equal(status, 400)
      assert.equal(typeof body.code, 'number')
    }
  })

  const many = sized(40, 200)
  it(`${many} wrong passwords lock the account and never break anything`, async () => {
    const victim = await newPerson()
    const answers = []
    for (let batch = 0; batch < many / 20; batch++)
      answers.push(
        ...(await Promise.all(
          Array.from({ length: 20 }, () =>
            request().post('/1/login').set(keys()).send({ username: victim.email, password: 'wrong' }),
          ),
        )),
      )
    for (const { status, body } of answers) {
      assert.ok([404, 429].includes(status), String(status))
      assert.ok([101, 155].includes(body.code))
    }
    const right = await request().post('/1/login').set(keys()).send({ username: victim.email, password })
    assert.equal(right.status, 404)
    assert.match(right.body.error, /locked/)
    await request().get('/1/users/me').set(victim.headers).expect(200)
  })
})
