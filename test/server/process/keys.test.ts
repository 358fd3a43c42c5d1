import assert from 'node:assert/strict'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { startWithKeys } from '../../harness/in-process/start-with-keys.ts'
import { databaseUri } from '../../harness/run.ts'
import { findStartRefusal } from '../../harness/service/service.ts'
import {
  createDataDir,
  type ServiceProcess,
  startProcess,
  startServiceProcess,
  stopProcess,
} from '../../harness/service/service-process.ts'

const fileIn = (dataDir: string): string => join(dataDir, 'keys.json')
const contentsOf = (file: string): string | undefined =>
  existsSync(file) ? readFileSync(file, 'utf8') : undefined

/** A data directory on which a service has run and stopped. */
async function usedDataDir(env: NodeJS.ProcessEnv = {}, ...args: string[]): Promise<string> {
  const DATA_DIR = createDataDir()
  await startWithKeys({ ...env, DATA_DIR }, ...args)
  return DATA_DIR
}

const change = (dataDir: string, edit: (keys: Record<string, string>) => void): void => {
  const keys = JSON.parse(readFileSync(fileIn(dataDir), 'utf8'))
  edit(keys)
  writeFileSync(fileIn(dataDir), JSON.stringify(keys))
}

/** Asserts that a start is refused with this message, and writes no keys. */
async function assertRefused(env: NodeJS.ProcessEnv, words: RegExp, ...args: string[]): Promise<void> {
  const dataDir = String(env.DATA_DIR)
  const before = contentsOf(fileIn(dataDir))
  const files = readdirSync(dataDir)
  assert.match(await findStartRefusal(env, args.includes('--open'), args.includes('--new')), words)
  assert.equal(contentsOf(fileIn(dataDir)), before)
  assert.deepEqual(readdirSync(dataDir), files)
}

describe('a start and the keys of its database', function suite() {
  this.timeout(120_000)
  let origin: string
  let DATA_DIR: string

  before(async () => {
    const service = await startServiceProcess()
    assert.equal(await stopProcess(service), 0)
    origin = service.dataDir
  })
  beforeEach(() => {
    DATA_DIR = createDataDir()
    cpSync(origin, DATA_DIR, { recursive: true })
  })

  it('refuses a database without its keys.json, and serves it again when the file is back', async () => {
    const keys = contentsOf(fileIn(DATA_DIR)) ?? ''
    rmSync(fileIn(DATA_DIR))
    const words = /keys\.json is missing, but the database needs its auditKey\..*Restore .*keys\.json/
    await assertRefused({ DATA_DIR }, words)
    writeFileSync(fileIn(DATA_DIR), keys)
    await startWithKeys({ DATA_DIR })
  })

  for (const name of ['auditKey', 'keyEncryptionKey']) {
    it(`refuses a keys.json without ${name}, or with another one`, async () => {
      change(DATA_DIR, (keys) => delete keys[name])
      const missing = new RegExp(`keys\\.json has no ${name}, but the database needs its ${name}`)
      await assertRefused({ DATA_DIR }, missing)
      change(DATA_DIR, (keys) => {
        keys[name] = 'another-key-of-the-same-form'
      })
      const other = new RegExp(`The ${name} in .*keys\\.json is not the key of this database`)
      await assertRefused({ DATA_DIR }, other)
    })
  }

  it('adds a client key that keys.json lacks', async () => {
    change(DATA_DIR, (keys) => delete keys.dotnetKey)
    const { dotnetKey: _, ...others } = JSON.parse(readFileSync(fileIn(origin), 'utf8'))
    await startWithKeys({ DATA_DIR })
    const { dotnetKey, ...keptKeys } = JSON.parse(readFileSync(fileIn(DATA_DIR), 'utf8'))
    assert.deepEqual(keptKeys, others)
    assert.match(dotnetKey, /^\w{48}$/)
  })

  it('refuses a damaged keys.json', async () => {
    writeFileSync(fileIn(DATA_DIR), '{"auditKey": "')
    await assertRefused({ DATA_DIR }, /keys\.json is damaged\. Restore it from its backup/)
  })

  it('names the variable of a given key', async () => {
    const AUDIT_KEY = 'another-key-of-the-same-form'
    await assertRefused(
      { DATA_DIR, AUDIT_KEY },
      /AUDIT_KEY is not the key of this database\..*Set AUDIT_KEY to that key/,
    )
  })

  it('refuses keys without their database, until told to create a new one', async () => {
    const database = join(DATA_DIR, 'database')
    rmSync(database, { recursive: true })
    // This user cannot tell whether it is missing.
    symlinkSync('database', database)
    await assertRefused({ DATA_DIR }, /data\.mdb cannot be read \(ELOOP\)\. This user must be able to/)
    rmSync(database)
    await assertRefused({ DATA_DIR }, /keys\.json contains the keys of a database that does not exist.*--new/)
    await startWithKeys({ DATA_DIR }, '--new')
    assert.equal(contentsOf(fileIn(DATA_DIR)), contentsOf(fileIn(origin)))
    await startWithKeys({ DATA_DIR })
    await assertRefused({ DATA_DIR }, /--new needs an empty database/, '--new')
  })

  it('continues a first start that was killed after its keys were stored', async () => {
    const interrupted = createDataDir()
    const firstStart = await startProcess({ DATA_DIR: interrupted })
    await untilExists(fileIn(interrupted), firstStart)
    firstStart.child.kill('SIGKILL')
    await firstStart.ended
    assert.equal((await startWithKeys({ DATA_DIR: interrupted })).length, 1)
  })

  it('follows these rules for a database of MONGODB_URI, too', async () => {
    const MONGODB_URI = databaseUri('keys')
    const firstDir = await usedDataDir({ MONGODB_URI })
    const empty = createDataDir()
    await assertRefused({ MONGODB_URI, DATA_DIR: empty }, /keys\.json is missing/)
    await assertRefused({ MONGODB_URI, DATA_DIR }, /is not the key of this database/)
    await startWithKeys({ MONGODB_URI, DATA_DIR: firstDir })
    const other = databaseUri('keys-without-database')
    await assertRefused({ MONGODB_URI: other, DATA_DIR: firstDir }, /a database that does not exist/)
    const client = await MongoClient.connect(other)
    assert.deepEqual(await client.db().listCollections().toArray(), [])
    await client.close()
    await startWithKeys({ MONGODB_URI: other, DATA_DIR: firstDir }, '--new')
  })

  it('creates a new database if all keys are given', async () => {
    const { auditKey, keyEncryptionKey } = JSON.parse(readFileSync(fileIn(origin), 'utf8'))
    const keys = { AUDIT_KEY: auditKey, KEY_ENCRYPTION_KEY: keyEncryptionKey }
    await startWithKeys({ ...keys, MONGODB_URI: databaseUri('keys-given') })
  })

  it('follows these rules for the open test environment, too', async () => {
    const open = await usedDataDir({}, '--open')
    const keys = contentsOf(fileIn(open)) ?? ''
    rmSync(fileIn(open))
    await assertRefused({ DATA_DIR: open }, /keys\.json is missing.*rekey --open/, '--open')
    writeFileSync(fileIn(open), keys)
    rmSync(join(open, 'database'), { recursive: true })
    await assertRefused({ DATA_DIR: open }, /a database that does not exist/, '--open')
    await startWithKeys({ DATA_DIR: open }, '--open', '--new')
  })
})

async function untilExists(file: string, { child }: ServiceProcess): Promise<void> {
  while (!existsSync(file) && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 1))
}
