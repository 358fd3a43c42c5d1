import assert from 'node:assert/strict'
import { type Collection, type IndexDescriptionInfo, MongoClient } from 'mongodb'
import { UnderWay } from '../../records/store/steps/under-way.ts'
import { readConfig } from '../../server/config/config.ts'
import { openRecords } from '../../server/records.ts'
import { createLog } from '../../server/telemetry/log.ts'
import { faultyMongoOfBlock } from '../harness/faulty-mongo/faulty-mongo.ts'
import { databaseUri } from '../harness/run.ts'
import { newDataDir } from '../harness/service/process.ts'

const config = readConfig({ DATA_DIR: newDataDir(), LOG_LEVEL: 'silent' }, false)

/** Makes what an instance makes when it starts. */
async function begin(client: MongoClient, log = createLog(config)): Promise<void> {
  const opened = { client, db: client.db() }
  const underWay = new UnderWay(opened, [], true)
  const records = await openRecords({ ...opened, underWay }, config, log, async () => {})
  await records.close()
}

describe('the records of an earlier version', () => {
  const faulty = faultyMongoOfBlock()
  let clients: MongoClient[]
  let first: MongoClient
  let events: Collection
  /** How this version has it. */
  let declared: IndexDescriptionInfo

  before(async () => {
    const { pathname } = new URL(databaseUri('indexes'))
    clients = [1, 2, 3].map(() => new MongoClient(faulty.uri + pathname))
    first = clients[0] as MongoClient
    events = first.db().collection('Event')
    await begin(first)
    declared = (await listed())[0] as IndexDescriptionInfo
  })
  after(async () => {
    for (const client of clients) await client.close()
  })

  const indexes = async () => events.indexes() as Promise<IndexDescriptionInfo[]>
  const listed = async () => (await indexes()).filter(({ name }) => /^list_ofEhr(@|$)/.test(String(name)))

  /** An earlier version had the index otherwise. @returns what instances do with the indexes of the class from now on */
  async function hadOtherwise(): Promise<string[]> {
    for (const { name } of await listed()) await events.dropIndex(String(name))
    await events.createIndex({ title: 1 }, { name: 'list_ofEhr' })
    const done: string[] = []
    faulty.fault = (command) => {
      if (command.createIndexes === 'Event') done.push('create')
      if (command.dropIndexes === 'Event') done.push('drop')
      return undefined
    }
    return done
  }

  async function isAsDeclared(): Promise<void> {
    const found = await listed()
    assert.deepEqual(
      found.map(({ key, unique, sparse }) => [key, unique, sparse]),
      [[declared.key, declared.unique, declared.sparse]],
    )
  }

  it('get the indexes of this one before they lose theirs, by several instances at once', async () => {
    const done = await hadOtherwise()
    await events.createIndex({ carePlanId: 1 }, { name: 'by_carePlanId' })
    await events.createIndex({ carePlanId: 1, title: 1 }, { name: 'somebody-elses' })
    done.length = 0
    await Promise.all(clients.map((one) => begin(one)))
    assert.deepEqual([done[0], done.includes('drop')], ['create', true])
    await isAsDeclared()
    const before = await indexes()
    const names = before.map(({ name }) => name)
    assert.ok(names.includes('list_ofPlan') && names.includes('somebody-elses'))
    assert.ok(!names.includes('by_carePlanId'), 'list_ofPlan begins with its fields')
    done.length = 0
    await begin(first)
    assert.deepEqual([await indexes(), done], [before, []])
  })

  it('say which index the start waits for, and of how many documents, once', async () => {
    await hadOtherwise()
    const log = createLog(config)
    const told: object[] = []
    log.info = (facts: object) => void told.push(facts)
    for (const _ of [1, 2]) await begin(first, log)
    const documents = await events.estimatedDocumentCount()
    const [{ index, step, of, ...rest } = {}, ...more] = told as Record<string, unknown>[]
    assert.deepEqual([more, rest], [[], { collection: 'Event', documents }])
    assert.match(String(index), /^list_ofEhr(@|$)/)
    assert.ok(Number(step) > 0 && Number(step) <= Number(of))
  })

  for (const [code, codeName, command] of [
    [27, 'IndexNotFound', 'dropIndexes'],
    [85, 'IndexOptionsConflict', 'createIndexes'],
    [86, 'IndexKeySpecsConflict', 'createIndexes'],
  ] as const)
    it(`are brought up to date when another instance comes first: ${codeName}`, async () => {
      const done = await hadOtherwise()
      const { fault } = faulty
      let met = 0
      // It is done by then, by somebody else as far as this instance is told.
      faulty.fault = (sent) => {
        fault(sent)
        if (sent[command] !== 'Event' || met++ > 0) return undefined
        return { change: () => ({ ok: 0, code, codeName, errmsg: `${codeName}: another was first` }) }
      }
      await begin(first)
      assert.deepEqual([met, done], [1, ['create', 'drop']])
      await isAsDeclared()
    })

  it('lose an index of the same key under another name, where there can be no two', async () => {
    const done = await hadOtherwise()
    await events.dropIndex('list_ofEhr')
    await events.createIndex(declared.key, { name: 'of-an-earlier-version' })
    done.length = 0
    await begin(first)
    assert.deepEqual(done, ['create', 'drop', 'create'])
    await isAsDeclared()
    assert.ok((await indexes()).every(({ name }) => name !== 'of-an-earlier-version'))
  })
})
