import assert from 'node:assert/strict'
import { createHmac, createPublicKey } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  jwtVerify,
  SignJWT,
} from 'jose'
import { createAccessTokens } from '../../../server/accounts/tokens/access-tokens.ts'
import { createKeyEncryption } from '../../../server/keys/key-encryption.ts'
import { openSigningKeys, type SigningKeyOptions } from '../../../server/keys/signing-keys.ts'
import { assertProblem, call } from '../../harness/clients/path-client.ts'
import { createPerson, createPersonFor, type Person } from '../../harness/people/people.ts'
import { config, service } from '../../harness/service/service.ts'

const refresh = (refreshToken: string) => call('POST', '/auth/login/token', { refreshToken })
const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
const keySet = async () => (await call('GET', '/auth/login/jwks')).body

describe('access tokens', () => {
  let person: Person
  before(async () => {
    person = await createPerson()
  })
  const withToken = (token: string) => createPersonFor({ ...person, authToken: token }, person.email)
  const isRefused = async (token: string, why: string) => {
    const answer = await withToken(token).call('GET', `/auth/account/${person.mvUid}`)
    assert.equal(answer.status, 401, why)
  }
  const claims = () => decodeJwt(person.authToken)
  const header = () => decodeProtectedHeader(person.authToken) as { alg: string; kid: string; typ: string }

  it('are verified with the published keys, and contain only user and session', async () => {
    const { payload } = await jwtVerify(person.authToken, createLocalJWKSet(await keySet()), {
      issuer: service.url,
      audience: 'health-record-service',
    })
    assert.deepEqual(Object.keys(payload).sort(), ['aud', 'exp', 'iat', 'iss', 'sid', 'sub'])
    assert.equal(payload.sub, person.mvUid)
    assert.equal((payload.exp ?? 0) - (payload.iat ?? 0), 900)
  })

  it('are published without private keys, for caching', async () => {
    const { headers, body } = await call('GET', '/auth/login/jwks')
    assert.match(headers.get('cache-control') ?? '', /public, max-age=\d+/)
    for (const key of body.keys) {
      assert.equal(key.alg, 'ES256')
      assert.ok(!('d' in key))
    }
  })

  it('have private keys that the database stores encrypted', async () => {
    const stored = await service.db.collection('auth.signing_keys').find().toArray()
    assert.ok(stored.length > 0)
    for (const key of stored) assert.doesNotMatch(JSON.stringify(key), /"d"/)
  })

  it('are refused when they are unsigned', async () => {
    for (const alg of ['none', 'None', 'NONE'])
      await isRefused(`${encoded({ ...header(), alg })}.${encoded(claims())}.`, alg)
  })

  it('are refused if the public key is used as a secret', async () => {
    const [jwk] = (await keySet()).keys
    const pem = createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
    for (const secret of [pem, JSON.stringify(jwk), Buffer.from(jwk.x, 'base64url')]) {
      const signed = `${encoded({ ...header(), alg: 'HS256' })}.${encoded(claims())}`
      await isRefused(`${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`, 'HS256')
    }
  })

  it('are refused if another key has signed them, wherever the key is embedded', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
    const jwk = await exportJWK(publicKey)
    const headers = [header(), { ...header(), kid: 'unknown' }, { ...header(), jwk }, { alg: 'ES256', jwk }]
    for (const each of headers)
      await isRefused(await new SignJWT(claims()).setProtectedHeader(each).sign(privateKey), 'other key')
  })

  it('are refused with another audience, issuer or type, expired, or changed', async () => {
    const { kid, key } = await (await otherInstance()).current()
    const sign = (changed: object, type = 'at+jwt') =>
      new SignJWT({ ...claims(), ...changed }).setProtectedHeader({ alg: 'ES256', kid, typ: type }).sign(key)
    const untouched = await withToken(await sign({})).call('GET', `/auth/account/${person.mvUid}`)
    assert.equal(untouched.status, 200)
    const now = Math.floor(Date.now() / 1000)
    await isRefused(await sign({ aud: 'another-service' }), 'aud')
    await isRefused(await sign({ iss: 'https://evil.example' }), 'iss')
    await isRefused(await sign({ exp: now - 1 }), 'exp')
    await isRefused(await sign({ nbf: now + 600 }), 'nbf')
    await isRefused(await sign({ sid: 'unknown' }), 'sid')
    await isRefused(await sign({ sub: 'somebody' }), 'sub')
    await isRefused(await sign({}, 'JWT'), 'typ')
    const [head, , signature] = person.authToken.split('.')
    await isRefused(`${head}.${encoded({ ...claims(), sub: 'somebody' })}.${signature}`, 'changed')
    for (const nonsense of ['x', 'a.b.c', `${person.authToken}x`, '..', 'e30.e30.', 'x'.repeat(5_000)])
      await isRefused(nonsense, nonsense.slice(0, 10))
  })

  it('stay valid after a key rotation, and those of the new key are valid at once on every instance', async () => {
    const before = await keySet()
    const keys = await otherInstance()
    await keys.rotate()
    const { kid, key } = await keys.current()
    assert.notEqual(kid, header().kid)
    const renewed = await new SignJWT(claims())
      .setProtectedHeader({ alg: 'ES256', kid, typ: 'at+jwt' })
      .sign(key)
    await sleep(1_100) // An unknown key id makes an instance look again once a second.
    for (const token of [renewed, person.authToken])
      assert.equal((await withToken(token).call('GET', `/auth/account/${person.mvUid}`)).status, 200)
    const after = await keySet()
    assert.equal(after.keys[0].kid, kid)
    assert.equal(after.keys.length, before.keys.length + 1)
    const isPublishedAfter = async (ms: number) => {
      const { publicKeys } = await otherInstance({ clock: () => new Date(Date.now() + ms) })
      return (await publicKeys()).some((one) => one.kid === header().kid)
    }
    // A token that another instance signed with a cached key lives for a quarter of an hour.
    assert.deepEqual([await isPublishedAfter(1_000_000), await isPublishedAfter(1_100_000)], [true, false])
  })

  it('end after a quarter of an hour, also for an instance that has verified them', async () => {
    let aheadMs = 0
    const clock = () => new Date(Date.now() + aheadMs)
    const tokens = createAccessTokens(await otherInstance(), service.url, clock)
    const token = await tokens.sign({ sub: person.mvUid, sid: 'session' })
    assert.equal((await tokens.verify(token))?.sub, person.mvUid)
    aheadMs = 900_000
    assert.equal(await tokens.verify(token), undefined)
  })

  it('get a new key by a rotation, whatever the clocks of the instances show', async () => {
    const keys = service.db.collection<{ _id: string; expiresAt?: Date }>('auth.signing_keys')
    const lasting = { expiresAt: { $exists: false } }
    const instance = await otherInstance()
    for (const aheadMs of [60_000, 0]) {
      const { rotate } = await otherInstance({ clock: () => new Date(Date.now() + aheadMs) })
      const { kid } = await instance.current()
      // A key of an earlier release has no number.
      if (aheadMs > 0) await keys.updateMany({}, { $unset: { sequence: 1 } })
      await rotate()
      const next = (await (await otherInstance()).publicKeys())[0]?.kid
      assert.notEqual(next, kid)
      assert.deepEqual(await keys.distinct('_id', lasting), [next])
      assert.equal((await (await otherInstance()).current()).kid, next)
    }
    const rotating = await Promise.all(Array.from({ length: 5 }, () => otherInstance()))
    await Promise.all(rotating.map(({ rotate }) => rotate()))
    assert.equal(await keys.countDocuments(lasting), 1)
  })

  it('use the key of an earlier release that runs at the same time', async () => {
    const keys = service.db.collection<{ _id: string; expiresAt?: Date }>('auth.signing_keys')
    const { kid } = await (await otherInstance()).current()
    const { _id, ...key } = (await keys.findOne({ _id: kid })) ?? assert.fail()
    const next = `${kid}-next`
    await keys.insertOne({ ...key, _id: next, sequence: undefined } as never, {
      ignoreUndefined: true,
    })
    await keys.updateOne({ _id: kid }, { $set: { expiresAt: new Date(Date.now() + 600_000) } })
    const instance = await otherInstance()
    assert.equal((await instance.current()).kid, next)
    await instance.rotate()
    assert.equal(await keys.countDocuments({ expiresAt: { $exists: false } }), 1)
    assert.ok((await keys.findOne({ _id: next }))?.expiresAt)
  })

  it('get a new key if the old one is too old, or cannot be decrypted', async () => {
    const { kid } = await (await otherInstance()).current()
    const aged = await otherInstance({ clock: () => new Date(Date.now() + 31 * 24 * 3_600_000) })
    assert.notEqual((await aged.current()).kid, kid)
    const foreign = await otherInstance({
      encryption: createKeyEncryption('another configured key', 'signing keys'),
    })
    const { kid: next } = await foreign.current()
    assert.ok((await foreign.publicKeys()).some((key) => key.kid === next))
    await service.db.collection('auth.signing_keys').deleteOne({ _id: next as never })
  })
})

