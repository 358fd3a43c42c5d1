import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { isPublicAddress } from '../../../server/accounts/tokens/guarded-fetch.ts'
import {
  type AssertionSigner,
  type BackendService,
  createBackendService,
  createSigner,
  credentialsForm,
} from '../../harness/people/backend-services.ts'
import { startSecondInstance } from '../../harness/service/second-instance.ts'
import { type ServiceProcess, stopProcess } from '../../harness/service/service-process.ts'

/** A certificate of localhost and its key, made for this test. */
const CERTIFICATE = resolve('test/smart/backend/localhost.pem')
const SCOPE = 'system/Patient.rs'
const MOVABLE_CLOCK = `--import ${new URL('../../server/clock/shifted-clock.js', import.meta.url)}`
/** An unknown key causes another fetch, at most once in this time. */
const FETCH_COOLDOWN_S = 30
/** A fetched key set is used for this time. */
const KEY_SET_TTL_S = 600

describe('the keys of an app at an address', function suite() {
  this.timeout(60_000)
  let server: Server
  let port: number
  let connections = 0
  const requests: string[] = []
  const pages: Record<string, RequestListener> = {}
  let instance: ServiceProcess
  let signer: AssertionSigner

  before(async () => {
    const pem = readFileSync(CERTIFICATE)
    server = createServer({ key: pem, cert: pem }, (request, response) => {
      requests.push(request.url ?? '')
      pages[request.url ?? '']?.(request, response)
    })
    server.on('connection', () => {
      connections += 1
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
    signer = await createSigner()
    instance = await startSecondInstance({
      NODE_EXTRA_CA_CERTS: CERTIFICATE,
      INTERNAL_KEY_HOSTS: 'keys.example.org,localhost',
      NODE_OPTIONS: MOVABLE_CLOCK,
    })
  })
  after(async () => {
    server.close()
    server.closeAllConnections()
    if (instance) await stopProcess(instance)
  })

  const show =
    (body: string, status = 200): RequestListener =>
    (_, response) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(body)

  const keySet = (by = signer) => JSON.stringify({ keys: [by.jwk] })

  const showChanged = (change: object) => show(JSON.stringify({ keys: [{ ...signer.jwk, ...change }] }))

  const register = (path: string) =>
    createBackendService([SCOPE], { jwksUri: `https://localhost:${port}${path}` }, signer)

  /** The seconds by which the clock of the instance is ahead. */
  let ahead = 0

  /** Asks the instance for which localhost is a host of the own network. */
  async function requestToken({ app }: BackendService, by = signer): Promise<number> {
    const form = credentialsForm(SCOPE, await by.sign(app.id, { exp: ahead + 240 }))
    const { status } = await fetch(`${instance.url}/auth/smart/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
      headers: { 'x-clock-shift-ms': String(ahead * 1000) },
    })
    return status
  }

  it('are fetched once for many assertions', async () => {
    pages['/good'] = show(keySet())
    const backend = await register('/good')
    for (let i = 0; i < 3; i++) assert.equal(await requestToken(backend), 200)
    assert.equal(requests.filter((path) => path === '/good').length, 1)
  })

  it('are fetched again for a new key, at most every 30 s, and the former key ends with that', async () => {
    const backend = await register('/rotated')
    const next = await createSigner()
    const fetched = () => requests.filter((path) => path === '/rotated').length
    pages['/rotated'] = show(keySet())
    assert.equal(await requestToken(backend), 200)
    pages['/rotated'] = show(keySet(next))
    assert.deepEqual([await requestToken(backend, next), await requestToken(backend)], [401, 200])
    assert.equal(fetched(), 1)
    ahead += FETCH_COOLDOWN_S
    assert.equal(await requestToken(backend, next), 200)
    assert.deepEqual([await requestToken(backend), await requestToken(backend, next)], [401, 200])
    assert.equal(fetched(), 2)
  })

  it('lose a key that is gone from the address after at most ten minutes', async () => {
    const backend = await register('/gone')
    const next = await createSigner()
    pages['/gone'] = show(keySet())
    assert.equal(await requestToken(backend), 200)
    pages['/gone'] = show(keySet(next))
    ahead += KEY_SET_TTL_S - 60
    assert.equal(await requestToken(backend), 200)
    ahead += 60
    assert.deepEqual([await requestToken(backend), await requestToken(backend, next)], [401, 200])
  })

  for (const [what, page] of Object.entries<() => RequestListener>({
    'an error': () => show(keySet(), 500),
    'another status than 200': () => show(keySet(), 201),
    'a redirect': () => (_, response) => response.writeHead(302, { location: '/good' }).end(),
    'no JSON': () => show('<html>'),
    'no key set': () => show('[]'),
    'a key set that is too large': () => show(keySet() + ' '.repeat(70_000)),
    'a key set without end': () => (_, response) => {
      response.write(keySet())
    },
    'a secret key': () =>
      show(JSON.stringify({ keys: [{ kty: 'oct', k: 'AAAA', kid: 'k1', alg: 'HS256' }] })),
    'an EC key beside its curve': () => showChanged({ x: 'AAAA'.repeat(16) }),
    'a key without coordinates': () => showChanged({ x: undefined }),
    'a key with a number as coordinate': () => showChanged({ x: 7 }),
    'a key of an unknown curve': () => showChanged({ crv: 'P-999' }),
    'a key of another use': () => showChanged({ key_ops: ['nonsense'], ext: 7 }),
    'no object as key': () => show('{"keys":[null,7,[]]}'),
  }))
    it(`refuse the app, not the service, when the address shows ${what}`, async () => {
      const path = `/${encodeURIComponent(what)}`
      pages[path] = page()
      assert.equal(await requestToken(await register(path)), 401)
      assert.equal(requests.filter((one) => one === path).length, 1)
    })

  it('are never fetched from hosts of the own network that the configuration does not name', async () => {
    const before = connections
    for (const host of ['localhost', '127.0.0.1', '127.1', '0x7f000001', '[::1]', '[::ffff:127.0.0.1]']) {
      const jwksUri = `https://${host}:${port}/good`
      const { requestToken: ask } = await createBackendService([SCOPE], { jwksUri }, signer)
      assert.equal((await ask(SCOPE)).status, 401, host)
    }
    assert.equal(connections, before)
  })

  it('come from public addresses only', () => {
    const publicOnes = ['1.1.1.1', '8.8.8.8', '172.32.0.1', '192.167.1.1', '2606:4700:4700::1111']
    for (const address of publicOnes) assert.ok(isPublicAddress(address), address)
    for (const address of [
      '0.0.0.0',
      '10.1.2.3',
      '100.64.0.1',
      '127.0.0.1',
      '169.254.169.254',
      '172.16.0.1',
      '172.31.255.255',
      '192.0.2.1',
      '192.168.1.1',
      '198.18.0.1',
      '203.0.113.1',
      '224.0.0.1',
      '240.0.0.1',
      '255.255.255.255',
      '::',
      '::1',
      '::ffff:8.8.8.8',
      '::ffff:10.0.0.1',
      '::ffff:0:10.0.0.1',
      '3fff::1',
      '5f00::1',
      '100:0:0:1::1',
      '64:ff9b::a00:1',
      '2001:db8::1',
      '2002:a00:1::',
      'fc00::1',
      'fd12::1',
      'fe80::1',
      'ff02::1',
      'example.org',
      '',
    ])
      assert.ok(!isPublicAddress(address), address)
  })
})
