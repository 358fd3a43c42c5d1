import assert from 'node:assert/strict'
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeJwt, generateKeyPair, importJWK, SignJWT, UnsecuredJWT } from 'jose'
import type { Document } from 'mongodb'
import { type Answer, assertProblem, call } from '../../harness/clients/path-client.ts'
import { followLink, waitForMail, waitForMailAbout } from '../../harness/mail/mail.ts'
import { tokenInLink } from '../../harness/mail/outbox.ts'
import {
  createAddress,
  createAdmin,
  createPerson,
  createPersonFor,
  logIn,
  type Person,
  password,
  register,
} from '../../harness/people/people.ts'
import { beforeFirstCommand } from '../../harness/service/database-commands.ts'
import { apiKeys, config, request, service } from '../../harness/service/service.ts'
import { client, redirectUri, startProvider, type TestProvider } from './oidc.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url')
const random = () => randomBytes(32).toString('base64url')

describe('login with an external identity', () => {
  let provider: TestProvider
  before(async () => {
    provider = await startProvider(Number(new URL(config.oidcIssuer).port))
  })
  after(() => provider.close())

  const verifier = random()
  const nonce = random()
  const withCode = (code: string | null, more: object = {}) =>
    call('POST', '/auth/login/google', { code, redirectUri, codeVerifier: verifier, nonce, ...more })
  const withToken = (idToken: string, nonce?: string) =>
    call('POST', '/auth/login/googletoken', { idToken, ...(nonce === undefined ? {} : { nonce }) })
  const loggedInAs = ({ status, body }: Answer) => {
    assert.equal(status, 200, JSON.stringify(body))
    return body.mvUid
  }

  it('is temporarily unavailable while the provider does not answer', async () => {
    await provider.close()
    const away = [await withCode('code'), await withToken('a.b.c')]
    provider = await startProvider(Number(new URL(config.oidcIssuer).port))
    for (const answer of away) {
      assertProblem(answer, 503, 'unavailable')
      assert.equal(answer.headers.get('retry-after'), '30')
    }
  })

  it('is temporarily unavailable while the provider does not show its keys', async () => {
    const person = await createPerson()
    provider.account = { sub: random(), email: person.email, email_verified: true }
    const token = (await provider.authorize({ response_type: 'id_token', nonce })).get('id_token') ?? ''
    for (const failure of [
      [500, 'out of order'],
      [200, 'no JSON'],
      [200, '{"keys":1}'],
    ] as const) {
      provider.failures = { '/jwks': [...failure] }
      const answer = await withToken(token, nonce)
      provider.failures = {}
      assertProblem(answer, 503, 'unavailable')
      assert.equal(answer.headers.get('retry-after'), '30')
    }
    await provider.close()
    const away = await withToken(token, nonce)
    provider = await startProvider(Number(new URL(config.oidcIssuer).port))
    assertProblem(away, 503, 'unavailable')
    const [header, claims] = token.split('.')
    assertProblem(await withToken(`${header}.${claims}.AAAA`, nonce), 401, 'identity-refused')
  })

  describe('by a code', () => {
    const challenge = { code_challenge: sha256(verifier), code_challenge_method: 'S256' }
    const codeOf = async (parameters: Record<string, string> = {}) =>
      (await provider.authorize({ ...challenge, nonce, ...parameters })).get('code')

    it('logs in to the account with the verified address, and later to the linked one', async () => {
      const person = await createPerson()
      provider.account = { sub: random(), email: person.email.toUpperCase(), email_verified: true }
      const firstLogin = await withCode(await codeOf())
      assert.equal(loggedInAs(firstLogin), person.mvUid)
      const account = await createPersonFor(firstLogin.body, person.email).call(
        'GET',
        `/auth/account/${person.mvUid}`,
      )
      assert.equal(account.status, 200)
      assert.equal(
        (await call('POST', '/auth/login/token', { refreshToken: firstLogin.body.refreshToken })).status,
        200,
      )

      provider.account = { ...provider.account, email: createAddress() }
      assert.equal(loggedInAs(await withCode(await codeOf())), person.mvUid)
    })

    it('says so when the provider does not accept the service, which its operator must correct', async () => {
      const json = { 'content-type': 'application/json' }
      for (const [status, error, headers] of [
        [401, 'invalid_client', json],
        [401, 'invalid_client', { ...json, 'www-authenticate': 'Basic realm="provider"' }],
        [400, 'unauthorized_client', json],
        [403, 'no JSON', { 'content-type': 'text/html' }],
        [401, undefined, json],
      ] as const) {
        provider.failures = { '/token': [status, JSON.stringify({ error }), headers] }
        const answer = await withCode('code')
        provider.failures = {}
        assertProblem(answer, 502, 'identity-provider-failed')
        assert.match(answer.body.title, /refuses this service/)
        assert.equal(answer.headers.get('retry-after'), null)
      }
    })

    it('refuses a login whose redirect URI the provider does not accept, by the name that Google uses', async () => {
      const body = JSON.stringify({ error: 'redirect_uri_mismatch' })
      provider.failures = { '/token': [400, body, { 'content-type': 'application/json' }] }
      const answer = await withCode('code')
      provider.failures = {}
      assertProblem(answer, 401, 'identity-refused')
    })

    it('is temporarily unavailable while the provider answers wrongly', async () => {
      for (const [status, body] of [
        [500, 'out of order'],
        [503, '{"error":"temporarily_unavailable"}'],
        [429, '{"error":"slow_down"}'],
        [404, 'no such path'],
      ] as const) {
        provider.failures = { '/token': [status, body, { 'content-type': 'application/json' }] }
        const answer = await withCode('code')
        provider.failures = {}
        assertProblem(answer, 503, 'unavailable')
      }
    })

    it('accepts a code once, with its verifier, its nonce and its redirect URI', async () => {
      const person = await createPerson()
      provider.account = { sub: random(), email: person.email, email_verified: true }
      const code = await codeOf()
      assert.equal((await withCode(code)).status, 200)
      assertProblem(await withCode(code), 401, 'identity-refused')
      assertProblem(await withCode('invented'), 401, 'identity-refused')
      for (const wrong of [{ codeVerifier: random() }, { nonce: random() }])
        assertProblem(await withCode(await codeOf(), wrong), 401, 'identity-refused')
      for (const absent of [{ codeVerifier: undefined }, { nonce: undefined }])
        assertProblem(await withCode(await codeOf(), absent), 400, 'invalid-input')
      const elsewhere = { redirectUri: 'https://evil.example/callback' }
      assertProblem(await withCode(await codeOf(), elsewhere), 401, 'identity-refused')
      assertProblem(await withCode(await codeOf(), { redirectUri: 'nowhere' }), 400, 'invalid-input')
    })

    const wrongClaims: Record<string, object> = {
      'another audience': { aud: 'another-client' },
      'the audience of an app': { aud: 'health-record-app' },
      'another issuer': { iss: 'https://accounts.google.com' },
      'an expiry in the past': { exp: 1 },
      'no expiry': { exp: undefined },
      'no subject': { sub: undefined },
      'an empty subject': { sub: '' },
      'no nonce': { nonce: undefined },
      'another nonce': { nonce: 'another' },
    }
    for (const [what, claims] of Object.entries(wrongClaims))
      it(`refuses an ID token with ${what}`, async () => {
        const person = await createPerson()
        provider.account = { sub: random(), email: person.email, email_verified: true }
        provider.claims = claims
        const answer = await withCode(await codeOf()).finally(() => {
          provider.claims = {}
        })
        assertProblem(answer, 401, 'identity-refused')
      })
  })

  describe('by an ID token', () => {
    const tokenOf = async (nonce: string) =>
      (await provider.authorize({ response_type: 'id_token', nonce })).get('id_token') ?? ''

    it('logs in with the nonce of the request', async () => {
      const person = await createPerson()
      provider.account = { sub: random(), email: person.email, email_verified: true }
      const nonce = random()
      const token = await tokenOf(nonce)
      assertProblem(await withToken(token), 401, 'identity-refused')
      assertProblem(await withToken(token, 'another'), 401, 'identity-refused')
      assert.equal(loggedInAs(await withToken(token, nonce)), person.mvUid)
    })

    it('never creates an account', async () => {
      const email = createAddress()
      provider.account = { sub: random(), email, email_verified: true }
      assertProblem(await withToken(await tokenOf('n'), 'n'), 403, 'account-not-found')
      assert.equal(await service.db.collection('_User').countDocuments({ email }), 0)
    })

    it('links no account by an address that either side has not verified', async () => {
      const person = await createPerson()
      provider.account = { sub: random(), email: person.email, email_verified: false }
      assertProblem(await withToken(await tokenOf('n'), 'n'), 401, 'identity-refused')

      const pending = createAddress()
      await register(pending)
      const { link } = await waitForMail(pending)
      provider.account = { sub: random(), email: pending, email_verified: true }
      assertProblem(await withToken(await tokenOf('n'), 'n'), 403, 'account-not-found')
      await followLink(link)
      const subjectId = loggedInAs(await withToken(await tokenOf('n'), 'n'))
      assert.equal(await service.db.collection('Ehr').countDocuments({ subjectId }), 1)
    })

    it('links no account by an address that only looks alike', async () => {
      const email = `k${createAddress()}`
      await register(email)
      await followLink((await waitForMail(email)).link)
      // The Kelvin sign, which becomes a k in lower case.
      const lookalike = email.replace('k', '\u212A')
      provider.account = { sub: random(), email: lookalike, email_verified: true }
      assertProblem(await withToken(await tokenOf('n'), 'n'), 403, 'account-not-found')
      const login = (username: string) =>
        request().post('/1/login').set(apiKeys()).send({ username, password })
      assert.equal((await login(lookalike)).status, 404)
      assert.equal((await login(email.toUpperCase())).status, 200)
      const other = await createPerson()
      const change = { email: `\u212A${createAddress()}` }
      const answer = await request().put(`/1/users/${other.mvUid}`).set(other.headers).send(change)
      assert.equal(answer.body.code, 125, JSON.stringify(answer.body))
    })

    it('refuses disabled and deleted accounts', async () => {
      const admin = await createAdmin()
      const person = await createPerson()
      provider.account = { sub: random(), email: person.email, email_verified: true }
      loggedInAs(await withToken(await tokenOf('n'), 'n'))
      await admin.call('PUT', `/auth/account/${person.mvUid}`, { disabled: true })
      assertProblem(await withToken(await tokenOf('n'), 'n'), 403, 'account-not-found')
      assert.equal((await logIn(person.email)).status, 401)
      await admin.call('DELETE', `/auth/account/${person.mvUid}`, {})
      assertProblem(await withToken(await tokenOf('n'), 'n'), 403, 'account-not-found')
      assert.equal(await service.db.collection('auth.identities').countDocuments({ mvUid: person.mvUid }), 0)
    })

    it('links once after two concurrent first logins', async () => {
      const person = await createPerson()
      provider.account = { sub: random(), email: person.email, email_verified: true }
      const token = await tokenOf('n')
      const answers = await Promise.all(Array.from({ length: 5 }, () => withToken(token, 'n')))
      for (const answer of answers) assert.equal(loggedInAs(answer), person.mvUid)
    })

    it('refuses forged, foreign and expired tokens', async () => {
      const person = await createPerson()
      provider.account = { sub: random(), email: person.email, email_verified: true }
      const claims = decodeJwt(await tokenOf('n'))
      const ownKey = await importJWK(provider.key, 'RS256')
      const { privateKey: other } = await generateKeyPair('RS256')
      const sign = (changed: object, key = ownKey, header: object = {}) =>
        new SignJWT({ ...claims, ...changed })
          .setProtectedHeader({ alg: 'RS256', kid: 'provider-key', ...header })
          .sign(key as never)
      for (const typ of [undefined, 'JWT', 'application/jwt'])
        loggedInAs(await withToken(await sign({}, ownKey, typ === undefined ? {} : { typ }), 'n'))
      loggedInAs(await withToken(await sign({ aud: 'health-record-app' }), 'n'))
      const now = Math.floor(Date.now() / 1000)
      const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
      const hmac = `${encoded({ alg: 'HS256', kid: 'provider-key' })}.${encoded(claims)}`
      const forgeries = {
        'no signature': new UnsecuredJWT(claims).encode(),
        'the secret as a key': `${hmac}.${createHmac('sha256', client.secret).update(hmac).digest('base64url')}`,
        'another key': await sign({}, other as never),
        'an unknown key': await sign({}, other as never, { kid: 'unknown' }),
        'another issuer': await sign({ iss: 'https://accounts.google.com' }),
        'another audience': await sign({ aud: 'another-client' }),
        'another authorised party': await sign({ aud: [client.id, 'another'], azp: 'another' }),
        'several audiences without an authorised party': await sign({
          aud: [client.id, 'another'],
          azp: undefined,
        }),
        expired: await sign({ exp: now - 10 }),
        'no expiry': await sign({ exp: undefined }),
        'no subject': await sign({ sub: undefined }),
        'an empty subject': await sign({ sub: '' }),
        'the type of an access token': await sign({}, ownKey, { typ: 'at+jwt' }),
        'the type of a logout token': await sign({}, ownKey, { typ: 'logout+jwt' }),
        'an event, as a logout token has': await sign({ events: {} }),
        'a verified address in words': await sign({ email_verified: 'true' }),
        nonsense: 'a.b.c',
      }
      for (const [why, token] of Object.entries(forgeries)) {
        const answer = await withToken(token, 'n')
        assert.equal(answer.status, 401, `${why}: ${JSON.stringify(answer.body)}`)
        assert.equal(answer.body.code, 'identity-refused', why)
      }
    })
  })

  describe('when linked', () => {
    const loginAs = async (sub: string, email: string) => {
      provider.account = { sub, email, email_verified: true }
      const token = (await provider.authorize({ response_type: 'id_token', nonce })).get('id_token') ?? ''
      return withToken(token, nonce)
    }
    const linkedTo = async (person: Person) => (await person.call('GET', '/auth/identities')).body.items

    it('is the only one of its provider for the account, whose owner gets a mail', async () => {
      const person = await createPerson()
      const sub = random()
      assert.equal(loggedInAs(await loginAs(sub, person.email)), person.mvUid)
      const mail = await waitForMailAbout(person.email, /log in .* another way/)
      assert.ok(mail.text?.includes(provider.issuer))
      assertProblem(await loginAs(random(), person.email), 403, 'account-not-found')
      assert.equal(loggedInAs(await loginAs(sub, createAddress())), person.mvUid)
      const [linked, ...others] = await linkedTo(person)
      assert.deepEqual(others, [])
      assert.equal(linked.issuer, provider.issuer)
      assert.ok(!JSON.stringify(linked).includes(sub))
    })

    it('is one of those that log in at once for the first time', async () => {
      const person = await createPerson()
      const subs = [random(), random(), random()]
      const tokens = []
      for (const sub of subs) {
        provider.account = { sub, email: person.email, email_verified: true }
        const answer = await provider.authorize({ response_type: 'id_token', nonce })
        tokens.push(answer.get('id_token') ?? '')
      }
      const answers = await Promise.all(tokens.map((token) => withToken(token, nonce)))
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 403, 403])
      assert.equal((await linkedTo(person)).length, 1)
    })

    it('can be unlinked by the owner, which ends its sessions', async () => {
      const person = await createPerson()
      const stranger = await createPerson()
      const sub = random()
      const grant = (await loginAs(sub, person.email)).body
      const [{ id }] = await linkedTo(person)
      assertProblem(await stranger.call('DELETE', `/auth/identities/${id}`), 404, 'not-found')
      assert.equal((await person.call('DELETE', `/auth/identities/${id}`)).status, 204)
      assertProblem(await person.call('DELETE', `/auth/identities/${id}`), 404, 'not-found')
      assert.deepEqual(await linkedTo(person), [])
      const { refreshToken } = grant
      assertProblem(await call('POST', '/auth/login/token', { refreshToken }), 401, 'unauthenticated')
      assert.equal((await person.call('GET', `/auth/account/${person.mvUid}`)).status, 200)
      assertProblem(await loginAs(sub, createAddress()), 403, 'account-not-found')
    })

    const next = 'another long password'
    const update = (body: object, who?: Person) =>
      who
        ? who.call('POST', '/auth/account/password/update', body)
        : call('POST', '/auth/account/password/update', body)
    const ends: [what: string, change: (person: Person) => Promise<unknown>][] = [
      [
        'a reset of the password',
        async ({ email }) => {
          await call('POST', '/auth/account/password/reset', { email })
          const token = tokenInLink(await waitForMailAbout(email, /new password/))
          assert.equal((await update({ token, newPassword: next })).status, 204)
        },
      ],
      [
        'a new password',
        async (person) => {
          const answer = await update({ currentPassword: person.password, newPassword: next }, person)
          assert.equal(answer.status, 204)
        },
      ],
      [
        'a new password in the class family',
        ({ mvUid, headers }) =>
          request().put(`/1/users/${mvUid}`).set(headers).send({ password: next }).expect(200),
      ],
      [
        'a new address',
        async (person) => {
          const email = createAddress()
          await person.call('PUT', `/auth/account/${person.mvUid}`, { email })
          await followLink((await waitForMail(email)).link)
        },
      ],
    ]
    for (const [what, change] of ends)
      it(`is unlinked by ${what}, also from a login that is under way`, async () => {
        const person = await createPerson()
        const sub = random()
        const earlier = await loginAs(sub, person.email)
        assert.equal(loggedInAs(earlier), person.mvUid)
        await beforeFirstCommand(
          ({ insert }) => insert === '_Session',
          () => change(person),
          async () => assertProblem(await loginAs(sub, createAddress()), 403, 'account-not-found'),
        )
        assertProblem(await loginAs(sub, createAddress()), 403, 'account-not-found')
        const links = service.db.collection('auth.identities')
        assert.equal(await links.countDocuments({ mvUid: person.mvUid }), 0)
        const { refreshToken } = earlier.body
        assertProblem(await call('POST', '/auth/login/token', { refreshToken }), 401, 'unauthenticated')
        const ownPerson = createPersonFor(earlier.body, person.email)
        assert.equal((await ownPerson.call('GET', '/auth/sessions')).status, 401)
        assert.equal((await request().get('/1/users/me').set(ownPerson.headers)).body.code, 209)
      })

    it('is not linked by an address that the account has given up meanwhile', async () => {
      const person = await createPerson()
      const sub = random()
      const email = createAddress()
      await person.call('PUT', `/auth/account/${person.mvUid}`, { email })
      const { link } = await waitForMail(email)
      await beforeFirstCommand(
        ({ update }) => update === 'ehr.turns',
        () => followLink(link),
        async () => assertProblem(await loginAs(sub, person.email), 403, 'account-not-found'),
      )
      assertProblem(await loginAs(sub, person.email), 403, 'account-not-found')
    })

    it('is not linked to an account that is deleted at the same moment', async () => {
      const { mvUid, email, headers } = await createPerson()
      let deletion: Promise<unknown> | undefined
      // The deletion may have to wait for the login.
      const interrupt = () => {
        deletion = request().delete(`/1/classes/_User/${mvUid}`).set(headers).expect(200)
        return Promise.race([deletion, sleep(1_000)])
      }
      await beforeFirstCommand(
        ({ insert }) => insert === 'auth.identities',
        interrupt,
        () => loginAs(random(), email),
      )
      await deletion
      assert.equal(await service.db.collection('auth.identities').countDocuments({ mvUid }), 0)
    })

    it('keeps the first of several links that version 0.2 stored', async () => {
      const person = await createPerson()
      const links = service.db.collection<Document & { _id: string }>('auth.identities')
      const { mvUid } = person
      await links.dropIndex('account_issuer')
      for (const [sub, day] of [
        ['second', 2],
        ['first', 1],
      ] as const)
        await links.insertOne({
          _id: `${provider.issuer} ${sub}-${mvUid}`,
          mvUid,
          linkedAt: new Date(2026, 0, day),
        })
      await service.accounts?.services.identities.prepare()
      assertProblem(await loginAs(`second-${mvUid}`, person.email), 403, 'account-not-found')
      assert.equal(loggedInAs(await loginAs(`first-${mvUid}`, createAddress())), mvUid)
    })
  })
})
