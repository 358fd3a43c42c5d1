import assert from 'node:assert/strict'
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { decodeJwt, generateKeyPair, importJWK, SignJWT, UnsecuredJWT } from 'jose'
import { type Answer, assertProblem, call } from '../../harness/clients/path-client.ts'
import { followLink, waitForMail } from '../../harness/people/mail.ts'
import {
  createAddress,
  createAdmin,
  createPerson,
  createPersonFor,
  logIn,
  register,
} from '../../harness/people/people.ts'
import { config, service } from '../../harness/service/service.ts'
import { client, redirectUri, startProvider, type TestProvider } from './oidc.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url')
const random = () => randomBytes(32).toString('base64url')

describe('login with an external identity', () => {
  let provider: TestProvider
  before(async () => {
    provider = await startProvider(Number(new URL(config.oidcIssuer).port))
  })
  after(() => provider.close())

  const withCode = (code: string | null, more: object = {}) =>
    call('POST', '/auth/login/google', { code, redirectUri, ...more })
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

  describe('by a code', () => {
    const codeOf = async (parameters: Record<string, string> = {}) =>
      (await provider.authorize(parameters)).get('code')

    it('logs in to the account with the verified address, and later to the linked one', async () => {
      const person = await createPerson()
      provider.account = { sub: random(), email: person.email.toUpperCase(), email_verified: true }
      const verifier = random()
      const code = await codeOf({ code_challenge: sha256(verifier), code_challenge_method: 'S256' })
      const first = await withCode(code, { codeVerifier: verifier })
      assert.equal(loggedInAs(first), person.mvUid)
      const account = await createPersonFor(first.body, person.email).call(
        'GET',
        `/auth/account/${person.mvUid}`,
      )
      assert.equal(account.status, 200)
      assert.equal(
        (await call('POST', '/auth/login/token', { refreshToken: first.body.refreshToken })).status,
        200,
      )

      provider.account = { ...provider.account, email: createAddress() }
      assert.equal(loggedInAs(await withCode(await codeOf())), person.mvUid)
    })

    it('accepts a code once, with its verifier and its redirect URI', async () => {
      const person = await createPerson()
      provider.account = { sub: random(), email: person.email, email_verified: true }
      const code = await codeOf()
      assert.equal((await withCode(code)).status, 200)
      assertProblem(await withCode(code), 401, 'identity-refused')
      assertProblem(await withCode('invented'), 401, 'identity-refused')
      const challenged = { code_challenge: sha256(random()), code_challenge_method: 'S256' }
      assertProblem(await withCode(await codeOf(challenged)), 401, 'identity-refused')
      assertProblem(
        await withCode(await codeOf(challenged), { codeVerifier: random() }),
        401,
        'identity-refused',
      )
      const elsewhere = { redirectUri: 'https://evil.example/callback' }
      assertProblem(await withCode(await codeOf(), elsewhere), 401, 'identity-refused')
      assertProblem(await withCode(await codeOf(), { redirectUri: 'nowhere' }), 400, 'invalid-input')
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
      const own = await importJWK(provider.key, 'RS256')
      const { privateKey: other } = await generateKeyPair('RS256')
      const sign = (changed: object, key = own, header: object = {}) =>
        new SignJWT({ ...claims, ...changed })
          .setProtectedHeader({ alg: 'RS256', kid: 'provider-key', ...header })
          .sign(key as never)
      loggedInAs(await withToken(await sign({}), 'n'))
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
        expired: await sign({ exp: now - 10 }),
        'no expiry': await sign({ exp: undefined }),
        'no subject': await sign({ sub: undefined }),
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
})
