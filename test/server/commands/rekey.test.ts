import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { startEmbeddedMongo, withDatabase } from '@health-record-service/embedded-mongo'
import { type Db, type Document, MongoClient } from 'mongodb'
import { runAuditCommand } from '../../../server/commands/audit.ts'
import { startFaultyMongoForBlock } from '../../harness/faulty-mongo/faulty-mongo.ts'
import { type CommandResult, runCommand, runCommandProcess } from '../../harness/in-process/run-command.ts'
import { startWithKeys } from '../../harness/in-process/start-with-keys.ts'
import { databaseUri } from '../../harness/run.ts'
import { findStartRefusal } from '../../harness/service/service.ts'
import { createDataDir, startServiceProcess, stopProcess } from '../../harness/service/service-process.ts'

type Env = NodeJS.ProcessEnv

/** The output of `npm run audit`, and its exit code. */
const audit = (command: string, env: Env, ...args: string[]) =>
  runCommand(runAuditCommand, [command, ...args], env)

async function assertIntact(env: Env): Promise<void> {
  const { code, stdout, output } = await audit('verify', env)
  assert.equal(code, 0, output)
  assert.match(stdout, /^The audit is intact:/)
}

const keysIn = (dataDir: string): Record<string, string> =>
  JSON.parse(readFileSync(join(dataDir, 'keys.json'), 'utf8'))

/** All documents of a database by collection, with the exact types of their numbers. */
type Snapshot = [collection: string, documents: Document[]][]

async function useDatabase<T>(uri: string, work: (db: Db) => Promise<T>): Promise<T> {
  const client = await MongoClient.connect(uri, { promoteValues: false })
  try {
    return await work(client.db())
  } finally {
    await client.close()
  }
}

const readSnapshot = (db: Db): Promise<Snapshot> =>
  db
    .collections()
    .then((collections) =>
      Promise.all(collections.map(async (one) => [one.collectionName, await one.find().toArray()])),
    )

const writeSnapshot = (db: Db, snapshot: Snapshot): Promise<unknown> =>
  Promise.all(
    snapshot.map(([name, documents]) => documents.length > 0 && db.collection(name).insertMany(documents)),
  )

const runsOf = (db: Db) => db.collection<Document & { _id: number }>('audit.instances')
const entriesOf = (db: Db) => db.collection<Document & { _id: string }>('audit.entries')

const assertNoStart = async (env: Env, words: RegExp): Promise<void> =>
  assert.match(await findStartRefusal(env), words)

const newAuditKey = 'the-second-key-of-the-audit'
const newEncryptionKey = 'the-second-key-of-signing-keys'

