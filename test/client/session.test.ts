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
import { createClientOf } from './client-of.ts'

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
