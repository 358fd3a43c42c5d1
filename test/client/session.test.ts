import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type ClientOptions, createMemoryStore, isProblem } from 'health-record-client'
import { createPatient } from '../harness/care/patients.ts'
import { createPerson } from '../harness/people/people.ts'
import { service } from '../harness/service/service.ts'
import { waitUntil } from '../harness/wait.ts'
import { createClientOf } from './harness/client-of.ts'

const PASSWORD = 'correct horse battery staple'

/** Records the paths of the requests. */
function recordPaths(): { fetch: NonNullable<ClientOptions['fetch']>; paths: string[] } {
  const paths: string[] = []
  return {
    paths,
    fetch(url, init) {
      paths.push(new URL(url).pathname)
      return fetch(url, init)
    },
  }
}

type Send = NonNullable<ClientOptions['fetch']>

/** Holds the answers of a path back until it is told. */
function holdAnswers(path: string): { fetch: Send; isHeld: () => boolean; release: () => void } {
  let release = () => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  let isHeld = false
  return {
    isHeld: () => isHeld,
    release,
    async fetch(url, init) {
      const response = await fetch(url, init)
      if (new URL(url).pathname === path) {
        isHeld = true
        await gate
      }
      return response
    },
  }
}

/** A process that refreshes, and keeps its tokens in a file. */
const REFRESHING = `
import { readFileSync, writeFileSync } from 'node:fs'
import { createClient } from 'health-record-client'
const [url, file] = process.argv.slice(1)
const tokens = {
  load: () => JSON.parse(readFileSync(file, 'utf8')),
  save: (tokens) => writeFileSync(file, JSON.stringify(tokens ?? {})),
}
const { data } = await createClient({ url, tokens }).GET('/ehr')
console.log(data.items.length)
`

