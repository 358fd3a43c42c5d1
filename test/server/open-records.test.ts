import assert from 'node:assert/strict'
import { type Collection, type Document, type IndexDescriptionInfo, MongoClient } from 'mongodb'
import { Backfill } from '../../records/store/backfill/backfill.ts'
import { JobRunner } from '../../records/store/jobs/background-jobs.ts'
import { readConfig } from '../../server/config/config.ts'
import { openRecords } from '../../server/records/open-records.ts'
import { createLog } from '../../server/telemetry/log.ts'
import { startFaultyMongoForBlock } from '../harness/faulty-mongo/faulty-mongo.ts'
import { databaseUri } from '../harness/run.ts'
import { createDataDir } from '../harness/service/service-process.ts'

const config = readConfig({ DATA_DIR: createDataDir(), LOG_LEVEL: 'silent' }, false)

/** Prepares the database like a starting instance. */
async function begin(client: MongoClient, log = createLog(config)): Promise<void> {
  const opened = { client, db: client.db() }
  const jobs = new JobRunner(opened, [], true)
  const backfill = new Backfill(opened, [])
  const context = await openRecords({ ...opened, jobs, backfill }, config, log, async () => {})
  await context.close()
}

describe('the records of an earlier version', () => {
  const faulty = startFaultyMongoForBlock()
  let clients: MongoClient[]
  let firstClient: MongoClient
  let events: Collection
  /** The index as this version declares it. */
  let declaredIndex: IndexDescriptionInfo

  before(async () => {
    const { pathname } = new URL(databaseUri('indexes'))
    clients = [1, 2, 3].map(() => new MongoClient(faulty.uri + pathname))
    firstClient = clients[0] as MongoClient
    events = firstClient.db().collection('Event')
    await begin(firstClient)
    declaredIndex = (await listIndexes())[0] as IndexDescriptionInfo
  })
  after(async () => {
    for (const client of clients) await client.close()
  })

  const indexes = async () => events.indexes() as Promise<IndexDescriptionInfo[]>
  const listIndexes = async () =>
    (await indexes()).filter(({ name }) => /^list_ofEhr(@|$)/.test(String(name)))

  const createsIndex = ({ createIndexes, indexes }: Document): boolean =>
    createIndexes === 'Event' && indexes.some(({ name }: Document) => /^list_ofEhr(@|$)/.test(name))

  /**
   * Replaces the index by that of an earlier version.
   * @returns the commands on the index that instances send from then on
   */
  async function hadOtherwise(): Promise<string[]> {
    for (const { name } of await listIndexes()) await events.dropIndex(String(name))
    await events.createIndex({ title: 1 }, { name: 'list_ofEhr' })
    const commands: string[] = []
    faulty.findFault = (command) => {
      if (createsIndex(command)) commands.push('create')
      if (command.dropIndexes === 'Event') commands.push('drop')
      return undefined
    }
    return commands
  }

  async function isAsDeclared(): Promise<void> {
    const storedIndexes = await listIndexes()
    assert.deepEqual(
      storedIndexes.map(({ key, unique, sparse }) => [key, unique, sparse]),
      [[declaredIndex.key, declaredIndex.unique, declaredIndex.sparse]],
    )
  }

  it('get the new indexes before they lose the old ones, from several concurrent instances', async () => {
    const commands = await hadOtherwise()
    await events.createIndex({ carePlanId: 1 }, { name: 'by_carePlanId' })
    await events.createIndex({ carePlanId: 1, title: 1 }, { name: 'other-owner' })
    commands.length = 0
    await Promise.all(clients.map((one) => begin(one)))
    assert.deepEqual([commands[0], commands.includes('drop')], ['create', true])
    await isAsDeclared()
    const before = await indexes()
    const names = before.map(({ name }) => name)
    assert.ok(names.includes('list_ofPlan') && names.includes('other-owner'))
    assert.ok(!names.includes('by_carePlanId'), 'list_ofPlan begins with its fields')
    commands.length = 0
    await begin(firstClient)
    assert.deepEqual([await indexes(), commands], [before, ['create']])
  })

  for (const obsolete of ['list_ofEhr', 'by_carePlanId'])
    it(`wait for the build of another instance before they lose the index ${obsolete}`, async () => {
      await hadOtherwise()
      await begin(firstClient)
      if (obsolete === 'list_ofEhr') {
        // Another instance builds the new index under a name of its own, and listIndexes names it already.
        await events.dropIndex(String((await listIndexes())[0]?.name))
        await events.createIndex({ title: 1 }, { name: obsolete })
        await events.createIndex(declaredIndex.key, { name: `${obsolete}@12345678` })
      } else await events.createIndex({ carePlanId: 1 }, { name: obsolete })
      const sent: Document[] = []
      faulty.findFault = (command) => {
        if (command.createIndexes === 'Event' || command.dropIndexes === 'Event') sent.push(command)
        return undefined
      }
      await begin(firstClient)
      const [create, drop, ...more] = sent
      assert.deepEqual([drop?.dropIndexes, drop?.index, more], ['Event', obsolete, []])
      assert.ok(create)
      const created = create.indexes.map(({ name }: Document) => name)
      const replacement = obsolete === 'list_ofEhr' ? `${obsolete}@12345678` : 'list_ofPlan'
      assert.ok(created.includes(replacement), `${created}`)
    })

  it('let a majority finish a build, since another member of the replica set may be down', async () => {
    await hadOtherwise()
    const quorums = new Set<unknown>()
    faulty.findFault = (command) => {
      if (command.createIndexes === 'Event') quorums.add(command.commitQuorum)
      return undefined
    }
    await begin(firstClient)
    assert.deepEqual([...quorums], ['majority'])
  })

  it('report once for which index the start waits, and its number of documents', async () => {
    await hadOtherwise()
    const log = createLog(config)
    const logged: object[] = []
    log.info = (facts: object) => void logged.push(facts)
    for (const _ of [1, 2]) await begin(firstClient, log)
    const documents = await events.estimatedDocumentCount()
    const [{ index, step, of, ...rest } = {}, ...more] = logged as Record<string, unknown>[]
    assert.deepEqual([more, rest], [[], { collection: 'Event', documents }])
    assert.match(String(index), /^list_ofEhr(@|$)/)
    assert.ok(Number(step) > 0 && Number(step) <= Number(of))
  })

  for (const [code, codeName, command] of [
    [27, 'IndexNotFound', 'dropIndexes'],
    [85, 'IndexOptionsConflict', 'createIndexes'],
    [86, 'IndexKeySpecsConflict', 'createIndexes'],
  ] as const)
    it(`are updated if another instance comes first: ${codeName}`, async () => {
      const commands = await hadOtherwise()
      const { findFault: fault } = faulty
      let attempts = 0
      // The proxy reports that another instance has already done it.
      faulty.findFault = (sentCommand) => {
        fault(sentCommand)
        const isCommand =
          command === 'dropIndexes' ? sentCommand[command] === 'Event' : createsIndex(sentCommand)
        if (!isCommand || attempts++ > 0) return undefined
        return { change: () => ({ ok: 0, code, codeName, errmsg: `${codeName}: another was first` }) }
      }
      await begin(firstClient)
      // After another instance has begun to create the index, the start waits for that.
      const isCreated = command === 'createIndexes'
      const expected = ['create', ...(isCreated ? ['create'] : []), 'drop']
      assert.deepEqual([attempts, commands], [isCreated ? 2 : 1, expected])
      await isAsDeclared()
    })

  it('lose an index with the same key under another name, since both cannot exist', async () => {
    const commands = await hadOtherwise()
    await events.dropIndex('list_ofEhr')
    await events.createIndex(declaredIndex.key, { name: 'of-an-earlier-version' })
    commands.length = 0
    await begin(firstClient)
    assert.deepEqual(commands, ['create', 'drop', 'create'])
    await isAsDeclared()
    assert.ok((await indexes()).every(({ name }) => name !== 'of-an-earlier-version'))
  })
})
