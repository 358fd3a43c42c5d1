import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { type Db, type Document, MongoClient } from 'mongodb'
import { startFaultyMongoForBlock } from '../../harness/faulty-mongo/faulty-mongo.ts'
import { databaseUri } from '../../harness/run.ts'
import { findStartRefusal } from '../../harness/service/service.ts'
import { createDataDir, startServiceProcess, stopProcess } from '../../harness/service/service-process.ts'

type Env = NodeJS.ProcessEnv

const begin = (command: string, env: Env, ...args: string[]) =>
  spawn(process.execPath, ['dist/server/commands/audit.js', command, ...args], {
    env: { PATH: process.env.PATH, ...env },
  })

/** The output of `npm run audit`, and its exit code. */
async function audit(command: string, env: Env, ...args: string[]) {
  const child = begin(command, env, ...args)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const [code] = await once(child, 'close')
  return { code, output }
}

async function assertIntact(env: Env): Promise<void> {
  const { code, output } = await audit('verify', env)
  assert.equal(code, 0, output)
  assert.match(output, /^The audit is intact:/)
}

const keysIn = (dataDir: string): Record<string, string> =>
  JSON.parse(readFileSync(join(dataDir, 'keys.json'), 'utf8'))

/** Opens the database of the stopped service. */
async function inDatabase<T>(dataDir: string, work: (db: Db) => Promise<T>): Promise<T> {
  const engine = await startEmbeddedMongo({ dataDir: join(dataDir, 'database') })
  const client = await MongoClient.connect(engine.uri)
  try {
    return await work(client.db('health-record'))
  } finally {
    await client.close()
    await engine.stop()
  }
}

const runsOf = (db: Db) => db.collection<Document & { _id: number }>('audit.instances')
const entriesOf = (db: Db) => db.collection<Document & { _id: string }>('audit.entries')

/** The ids of the published keys, from a service that is started for this. */
async function publishedKeys(env: Env): Promise<string[]> {
  const service = await startServiceProcess(env)
  const { keys } = (await (await fetch(`${service.url}/auth/login/jwks`)).json()) as { keys: Document[] }
  await stopProcess(service)
  return keys.map(({ kid }) => kid)
}

const assertNoStart = async (env: Env, words: RegExp): Promise<void> =>
  assert.match(await findStartRefusal(env), words)

const [newAuditKey, newEncryptionKey] = ['the-second-key-of-the-audit', 'the-second-key-of-signing-keys']

