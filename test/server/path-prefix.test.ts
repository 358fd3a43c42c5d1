import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import { WebSocket } from 'ws'
import { followLink } from '../harness/mail/mail.ts'
import { waitForMailIn } from '../harness/mail/outbox.ts'
import { freePort } from '../harness/service/port.ts'
import {
  apiKeysOf,
  type ServiceProcess,
  startServiceProcess,
  stopProcess,
} from '../harness/service/service-process.ts'
import { waitUntil } from '../harness/wait.ts'

/** A path that is also the beginning of paths of the service. */
const PREFIX = '/health'
const PUBLIC_URL = `https://records.example.org${PREFIX}`

const ADDRESS = { email: 'ann@example.org', password: 'a long password' }

/** An example of docs/operating.md, for this prefix and these ports, without TLS. */
function exampleOf(language: string, listen: string, service: string): string {
  const [, example = ''] =
    new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, 'm').exec(
      readFileSync('docs/operating.md', 'utf8'),
    ) ?? []
  assert.ok(example.includes('127.0.0.1:1337'), `docs/operating.md has an example for ${language}`)
  return example
    .replaceAll('/records', PREFIX)
    .replace('127.0.0.1:1337', new URL(service).host)
    .replace(/ssl_certificate.*\n/g, '')
    .replace('listen 443 ssl', `listen ${listen}`)
    .replace(/^health\.example\.org \{/m, `http://${listen} {`)
}

/** Writes the configuration of a proxy that keeps the prefix on one address and removes it on the other. */
type Configure = (directory: string, keeps: string, removes: string, service: string) => string[]

const configureNginx: Configure = (directory, keeps, removes, service) => {
  const kept = exampleOf('nginx', keeps, service)
  const removed = exampleOf('nginx', removes, service)
    .replace(/(proxy_pass [^;]+);/, '$1/;')
    .replace(/^map [\s\S]*?^\}/m, '')
  assert.notEqual(removed, kept)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${directory}/${name};`,
  )
  const file = join(directory, 'nginx.conf')
  writeFileSync(
    file,
    `daemon off; master_process off; pid ${directory}/pid; error_log stderr;