describe('the session of the client', () => {
  it('is renewed once for all calls that wait', async () => {
    const { refreshToken } = await createPatient()
    const { fetch, paths } = recordPaths()
    const client = createClientOf({ authToken: 'expired', refreshToken }, { fetch })
    const answers = await Promise.all(Array.from({ length: 5 }, () => client.GET('/ehr')))
    assert.deepEqual(
      answers.map(({ data }) => data.items.length),
      [1, 1, 1, 1, 1],
    )
    assert.equal(paths.filter((path) => path === '/auth/login/token').length, 1)
    assert.equal(paths.filter((path) => path === '/ehr').length, 10)
  })

  it('is renewed, and creates records, where there is no crypto.randomUUID, as on pages without https', async () => {
    const { refreshToken } = await createPatient()
    Object.assign(crypto, { randomUUID: undefined })
    try {
      const client = createClientOf({ authToken: 'expired', refreshToken })
      const { data } = await client.POST('/ehr', { body: {}, params: { header: {} } })
      assert.ok(data.id)
    } finally {
      Reflect.deleteProperty(crypto, 'randomUUID')
    }
  })

  it('survives two processes that refresh at once', async () => {
    const { refreshToken } = await createPatient()
    const file = join(mkdtempSync(join(tmpdir(), 'tokens-')), 'tokens.json')
    writeFileSync(file, JSON.stringify({ authToken: 'expired', refreshToken }))
    const args = ['--input-type=module', '--eval', REFRESHING, service.url, file]
    const start = () => promisify(execFile)(process.execPath, args)
    const outputs = await Promise.all([start(), start()])
    assert.deepEqual(
      outputs.map(({ stdout }) => stdout.trim()),
      ['1', '1'],
    )
    const tokens = JSON.parse(readFileSync(file, 'utf8'))
    assert.notEqual(tokens.refreshToken, refreshToken)
    assert.equal((await createClientOf(tokens).GET('/ehr')).data.items.length, 1)
  })

  it('takes the tokens of another tab that was faster', async () => {
    const patient = await createPatient()
    const store = createMemoryStore({ authToken: 'expired', refreshToken: 'used' })
    const client = createClientOf(patient, {
      tokens: store,
      async fetch(url, init) {
        if (url.endsWith('/auth/login/token')) await store.save(patient)
        return fetch(url, init)
      },
    })
    assert.equal((await client.GET('/ehr')).data.items.length, 1)
  })

  it('is forgotten when the service has ended it', async () => {
    const person = await createPerson()
    await createClientOf(person).logOut()
    const tokens = createMemoryStore(person)
    const client = createClientOf(person, { tokens })
    await assert.rejects(client.GET('/ehr'), (problem) => isProblem(problem, 'unauthenticated'))
    assert.equal(await tokens.load(), undefined)
    assert.equal(await client.resume(), false)
  })

  it('is not lost in an outage', async () => {
    const { refreshToken } = await createPatient()
    const tokens = createMemoryStore({ authToken: 'expired', refreshToken })
    let isDown = true
    const client = createClientOf(
      { authToken: '', refreshToken },
      {
        tokens,
        retry: { attempts: 1 },
        async fetch(url, init) {
          if (isDown && url.endsWith('/auth/login/token')) throw new TypeError('fetch failed')
          return fetch(url, init)
        },
      },
    )
    await assert.rejects(client.GET('/ehr'), (problem) => isProblem(problem, 'network-error'))
    isDown = false
    assert.equal((await client.GET('/ehr')).data.items.length, 1)
  })

  it('renews with the same key until it has an answer', async () => {
    const { refreshToken } = await createPatient()
    const tokens = createMemoryStore({ authToken: 'expired', refreshToken })
    const keys: (string | null)[] = []
    let isDown = true
    const client = createClientOf(
      { authToken: '', refreshToken },
      {
        tokens,
        retry: { attempts: 1 },
        async fetch(url, init) {
          const response = await fetch(url, init)
          if (!url.endsWith('/auth/login/token')) return response
          keys.push(new Headers(init.headers).get('idempotency-key'))
          if (isDown) throw new TypeError('fetch failed')
          return response
        },
      },
    )
    await assert.rejects(client.GET('/ehr'), (problem) => isProblem(problem, 'network-error'))
    isDown = false
    assert.equal((await client.GET('/ehr')).data.items.length, 1)
    assert.deepEqual([keys.length, keys[1]], [3, keys[0]])
    assert.notEqual(keys[2], keys[0], 'the token of the late answer may have expired')
  })

  it('is that of a new login, though a renewal of the former one ends later', async () => {
    const [former, next] = [await createPatient(), await createPatient()]
    const tokens = createMemoryStore({ ...former, authToken: 'expired' })
    const { fetch, isHeld, release } = holdAnswers('/auth/login/token')
    const client = createClientOf(former, { tokens, fetch })
    const formerCall = client.GET('/ehr')
    await waitUntil(isHeld)
    const { authToken } = await client.logIn({ email: next.email, password: PASSWORD })
    release()
    await assert.rejects(formerCall, (problem) => isProblem(problem, 'unauthenticated'))
    assert.equal((await tokens.load())?.authToken, authToken)
    assert.equal((await client.GET('/ehr')).data.items[0]?.id, next.ehrId)
  })

  it('stays ended, though a renewal ends later', async () => {
    const patient = await createPatient()
    const tokens = createMemoryStore({ ...patient, authToken: 'expired' })
    const { fetch, isHeld, release } = holdAnswers('/auth/login/token')
    const client = createClientOf(patient, {
      tokens,
      async fetch(url, init) {
        if (url.endsWith('/auth/logout')) throw new TypeError('fetch failed')
        return fetch(url, init)
      },
      retry: { attempts: 1 },
    })
    const call = client.GET('/ehr')
    await waitUntil(isHeld)
    await assert.rejects(client.logOut(), (problem) => isProblem(problem, 'network-error'))
    release()
    await assert.rejects(call, (problem) => isProblem(problem, 'unauthenticated'))
    assert.equal(await tokens.load(), undefined)
  })

  it('sends no call again as somebody else', async () => {
    const [former, next] = [await createPatient(), await createPatient()]
    const add = (client: ReturnType<typeof createClientOf>) =>
      client.carePlan.add(next.ehrId, { name: 'Plan' })
    const { fetch, isHeld, release } = holdAnswers(`/ehr/${next.ehrId}/careplan`)
    const client = createClientOf({ ...former, authToken: 'expired' }, { fetch })
    const call = add(client)
    await waitUntil(isHeld)
    await client.logIn({ email: next.email, password: PASSWORD })
    release()
    await assert.rejects(call, (problem) => isProblem(problem, 'unauthenticated'))

    await createClientOf(former).logOut()
    const tokens = createMemoryStore(former)
    const otherTab = createClientOf(former, {
      tokens,
      async fetch(url, init) {
        if (url.endsWith('/auth/login/token')) await tokens.save(next)
        return globalThis.fetch(url, init)
      },
    })
    await assert.rejects(add(otherTab), (problem) => isProblem(problem, 'unauthenticated'))
    assert.deepEqual(await tokens.load(), next, 'the session of the other tab goes on')
  })

  it('resumes only if the service renews it', async () => {
    const dead = createMemoryStore({ authToken: 'dead', refreshToken: 'dead' })
    assert.equal(await createClientOf({ authToken: '', refreshToken: '' }, { tokens: dead }).resume(), false)
    assert.equal(await dead.load(), undefined)
    const { fetch, paths } = recordPaths()
    const client = createClientOf(await createPatient(), { fetch })
    assert.equal(await client.resume(), true)
    await client.GET('/ehr')
    assert.deepEqual(paths, ['/auth/login/token', '/ehr'])
  })

  it('sends the cookie of the service from another origin', async () => {
    const { email } = await createPerson()
    const modes: unknown[] = []
    const fetch: Send = async (url, init) => {
      modes.push(init.credentials)
      return globalThis.fetch(url, init)
    }
    const client = createClientOf({ authToken: '', refreshToken: '' }, { fetch, refreshByCookie: true })
    const { refreshToken } = await client.logIn({ email, password: PASSWORD })
    assert.equal(refreshToken, undefined)
    // This client has no cookies.
    assert.equal(await client.resume(), false)
    assert.deepEqual(modes, ['include', 'include'])
  })

  it('asks for the password only at the login', async () => {
    const { fetch, paths } = recordPaths()
    const { email } = await createPerson()
    const client = createClientOf({ authToken: '', refreshToken: '' }, { fetch, tokens: createMemoryStore() })
    await assert.rejects(client.logIn({ email, password: 'not the password' }), (problem) =>
      isProblem(problem, 'invalid-credentials'),
    )
    assert.deepEqual(paths, ['/auth/login/password'])
  })
})