describe('npm run audit -- rekey', function suite() {
  this.timeout(120_000)
  let origin: string
  let signing: string[]
  let DATA_DIR: string

  before(async () => {
    origin = createDataDir()
    signing = await publishedKeys({ DATA_DIR: origin })
  })
  beforeEach(() => {
    DATA_DIR = createDataDir()
    cpSync(origin, DATA_DIR, { recursive: true })
  })

  it('creates new keys in keys.json, and the audit verifies across the change', async () => {
    await assertIntact({ DATA_DIR })
    const former = keysIn(DATA_DIR)
    const { code, output } = await audit('rekey', { DATA_DIR })
    assert.deepEqual(
      [code, output],
      [0, 'AUDIT_KEY and KEY_ENCRYPTION_KEY changed. Start the service with the new keys.\n'],
    )
    const { auditKey, keyEncryptionKey, auditKeysBefore, ...others } = keysIn(DATA_DIR)
    assert.equal(auditKeysBefore, former.auditKey)
    assert.ok(auditKey !== former.auditKey && keyEncryptionKey !== former.keyEncryptionKey)
    assert.equal(others.applicationId, former.applicationId)
    await assertIntact({ DATA_DIR })
    assert.deepEqual(await publishedKeys({ DATA_DIR }), signing)
    await audit('rekey', { DATA_DIR })
    assert.equal(keysIn(DATA_DIR).auditKeysBefore, `${auditKey},${former.auditKey}`)
    await assertIntact({ DATA_DIR })
  })

  it('writes an audit entry with each of the keys', async () => {
    await audit('rekey', { DATA_DIR })
    await inDatabase(DATA_DIR, async (db) => {
      const entries = await entriesOf(db).find({ type: 'audit.keys' }).sort({ _id: 1 }).toArray()
      const rekeyEntries = entries.map(({ _id, action, ids }) => ({ _id, action, ids }))
      const both = { action: 'update', ids: ['AUDIT_KEY', 'KEY_ENCRYPTION_KEY'] }
      const last = ['2-0-000000000001', '3-0-000000000001']
      assert.deepEqual(
        rekeyEntries,
        last.map((_id) => ({ _id, ...both })),
      )
    })
  })

  it('changes to given keys, and tells which part needs the former one', async () => {
    const { auditKey, keyEncryptionKey } = keysIn(DATA_DIR)
    const given = { DATA_DIR, AUDIT_KEY: newAuditKey, KEY_ENCRYPTION_KEY: newEncryptionKey }
    const former = { AUDIT_KEYS_BEFORE: auditKey, KEY_ENCRYPTION_KEYS_BEFORE: keyEncryptionKey }
    const refused = await audit('rekey', given)
    assert.equal(refused.code, 2)
    assert.match(
      refused.output,
      /another AUDIT_KEY\. Set AUDIT_KEYS_BEFORE to that key[\s\S]*another KEY_ENCRYPTION_KEY/,
    )
    await assertNoStart({ ...given, ...former }, /still uses a former AUDIT_KEY.*audit rekey/)
    await assertIntact({ ...given, ...former })
    assert.equal((await audit('rekey', { ...given, ...former })).code, 0)
    assert.deepEqual(await publishedKeys(given), signing)
    await assertIntact({ ...given, ...former })
    const { code, output } = await audit('verify', given)
    assert.equal(code, 2)
    assert.match(
      output,
      /^Not verified: 1 entry of the runs 1 to 2, .*\. Set AUDIT_KEYS_BEFORE to that key\.\nThe rest of the audit is intact: 1 entry in 1 chain, from 2 runs of the service\.\n$/,
    )
    assert.match((await audit('rekey', { ...given, ...former })).output, /has these keys already/)
    await assertNoStart({ DATA_DIR }, /The auditKey in .*keys\.json is not the key/)
  })

  it('changes only the key that encrypts the signing keys, if only that one is new', async () => {
    const { keyEncryptionKey } = keysIn(DATA_DIR)
    const given = { DATA_DIR, KEY_ENCRYPTION_KEY: newEncryptionKey }
    const { output } = await audit('rekey', { ...given, KEY_ENCRYPTION_KEYS_BEFORE: keyEncryptionKey })
    assert.match(output, /^KEY_ENCRYPTION_KEY changed\./)
    assert.deepEqual(await publishedKeys(given), signing)
    await assertIntact(given)
  })

  it('continues without lost keys only if told that they are lost', async () => {
    rmSync(join(DATA_DIR, 'keys.json'))
    const refused = await audit('rekey', { DATA_DIR })
    assert.equal(refused.code, 2)
    assert.match(refused.output, /Only if the key is lost: --lost/)
    assert.deepEqual(readdirSync(DATA_DIR).includes('keys.json'), false)
    assert.equal((await audit('verify', { DATA_DIR })).code, 2)
    assert.equal((await audit('rekey', { DATA_DIR }, '--lost')).code, 0)
    const { code, output } = await audit('verify', { DATA_DIR })
    assert.equal(code, 0, output)
    assert.match(
      output,
      /^Not verified: .* of the runs 1 to 1, .* that is lost\.\nThe rest of the audit is intact:/,
    )
    const [next, ...before] = await publishedKeys({ DATA_DIR })
    assert.deepEqual(before, signing)
    assert.ok(next !== undefined && !signing.includes(next))
    await assertIntact({ DATA_DIR, AUDIT_KEYS_BEFORE: keysIn(origin).auditKey })
  })

  const manipulations: Record<string, (db: Db) => Promise<unknown>> = {
    'an entry with the former key': (db) =>
      entriesOf(db).updateOne({ _id: '2-0-000000000001' }, { $set: { userId: 'x' } }),
    'an entry with the new key': (db) =>
      entriesOf(db).updateOne({ _id: '3-0-000000000001' }, { $set: { userId: 'x' } }),
    'the mark of the key change': (db) => runsOf(db).updateOne({ _id: 3 }, { $unset: { formerKey: 1 } }),
    'the proof of the former key': (db) => runsOf(db).updateOne({ _id: 3 }, { $set: { formerKey: 'lost' } }),
    'a run before the change': (db) => runsOf(db).updateOne({ _id: 1 }, { $set: { startedAt: new Date(0) } }),
    'the place of the key change': (db) => runsOf(db).updateOne({ _id: 2 }, { $set: { formerKey: 'lost' } }),
  }
  describe('on a database whose keys were changed', () => {
    let changed: string
    before(async () => {
      changed = createDataDir()
      cpSync(origin, changed, { recursive: true })
      await audit('rekey', { DATA_DIR: changed })
    })

    for (const [what, tamper] of Object.entries(manipulations))
      it(`reveals changes of ${what}`, async () => {
        cpSync(changed, DATA_DIR, { recursive: true })
        await inDatabase(DATA_DIR, tamper)
        const { code, output } = await audit('verify', { DATA_DIR })
        assert.match(output, /BROKEN at /)
        assert.equal(code, 1)
      })
  })

  it('refuses while the service runs, and without a database', async () => {
    const service = await startServiceProcess({ DATA_DIR })
    const before = keysIn(DATA_DIR)
    const { code, output } = await audit('rekey', { DATA_DIR })
    assert.deepEqual([code, /the service is running/.test(output)], [2, true], output)
    assert.deepEqual(keysIn(DATA_DIR), before)
    await stopProcess(service)
    const empty = createDataDir()
    assert.equal((await audit('rekey', { DATA_DIR: empty })).code, 2)
    assert.deepEqual(readdirSync(empty), [])
  })

  describe('when killed halfway', () => {
    const proxy = startFaultyMongoForBlock()
    const moments: Record<string, [(command: Document) => boolean, 'before' | 'after']> = {
      'before it commits': [({ commitTransaction }) => commitTransaction === 1, 'before'],
      'when it has committed': [({ commitTransaction }) => commitTransaction === 1, 'after'],
    }
    for (const [moment, [is, cut]] of Object.entries(moments))
      it(`has changed the keys or not, and finishes when it runs again: ${moment}`, async () => {
        const name = `rekey-${moment.replaceAll(' ', '-')}`
        const service = await startServiceProcess({ MONGODB_URI: databaseUri(name) })
        await stopProcess(service)
        const { dataDir } = service
        const env = { DATA_DIR: dataDir, MONGODB_URI: databaseUri(name) }
        const { pathname } = new URL(env.MONGODB_URI)
        const child = begin('rekey', { ...env, MONGODB_URI: proxy.uri + pathname })
        proxy.findFault = (command) => {
          if (!is(command)) return undefined
          child.kill('SIGKILL')
          return { cut }
        }
        const [, signal] = await once(child, 'close')
        proxy.findFault = () => undefined
        assert.equal(signal, 'SIGKILL')
        const { auditKeysBefore } = keysIn(dataDir)
        assert.match(auditKeysBefore ?? '', /^\w{48}$/)
        await assertIntact(env)
        if (moment === 'when it has committed') await publishedKeys(env)
        else {
          await assertNoStart(env, /still uses a former AUDIT_KEY/)
          assert.equal((await audit('rekey', env)).code, 0)
        }
        assert.equal(keysIn(dataDir).auditKeysBefore, auditKeysBefore)
        await assertIntact(env)
        assert.equal((await publishedKeys(env)).length, 1)
      })
  })
})