events {}
http { access_log off; ${temporary.join(' ')}
${kept}${removed}}`,
  )
  return ['-p', directory, '-e', 'stderr', '-c', file]
}

const configureCaddy: Configure = (directory, keeps, removes, service) => {
  const kept = exampleOf('caddyfile', keeps, service)
  const removed = exampleOf('caddyfile', removes, service).replace(/handle (\S+\/\*)/, 'handle_path $1')
  assert.match(removed, /handle_path/)
  const file = join(directory, 'Caddyfile')
  writeFileSync(file, `{\n  admin off\n}\n${kept}${removed}`)
  return ['run', '--config', file, '--adapter', 'caddyfile']
}

const PROXIES = [
  { name: 'nginx', file: '/usr/sbin/nginx', configure: configureNginx },
  { name: 'Caddy', file: '/usr/bin/caddy', configure: configureCaddy },
]

describe('a service whose PUBLIC_URL has a path', function suite() {
  this.timeout(60_000)
  let service: ServiceProcess
  let session = { authToken: '', sessionToken: '', ehrId: '' }

  before(async () => {
    service = await startServiceProcess({ PUBLIC_URL, TRUST_PROXY: 'loopback', ADDRESS_RATE: '5000' })
    const client = createClient(service.url)
    const registered = { ...ADDRESS, termsAccepted: true }
    assert.equal((await client.post('/auth/account/register/password', registered)).status, 202)
    const { link } = await waitForMailIn(service.dataDir, ADDRESS.email)
    assert.ok(link.startsWith(`${PUBLIC_URL}/auth/`), link)
    await followLink(link.replace(PUBLIC_URL, service.url + PREFIX))
    session = await client.logIn()
  })
  after(() => stopProcess(service))

  /** A client that knows the service at one address. */
  function createClient(base: string) {
    const headers = () => ({ authorization: `Bearer ${session.authToken}` })
    const keys = () => ({ ...apiKeysOf(service), 'X-Parse-Session-Token': session.sessionToken })
    const send = (method: string, url: string | URL, body: object, more: Record<string, string>) =>
      fetch(url, {
        method,
        headers: { 'content-type': 'application/json', ...more },
        body: JSON.stringify(body),
      })
    const post = (path: string, body: object, more: Record<string, string> = {}) =>
      send('POST', base + path, body, more)
    return {
      post: (path: string, body: object) => post(path, body, headers()),
      send: (method: string, path: string) =>
        fetch(base + path, { method: method.toUpperCase(), headers: { ...headers(), ...keys() } }),
      put: (path: string, body: object) => send('PUT', new URL(path, `${base}/`), body, headers()),
      get: (path: string) => fetch(base + path, { headers: headers() }),
      /** Resolves a path of an answer as clients do. */
      follow: (path: string) => fetch(new URL(path, `${base}/`), { headers: headers() }),
      create: (body: object) => post(`/ehr/${session.ehrId}/careplan`, body, headers()),
      postObject: (path: string, body: object) => post(`/1${path}`, body, keys()),
      postFunction: (name: string, body: object) => post(`/functions/${name}`, body, keys()),
      async logIn() {
        const answer = await post('/auth/login/password', ADDRESS)
        assert.equal(answer.status, 200)
        const grant = (await answer.json()) as { authToken: string; sessionToken: string }
        const { ehrId } = (await (
          await post('/1/login', { username: ADDRESS.email, password: ADDRESS.password }, apiKeysOf(service))
        ).json()) as { ehrId: string }
        return { ...grant, ehrId }
      },
    }
  }

  /** Everything that leads from one answer to the next request. */
  async function assertWorksAt(base: string): Promise<void> {
    const client = createClient(base)
    const page = await (await fetch(`${base}/`)).text()
    assert.ok(page.includes(`${PUBLIC_URL}</td>`) && page.includes(`${PUBLIC_URL}/1</td>`))
    const links = [...page.matchAll(/href="([^"]+)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'))
    assert.equal(links.length, 4)
    for (const href of links) {
      const path = href.startsWith(PUBLIC_URL) ? PREFIX + href.slice(PUBLIC_URL.length) : href
      assert.ok(path.startsWith(`${PREFIX}/`), path)
      assert.equal((await client.follow(path)).status, 200, href)
    }
    await assertDocumented(client)
    await assertServesEveryRoot(client)
    await assertObjectsHaveLocations(client)
    await assertPageLogsIn(base)
    await assertSocketOpens(base)
    assert.deepEqual(
      [(await client.get('/health/ready')).status, (await client.get('/nowhere')).status],
      [200, 404],
    )
  }

  type Client = ReturnType<typeof createClient>

  /** Asks for one operation of every root of the OpenAPI document. */
  async function assertServesEveryRoot(client: Client): Promise<void> {
    const { paths } = (await (await client.get('/openapi.json')).json()) as { paths: Record<string, object> }
    const rootOf = (path: string) => path.split('/')[1]
    const firstOfEachRoot = new Map(
      Object.keys(paths)
        .reverse()
        .map((path) => [rootOf(path), path]),
    )
    assert.ok(firstOfEachRoot.size > 10 && firstOfEachRoot.has('functions'))
    const operations = [...firstOfEachRoot.values()].map((path) => ({
      method: Object.keys(paths[path] ?? {})[0] ?? '',
      path: path.replace(/\{\w+\}/g, 'x'),
    }))
    for (const { method, path } of [...operations, { method: 'post', path: '/login' }]) {
      const text = await (await client.send(method, path)).text()
      assert.doesNotMatch(
        text,
        /There is no operation at this path|Route not allowed|This endpoint does not exist/,
        path,
      )
    }
    const calculation = await client.postFunction('bmi', {
      weight: 70,
      weightUnit: 'kg',
      height: 175,
      heightUnit: 'cm',
    })
    assert.equal(calculation.status, 200, await calculation.text())
  }

  async function assertDocumented(client: Client): Promise<void> {
    const page = await (await client.get('/docs')).text()
    const files = [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path = '']) => path)
    assert.equal(files.length, 5)
    for (const path of files) assert.equal((await client.follow(path)).status, 200, path)
    const script = await (await client.follow(files.at(-1) ?? '')).text()
    const [, address = ''] = /url: '([^']+)'/.exec(script) ?? []
    const { servers } = (await (await client.follow(address)).json()) as { servers: { url: string }[] }
    assert.deepEqual(servers, [{ url: PREFIX }])
    const { keys } = (await (await client.get('/auth/login/jwks')).json()) as { keys: object[] }
    assert.equal(keys.length, 1)
    assert.equal(decodeJwt(session.authToken).iss, PUBLIC_URL)
  }

  async function assertObjectsHaveLocations(client: Client): Promise<void> {
    const answer = await client.create({ name: 'Walk more' })
    const location = answer.headers.get('location') ?? ''
    assert.ok(answer.status === 201 && location.startsWith(`${PREFIX}/ehr/`), `${answer.status} ${location}`)
    assert.equal((await client.follow(location)).status, 200)
    await client.create({ name: 'Eat less salt' })
    await assertBodiesHaveRootedPaths(client, `/ehr/${session.ehrId}`, location)
    const firstPage = await client.get(`/ehr/${session.ehrId}/careplan?limit=1`)
    const [, next = ''] = /<([^>]+)>; rel="next"/.exec(firstPage.headers.get('link') ?? '') ?? []
    assert.ok(next.startsWith(`${PREFIX}/ehr/`), next)
    assert.equal((await client.follow(next)).status, 200)

    const missing = await client.get('/ehr/nobody1234/careplan')
    const { type, instance } = (await missing.json()) as { type: string; instance: string }
    assert.equal(instance, `${PREFIX}/ehr/nobody1234/careplan`)
    assert.equal((await client.follow(type)).status, 200)

    const object = { ehrId: session.ehrId, name: 'Sleep more' }
    const stored = await client.postObject('/classes/CarePlan', object)
    assert.match(
      stored.headers.get('location') ?? '',
      new RegExp(`^${PUBLIC_URL}/1/classes/CarePlan/\\w{10}$`),
    )
    for (const path of [`${PREFIX}/1/classes/CarePlan`, '/1/classes/CarePlan']) {
      const batch = await client.postObject('/batch', { requests: [{ method: 'POST', path, body: object }] })
      const [{ success }] = (await batch.json()) as [{ success?: { objectId: string } }]
      assert.match(success?.objectId ?? '', /^\w{10}$/)
    }
  }

  /** Follows every path that a body contains. */
  async function assertBodiesHaveRootedPaths(client: Client, ehr: string, plan: string): Promise<void> {
    const carePlanId = plan.split('/').at(-1)
    const weight = { carePlanId, timestamp: '2026-03-01T08:30:00Z', weight: 70, weightUnit: 'kg' }
    const added = await client.post(`${ehr}/procedure/bodyweight`, weight)
    const { links } = await assertPathsLead(client, added)
    assert.equal(links.carePlan, plan)
    const { items } = await assertPathsLead(
      client,
      await client.post(`${ehr}/procedure/batch`, { items: [{ ...weight, kind: 'bodyweight' }] }),
    )
    assert.ok(items[0].href.startsWith(`${PREFIX}/ehr/`))
    const { events } = await assertPathsLead(client, await client.get(`${ehr}/summary/timeline`))
    assert.ok(events.length > 0)
    await assertPathsLead(client, await client.get(`${ehr}/summary/medgraph`))
    const wizard = await (await client.get('/ehr/procedure/dsmq/dsmq.wizard.json')).text()
    assert.ok(wizard.includes(`"hrefTemplate":"${PREFIX}/ehr/{ehrId}/procedure/dsmq"`))
    const changed = { ...JSON.parse(await (await client.follow(links.self)).text()), weight: 71 }
    assert.equal((await client.put(links.self, changed)).status, 200)
  }

  /** Returns the body of an answer whose paths all lead somewhere. */
  // biome-ignore lint/suspicious/noExplicitAny: bodies of many operations
  async function assertPathsLead(client: Client, answer: Response): Promise<any> {
    const text = await answer.text()
    assert.ok(answer.ok, text)
    const paths = [...text.matchAll(/"(?:href|self|collection|history|carePlan|graph|timeline)":"([^"]*)"/g)]
    assert.ok(paths.length > 0, text)
    for (const [, path = ''] of paths) assert.equal((await client.follow(path)).status, 200, path)
    return JSON.parse(text)
  }

  async function assertPageLogsIn(base: string): Promise<void> {
    const page = `${base}/ehr/audit`
    const [, action = ''] = /<form[^>]*action="([^"]+)"/.exec(await (await fetch(page)).text()) ?? []
    const loginRequest = { method: 'POST', body: new URLSearchParams(ADDRESS), redirect: 'manual' } as const
    const loggedIn = await fetch(new URL(action, page), loginRequest)
    assert.equal(loggedIn.status, 303)
    const cookie = loggedIn.headers.get('set-cookie') ?? ''
    assert.ok(cookie.includes(`; Path=${PREFIX};`), cookie)
    const audit = await fetch(new URL(loggedIn.headers.get('location') ?? '', page), {
      headers: { cookie: cookie.split(';')[0] ?? '' },
    })
    assert.match(await audit.text(), /action="audit-leave"/)
  }

  async function assertSocketOpens(base: string): Promise<void> {
    for (const path of ['/1', '/']) {
      const socket = new WebSocket(base.replace(/^http/, 'ws') + path)
      await once(socket, 'open')
      socket.terminate()
    }
  }

  it('answers with and without the path', async () => {
    await assertWorksAt(service.url + PREFIX)
    await assertWorksAt(service.url)
    assert.equal((await fetch(service.url + PREFIX)).status, 200)
  })

  it('names the path in refusals of malformed requests, and counts requests by their route', async () => {
    const raw = await fetch(`${service.url}${PREFIX}/ehr/%zz/careplan`, {
      headers: { authorization: `Bearer ${session.authToken}` },
    })
    const { type } = (await raw.json()) as { type: string }
    assert.deepEqual([raw.status, type], [400, `${PREFIX}/problems/malformed-request`])
    const answer = await fetch(`${service.url}/metrics`)
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    const metrics = await answer.text()
    assert.match(metrics, /route="\/1\/classes\/CarePlan"/)
    assert.doesNotMatch(metrics, /route="\/health\/(1|ehr)/)
  })

  it('serves the metrics at exactly /metrics', async () => {
    for (const path of ['/metrics/', '/METRICS', '/metric%73', '//metrics', `${PREFIX}/metrics`])
      assert.equal((await fetch(service.url + path)).status, 404, path)
  })

  for (const { name, file, configure } of PROXIES)
    describe(`behind ${name}, as docs/operating.md configures it`, () => {
      let proxy: ChildProcess | undefined
      let keeps: string
      let removes: string

      before(async function start() {
        if (!existsSync(file)) {
          process.stderr.write(`${name} is not installed (${file}): its tests are skipped\n`)
          return this.skip()
        }
        const directory = mkdtempSync(join(tmpdir(), 'proxy-'))
        ;[keeps, removes] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
        const env = { PATH: process.env.PATH, HOME: directory }
        const child = spawn(file, configure(directory, keeps, removes, service.url), { env, stdio: 'pipe' })
        let errorOutput = ''
        child.stderr.on('data', (text) => {
          errorOutput += text
        })
        proxy = child
        await waitUntil(async () => {
          assert.equal(child.exitCode, null, errorOutput)
          return fetch(`http://${removes}/`).then(
            () => true,
            () => false,
          )
        })
      })
      after(async () => {
        if (proxy && proxy.exitCode === null) {
          proxy.kill()
          await once(proxy, 'exit')
        }
      })

      it('works when the proxy keeps the path', () => assertWorksAt(`http://${keeps}${PREFIX}`))

      it('works when the proxy removes the path', () => assertWorksAt(`http://${removes}${PREFIX}`))

      it('leads from the path without a slash to the start page, and hides /metrics', async () => {
        for (const address of [keeps, removes]) {
          assert.match(await (await fetch(`http://${address}${PREFIX}`)).text(), /<h1>/)
          for (const path of [
            '/metrics',
            '/metrics/',
            '/METRICS',
            '/metric%73',
            `${PREFIX}/metrics`,
            '//metrics',
          ])
            assert.equal((await fetch(`http://${address}${PREFIX}${path}`)).status, 404, path)
        }
      })
    })
})