describe('npm run audit -- rekey', function suite() {
  this.timeout(120_000)
  /** Where a service has run once, and its database. */
  let origin: string
  let snapshot: Snapshot
  let signing: string[]
  let databases = 0
  let besideService: CommandResult & { keysBefore: object; keysAfter: object }

  before(async () => {
    const service = await startServiceProcess()
    origin = service.dataDir
    const answer = await fetch(`${service.url}/auth/login/jwks`)
    signing = ((await answer.json()) as { keys: Document[] }).keys.map(({ kid }) => kid)
    const keysBefore = keysIn(origin)
    besideService = { ...(await audit('rekey', { DATA_DIR: origin })), keysBefore, keysAfter: keysIn(origin) }
    await stopProcess(service)
    const engine = await startEmbeddedMongo({ dataDir: join(origin, 'database') })
    snapshot = await useDatabase(withDatabase(engine.uri, 'health-record'), readSnapshot)
    await engine.stop()
  })

  /** Copies the database into the shared one, and its keys into a new directory. */
  async function copyOrigin(keysFrom = origin, contents = snapshot) {
    const DATA_DIR = createDataDir()
    copyFileSync(join(keysFrom, 'keys.json'), join(DATA_DIR, 'keys.json'))
    const MONGODB_URI = databaseUri(`rekey-${databases++}`)
    await useDatabase(MONGODB_URI, (db) => writeSnapshot(db, contents))
    return { DATA_DIR, MONGODB_URI }
  }

  it('creates new keys in keys.json, and the audit verifies across the change', async () => {
    const DATA_DIR = createDataDir()
    cpSync(origin, DATA_DIR, { recursive: true })
    await assertIntact({ DATA_DIR })
    const former = keysIn(DATA_DIR)
    const { code, output } = await runCommandProcess(['audit', 'rekey'], { DATA_DIR })
    assert.deepEqual(
      [code, output],
      [0, 'AUDIT_KEY and KEY_ENCRYPTION_KEY changed. Start the service with the new keys.\n'],
    )
    const { auditKey, keyEncryptionKey, auditKeysBefore, ...others } = keysIn(DATA_DIR)
    assert.equal(auditKeysBefore, former.auditKey)
    assert.ok(auditKey !== former.auditKey && keyEncryptionKey !== former.keyEncryptionKey)
    assert.equal(others.applicationId, former.applicationId)
    await assertIntact({ DATA_DIR })
    assert.deepEqual(await startWithKeys({ DATA_DIR }), signing)
    await audit('rekey', { DATA_DIR })
    assert.equal(keysIn(DATA_DIR).auditKeysBefore, `${auditKey},${former.auditKey}`)
    await assertIntact({ DATA_DIR })
  })

  it('writes an audit entry with each of the keys', async () => {
    const env = await copyOrigin()
    await audit('rekey', env)
    await useDatabase(env.MONGODB_URI, async (db) => {
      const entries = await entriesOf(db).find({ type: 'audit.keys' }).sort({ _id: 1 }).toArray()
      const rekeyEntries = entries.map(({ _id, action, ids }) => ({ _id, action, ids }))
      const entry = { action: 'update', ids: ['AUDIT_KEY', 'KEY_ENCRYPTION_KEY'] }
      const last = ['2-0-000000000001', '3-0-000000000001']
      assert.deepEqual(
        rekeyEntries,
        last.map((_id) => ({ _id, ...entry })),
      )
    })
  })

  it('changes to given keys, and names the part that needs the former one', async () => {
    const env = await copyOrigin()
    const { auditKey, keyEncryptionKey } = keysIn(env.DATA_DIR)
    const newEnvironment = { ...env, AUDIT_KEY: newAuditKey, KEY_ENCRYPTION_KEY: newEncryptionKey }
    const former = { AUDIT_KEYS_BEFORE: auditKey, KEY_ENCRYPTION_KEYS_BEFORE: keyEncryptionKey }
    const refusal = await audit('rekey', newEnvironment)
    assert.equal(refusal.code, 2)
    assert.match(
      refusal.output,
      /another AUDIT_KEY\. Set AUDIT_KEYS_BEFORE to that key[\s\S]*another KEY_ENCRYPTION_KEY/,
    )
    await assertNoStart({ ...newEnvironment, ...former }, /still uses a former AUDIT_KEY.*audit rekey/)
    await assertIntact({ ...newEnvironment, ...former })
    assert.equal((await audit('rekey', { ...newEnvironment, ...former })).code, 0)
    assert.deepEqual(await startWithKeys(newEnvironment), signing)
    await assertIntact({ ...newEnvironment, ...former })
    const { code, stdout } = await audit('verify', newEnvironment)
    assert.equal(code, 2)
    assert.match(
      stdout,
      /^Not verified: 1 entry of the runs 1 to 2, .*\. Set AUDIT_KEYS_BEFORE to that key\.\nThe rest of the audit is intact: 1 entry in 1 chain, from 2 runs of the service and its commands\.\n$/,
    )
    assert.match((await audit('rekey', { ...newEnvironment, ...former })).output, /has these keys already/)
    await assertNoStart(env, /The auditKey in .*keys\.json is not the key/)
  })

  it('changes only the key that encrypts the signing keys, if only that one is new', async () => {
    const env = await copyOrigin()
    const { keyEncryptionKey } = keysIn(env.DATA_DIR)
    const newEnvironment = { ...env, KEY_ENCRYPTION_KEY: newEncryptionKey }
    const { output } = await audit('rekey', {
      ...newEnvironment,
      KEY_ENCRYPTION_KEYS_BEFORE: keyEncryptionKey,
    })
    assert.match(output, /^KEY_ENCRYPTION_KEY changed\./m)
    assert.deepEqual(await startWithKeys(newEnvironment), signing)
    await assertIntact(newEnvironment)
  })

  it('continues without lost keys only if told that they are lost', async () => {
    const env = await copyOrigin()
    const { DATA_DIR } = env
    rmSync(join(DATA_DIR, 'keys.json'))
    const refusal = await audit('rekey', env)
    assert.equal(refusal.code, 2)
    assert.match(refusal.output, /Only if the key is lost: --lost/)
    assert.deepEqual(readdirSync(DATA_DIR).includes('keys.json'), false)
    assert.equal((await audit('verify', env)).code, 2)
    const change = await audit('rekey', env, '--lost')
    assert.equal(change.code, 0)
    assert.match(
      change.stdout,
      /keys\.json did not have APPLICATION_ID, .*REST_API_KEY.*: they are new, too\. Set those with which your apps/,
    )
    const { code, stdout, output } = await audit('verify', env)
    assert.equal(code, 0, output)
    assert.match(
      stdout,
      /^Not verified: .* of the runs 1 to 1, .* that is lost\.\nThe rest of the audit is intact:/,
    )
    const [next, ...before] = await startWithKeys(env)
    assert.deepEqual(before, signing)
    assert.ok(next !== undefined && !signing.includes(next))
    await assertIntact({ ...env, AUDIT_KEYS_BEFORE: keysIn(origin).auditKey })
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
    let changedSnapshot: Snapshot
    before(async () => {
      const { DATA_DIR, MONGODB_URI } = await copyOrigin()
      await audit('rekey', { DATA_DIR, MONGODB_URI })
      changed = DATA_DIR
      changedSnapshot = await useDatabase(MONGODB_URI, readSnapshot)
    })

    for (const [what, tamper] of Object.entries(manipulations))
      it(`reveals changes of ${what}`, async () => {
        const env = await copyOrigin(changed, changedSnapshot)
        await useDatabase(env.MONGODB_URI, tamper)
        const { code, output } = await audit('verify', env)
        assert.match(output, /BROKEN at /)
        assert.equal(code, 1)
      })
  })

  it('refuses while the service runs, and without a database', async () => {
    const { code, output, keysBefore, keysAfter } = besideService
    assert.deepEqual([code, /the service is running/.test(output)], [2, true], output)
    assert.deepEqual(keysAfter, keysBefore)
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
        const env = await copyOrigin()
        const { pathname } = new URL(env.MONGODB_URI)
        const child = spawn(process.execPath, ['bin/health-record-service.mjs', 'audit', 'rekey'], {
          env: { PATH: process.env.PATH, ...env, MONGODB_URI: proxy.uri + pathname },
        })
        proxy.findFault = (command) => {
          if (!is(command)) return undefined
          child.kill('SIGKILL')
          return { cut }
        }
        const [, signal] = await once(child, 'close')
        proxy.findFault = () => undefined
        assert.equal(signal, 'SIGKILL')
        const { auditKeysBefore } = keysIn(env.DATA_DIR)
        assert.match(auditKeysBefore ?? '', /^\w{48}$/)
        await assertIntact(env)
        if (moment === 'when it has committed') await startWithKeys(env)
        else {
          await assertNoStart(env, /still uses a former AUDIT_KEY/)
          assert.equal((await audit('rekey', env)).code, 0)
        }
        assert.equal(keysIn(env.DATA_DIR).auditKeysBefore, auditKeysBefore)
        await assertIntact(env)
        assert.equal((await startWithKeys(env)).length, 1)
      })
  })
})
