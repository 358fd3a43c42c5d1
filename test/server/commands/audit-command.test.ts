import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { MongoClient } from 'mongodb'
import {
  type AuditedAccess,
  auditEntryCollection,
  openAuditLog,
} from '../../../records/store/audit/audit-log.ts'
import { verifyAudit } from '../../../records/store/audit/verifier.ts'
import { Backfill } from '../../../records/store/backfill/backfill.ts'
import { JobRunner } from '../../../records/store/jobs/background-jobs.ts'
import { runAuditCommand } from '../../../server/commands/audit.ts'
import { type Config, readConfig } from '../../../server/config/config.ts'
import { type OpenDatabase, openDatabase } from '../../../server/database/open-database.ts'
import { openRecords } from '../../../server/records/open-records.ts'
import { createLog } from '../../../server/telemetry/log.ts'
import { runCommand, runCommandProcess } from '../../harness/in-process/run-command.ts'
import { createDataDir } from '../../harness/service/service-process.ts'

const access: AuditedAccess = {
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

  /** Opens the database as the service would, and closes it afterwards. */
  async function inDatabase<T>(
    work: (client: MongoClient, database: OpenDatabase) => Promise<T>,
  ): Promise<T> {
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
    openAuditLog({ db: client.db(), key: config.auditKey, clock, onFault: () => {} }).then(async (audit) => {
      const requests = ['first', 'second', 'third']
      await audit.record(...requests.map((requestId) => ({ ...access, requestId })))
      await audit.close()
    })

  /** The output of `npm run audit`, and its exit code. */
  const run = (...args: string[]) => runCommand(runAuditCommand, args, { DATA_DIR: config.dataDir })

  beforeEach(() => {
    config = readConfig({ DATA_DIR: createDataDir(), LOG_LEVEL: 'silent' }, false)
  })
  afterEach(() => rmSync(config.dataDir, { recursive: true }))

  it('finds the audit intact, or broken where somebody changed it', async () => {
    await inDatabase((client) => write(client))
    const { code: intactCode, stdout } = await runCommandProcess(['audit', 'verify'], {
      DATA_DIR: config.dataDir,
    })
    assert.deepEqual(
      [intactCode, stdout],
      [0, 'The audit is intact: 3 entries in 1 chain, from 1 run of the service and its commands.\n'],
    )
    await inDatabase((client) =>
      auditEntryCollection(client.db()).updateOne({ _id: '1-0-000000000002' }, { $set: { userId: 'x' } }),
    )
    const { code, stdout: verdict } = await run('verify')
    assert.equal(code, 1)
    assert.match(verdict, /^The audit is BROKEN at 1-0-000000000002: its content was changed/)
  })

  it('verifies while the service uses the database, too', async () => {
    await inDatabase(async (client) => {
      await write(client)
      assert.deepEqual((await run('verify')).code, 0)
    })
  })

  it('writes nothing when it verifies data of an earlier version', async () => {
    await inDatabase(async (client) => {
      await write(client)
      const environments = client.db().collection('environment')
      await environments.updateMany({}, { $unset: { dataVersion: 1 } })
      const before = await environments.find().toArray()
      assert.equal((await run('verify')).code, 0)
      assert.deepEqual(await environments.find().toArray(), before)
    })
  })

  it('refuses to verify an empty database, or without a command', async () => {
    assert.equal((await run()).code, 2)
    const { code, output } = await run('verify')
    assert.deepEqual([code, /it is empty/.test(output)], [2, true])
    assert.match((await run('--help')).output, /health-record-service audit verify/)
  })

  it('verifies after the next start removes entries older than AUDIT_DAYS', async () => {
    await inDatabase(async (client) => {
      await write(client, () => new Date(Date.now() - 40 * 86_400_000))
      await write(client)
      const database = { client, db: client.db() }
      const backfill = new Backfill(database, [])
      const opened = { ...database, jobs: new JobRunner(database, [], false), backfill }
      const context = await openRecords(
        opened,
        { ...config, auditDays: 30 },
        createLog(config),
        async () => {},
      )
      await context.close()
      assert.equal(await auditEntryCollection(client.db()).countDocuments(), 3)
      assert.equal((await verifyAudit(client.db(), config.auditKey)).broken, null)
    })
  })
})