/** The signing keys in another instance of the service. */
const otherInstance = (more: Partial<SigningKeyOptions> = {}) =>
  openSigningKeys({
    db: service.db,
    encryption: createKeyEncryption(config.keyEncryptionKey, 'signing keys'),
    maxAgeDays: 30,
    tokenLifetime: 900,
    clock: () => new Date(),
    ...more,
  })

describe('refresh tokens', () => {
  it('are exchanged for a new pair in the same session', async () => {
    const person = await createPerson()
    const { status, body } = await refresh(person.refreshToken)
    assert.equal(status, 200)
    assert.notEqual(body.refreshToken, person.refreshToken)
    assert.equal(body.sessionToken, person.sessionToken)
    assert.equal(decodeJwt(body.authToken).sid, decodeJwt(person.authToken).sid)
    assert.equal(
      (await createPersonFor(body, person.email).call('GET', `/auth/account/${person.mvUid}`)).status,
      200,
    )
    assert.equal((await refresh(body.refreshToken)).status, 200)
  })

  it('return the same successor for two concurrent uses, and log nobody out', async () => {
    const person = await createPerson()
    const answers = await Promise.all(Array.from({ length: 10 }, () => refresh(person.refreshToken)))
    const next = new Set(answers.map(({ body }) => body.refreshToken))
    assert.deepEqual(
      answers.map(({ status }) => status),
      answers.map(() => 200),
    )
    assert.equal(next.size, 1)
    assert.equal((await refresh([...next][0])).status, 200)
  })

  it('end the session if used again later, since one of the two users is a thief', async () => {
    const person = await createPerson()
    const { body } = await refresh(person.refreshToken)
    await service.db
      .collection('auth.refresh_tokens')
      .updateMany({ usedAt: { $exists: true } }, { $set: { usedAt: new Date(Date.now() - 10_001) } })
    assertProblem(await refresh(person.refreshToken), 401, 'unauthenticated')
    assertProblem(await refresh(body.refreshToken), 401, 'unauthenticated')
    assertProblem(
      await createPersonFor(body, person.email).call('GET', `/auth/account/${person.mvUid}`),
      401,
      'unauthenticated',
    )
  })

  it('are refused if never issued, and end no session', async () => {
    const person = await createPerson()
    for (const token of ['x', `${person.refreshToken}x`, person.refreshToken.slice(1), '\0', '__proto__'])
      assertProblem(await refresh(token), 401, 'unauthenticated')
    assert.equal((await refresh(person.refreshToken)).status, 200)
  })

  it('cannot be read or derived from the database', async () => {
    const person = await createPerson()
    const { body } = await refresh(person.refreshToken)
    const stored = JSON.stringify(await service.db.collection('auth.refresh_tokens').find().toArray())
    for (const token of [person.refreshToken, body.refreshToken]) assert.ok(!stored.includes(token))
  })

  it('prolong the session, to at most thirty days after its start', async () => {
    const person = await createPerson()
    const sessions = service.db.collection('_Session')
    const mine = { _session_token: person.sessionToken }
    const soon = new Date(Date.now() + 60_000)
    await sessions.updateOne(mine, { $set: { expiresAt: soon } })
    const { body } = await refresh(person.refreshToken)
    assert.ok(body.refreshExpiresIn > 43_000)
    const began = new Date(Date.now() - 30 * 24 * 3_600_000 + 90_000)
    await sessions.updateOne(mine, { $set: { _created_at: began } })
    const last = await refresh(body.refreshToken)
    assert.ok(last.body.refreshExpiresIn <= 90)
  })
})
