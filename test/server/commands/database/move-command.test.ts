import assert from 'node:assert/strict'
import { mkdirSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { type Db, type Document, MongoClient } from 'mongodb'
import { runAdminCommand } from '../../../../server/commands/admin.ts'
import { runAuditCommand } from '../../../../server/commands/audit.ts'
import { runBackupCommand } from '../../../../server/commands/backup.ts'
import { startFaultyMongoForBlock } from '../../../harness/faulty-mongo/faulty-mongo.ts'
import { runCommand, runCommandProcess } from '../../../harness/in-process/run-command.ts'
import { databaseUri } from '../../../harness/run.ts'
import { findStartRefusal } from '../../../harness/service/service.ts'
import {
  createDataDir,
  createProcessClient,
  startServiceProcess,
  stopProcess,
} from '../../../harness/service/service-process.ts'
import { createReleasedDataDir, latestVersion } from '../../../upgrade/released-data.ts'
import { EMAIL } from '../../../upgrade/sample-data.ts'
import { move } from './move.ts'

describe('npm run move', function suite() {
  this.timeout(60_000)
  const dataDir = createReleasedDataDir(latestVersion)
  let target: MongoClient
  const proxy = startFaultyMongoForBlock()
  const account = { username: 'ann@example.org', email: 'ann@example.org', password: 'a long password' }

  before(async () => {
    await inSource(async (db) => {
      // More documents than a batch, with types that a copy could lose.
      const { Long, Double, Decimal128, ObjectId } = await import('mongodb')
      const one = { long: Long.fromNumber(1), double: new Double(1), decimal: Decimal128.fromString('1.0') }
      await db.insertMany(
        Array.from({ length: 2500 }, (_, i) => ({ ...one, _id: i % 2 ? i : new ObjectId() }) as object),
      )
    })
    target = await MongoClient.connect(databaseUri('moved'))
  })
  after(() => target.close())

  async function inSource(
    work: (custom: ReturnType<ReturnType<MongoClient['db']>['collection']>) => Promise<void>,
  ) {
    const engine = await startEmbeddedMongo({ dataDir: `${dataDir}/database` })
    const client = await MongoClient.connect(engine.uri)
    await work(client.db('health-record').collection('Samples'))
    await client.close()
    await engine.stop()
  }

  const to = () => `${proxy.uri}/${target.db().databaseName}?serverSelectionTimeoutMS=2000`
  const run = () => move(dataDir, to())

  it('copies everything, including indexes, and resumes after an interruption', async () => {
    let inserts = 0
    const sampleInserts: Document[] = []
    const count = (command: Document) => {
      if (command.insert === 'Samples') sampleInserts.push(command)
      return command.insert !== undefined && ++inserts
    }
    proxy.findFault = (command) =>
      count(command) && sampleInserts.length > 1 ? { cut: 'before' } : undefined
    const interrupted = await run()
    assert.equal(interrupted.code, 1)
    const db = target.db()
    assert.equal(await db.collection('Samples').countDocuments(), 1000)
    assert.equal(await db.collection('environment').countDocuments(), 0)
    const env = { DATA_DIR: dataDir, MONGODB_URI: databaseUri('moved') }
    const unfinished = /A move into this database is not finished\. Run the command move again/
    assert.match(await findStartRefusal(env), unfinished)
    assert.match((await runCommand(runAuditCommand, ['verify'], env)).output, unfinished)
    const marks = db.collection('copy.underway')
    const mark = await marks.findOne()
    await marks.updateOne({}, { $set: { of: 'another' } })
    assert.match((await run()).output, /a copy of another database/)
    await marks.updateOne({}, { $set: { of: mark?.of } })
    sampleInserts.length = 0
    proxy.findFault = (command) => void count(command)
    await db.collection('Samples').updateOne({}, { $set: { isChanged: true } })
    assert.match((await run()).output, /The collection Samples differs in the target/)
    await db.collection('Samples').deleteOne({ isChanged: true })
    // Without --to no other user of the machine can read a password of the address.
    const { code, output } = await runCommandProcess(['move'], { DATA_DIR: dataDir, MONGODB_URI: to() })
    assert.equal(code, 0, output)
    assert.match(output, /^Samples: 2500 documents, digest [0-9a-f]{64}$/m)
    assert.deepEqual(
      sampleInserts.map(({ documents }) => documents.length),
      [1000, 500, 1],
    )
    assert.equal(await db.collection('_User').countDocuments({ email: EMAIL }), 1)
    await assertSameIndexes()
    assert.ok(!(await db.listCollections().toArray()).some(({ name }) => name === 'copy.underway'))
  })

  async function assertSameIndexes(): Promise<void> {
    const engine = await startEmbeddedMongo({ dataDir: `${dataDir}/database` })
    const client = await MongoClient.connect(engine.uri)
    const source = client.db('health-record')
    const copy = target.db()
    const indexesOf = async (db: Db, name: string) =>
      (await db.collection(name).listIndexes().toArray()).sort((a, b) => (a.name < b.name ? -1 : 1))
    const names = (await source.listCollections().toArray()).map(({ name }) => name)
    const differing: string[] = []
    for (const name of names) {
      const sourceIndexes = await indexesOf(source, name)
      const indexes = await indexesOf(copy, name)
      if (!isDeepStrictEqual(sourceIndexes, indexes)) differing.push(name)
    }
    await client.close()
    await engine.stop()
    assert.deepEqual(differing, [])
    assert.ok(names.length > 20)
  }

  it('leaves a database on which a service can start', async () => {
    const service = await startServiceProcess({ DATA_DIR: dataDir, MONGODB_URI: databaseUri('moved') })
    const { status } = await createProcessClient(service)('/1/users', { ...account, termsAccepted: true })
    assert.equal(status, 201)
    await stopProcess(service)
  })

  it('leaves a mark, so that nothing works on the former database without MONGODB_URI', async () => {
    const env = { DATA_DIR: dataDir }
    const backUp = () => runCommand(runBackupCommand, ['backup', join(createDataDir(), 'copy')], env)
    const outputs = [
      (await backUp()).output,
      (await runCommand(runAdminCommand, ['list'], env)).output,
      (await runCommand(runAuditCommand, ['verify'], env)).output,
      (await runCommand(runAuditCommand, ['rekey'], env)).output,
      await findStartRefusal(env),
    ]
    for (const output of outputs) {
      assert.match(output, /MONGODB_URI is required.* moved to mongodb:\/\/127\.0\.0\.1:\d+\/moved-/)
      assert.match(output, /To use the former data again, delete .*moved-to\.txt/)
    }
    rmSync(join(dataDir, 'moved-to.txt'))
    assert.equal((await backUp()).code, 0)
  })

  it('runs only once', async () => {
    const { code, output } = await run()
    assert.equal(code, 1)
    assert.match(output, /contains other data \(.*Use an empty database/)
  })

  it('can be repeated if it could not mark the former database, and no document expires meanwhile', async () => {
    await inSource(async (samples) => void (await samples.createIndex({ at: 1 }, { expireAfterSeconds: 60 })))
    const client = await MongoClient.connect(databaseUri('moved-again'))
    const samples = client.db().collection('Samples')
    const hasExpiringIndex = async () =>
      (await samples.listIndexes().toArray()).some(({ expireAfterSeconds }) => expireAfterSeconds === 60)
    const again = `${proxy.uri}/${client.db().databaseName}`
    const mark = join(dataDir, 'moved-to.txt')
    mkdirSync(mark)
    assert.equal((await move(dataDir, again)).code, 1)
    rmdirSync(mark)
    assert.ok(await hasExpiringIndex())
    await samples.deleteOne({})
    proxy.findFault = ({ insert }) => (insert === 'Samples' ? { cut: 'before' } : undefined)
    assert.equal((await move(dataDir, again)).code, 1)
    assert.ok(!(await hasExpiringIndex()))
    proxy.findFault = () => undefined
    const { code, output } = await move(dataDir, again)
    assert.equal(code, 0, output)
    assert.ok(await hasExpiringIndex())
    await client.close()
  })
})
