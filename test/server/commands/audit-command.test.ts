import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { promisify } from 'node:util'
import { MongoClient } from 'mongodb'
import { type Access, entriesOf, openAudit } from '../../../records/store/audit/trail.ts'
import { verifyAudit } from '../../../records/store/audit/verifier.ts'
import { UnderWay } from '../../../records/store/steps/under-way.ts'
import { type Config, readConfig } from '../../../server/config/config.ts'
import { type Database, openDatabase } from '../../../server/database/database.ts'
import { openRecords } from '../../../server/records.ts'
import { createLog } from '../../../server/telemetry/log.ts'
import { newDataDir } from '../../harness/service/process.ts'

const access: Access = {
  requestId: 'request',
  userId: 'user',
  application: 'tests',
  action: 'read',
  ehrId: 'ehr',
  type: 'CarePlan',
  ids: ['plan'],
  outcome: 'done',
}

describe('npm run audit', function suite() {
  this.timeout(60_000)
  let config: Config

  /** Works on the database as the service would, and leaves it. */
  async function inDatabase<T>(work: (client: MongoClient, database: Database) => Promise<T>): Promise<T> {
    const database = await openDatabase(config)
    const client = new MongoClient(database.uri)
    try {
      return await work(client, database)
    } finally {
      await client.close()
      await database.close()
    }
  }

  const write = (client: MongoClient, clock = () => new Date()) =>
    openAudit({ db: client.db(), key: config.auditKey, clock, onFault: () => {} }).then(async (audit) => {
      const requests = ['first', 'second', 'third']
      await audit.record(...requests.map((requestId) => ({ ...access, requestId })))
      await audit.close()
    })

  /** What `npm run audit` prints, and its exit code. */
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, ['dist/server/commands/audit.js', ...args], {
      env: { PATH: process.env.PATH, DATA_DIR: config.dataDir },
    }).then(
      ({ stdout }) => ({ code: 0, output: stdout }),
      ({ code, stdout, stderr }) => ({ code, output: `${stdout}${stderr}` }),
    )

  beforeEach(() => {
    config = readConfig({ DATA_DIR: newDataDir(), LOG_LEVEL: 'silent' }, false)
  })
  afterEach(() => rmSync(config.dataDir, { recursive: true }))

  it('is found whole, or broken where someone changed it', async () => {
    await inDatabase((client) => write(client))
    assert.deepEqual(await run('verify'), {
      code: 0,
      output: 'Intact. Checked: entries 3, chains 1, runs of the service 1.\n',
    })
    await inDatabase((client) =>
      entriesOf(client.db()).updateOne({ _id: '1-0-000000000002' }, { $set: { userId: 'x' } }),
    )
    const { code, output } = await run('verify')
    assert.equal(code, 1)
    assert.match(output, /^BROKEN at 1-0-000000000002: its content was changed/)
  })

  it('is checked while the service has the database, too', async () => {
    await inDatabase(async (client) => {
      await write(client)
      assert.deepEqual((await run('verify')).code, 0)
    })
  })

  it('is not checked where there is none, nor without being told to', async () => {
    assert.equal((await run()).code, 2)
    const { code, output } = await run('verify')
    assert.deepEqual([code, /it is empty/.test(output)], [2, true])
    assert.match((await run('--help')).output, /npm run audit -- verify/)
  })

  it('loses what is older than AUDIT_DAYS at the next start, and stays whole', async () => {
    await inDatabase(async (client) => {
      await write(client, () => new Date(Date.now() - 40 * 86_400_000))
      await write(client)
      const database = { client, db: client.db() }
      const opened = { ...database, underWay: new UnderWay(database, [], false) }
      const records = await openRecords(
        opened,
        { ...config, auditDays: 30 },
        createLog(config),
        async () => {},
      )
      await records.close()
      assert.equal(await entriesOf(client.db()).countDocuments(), 3)
      assert.equal((await verifyAudit(client.db(), config.auditKey)).broken, null)
    })
  })
})
