import assert from 'node:assert/strict'
import { MongoClient } from 'mongodb'
import { UnderWay } from '../../records/store/steps/under-way.ts'
import { readConfig } from '../../server/config/config.ts'
import { openDatabase } from '../../server/database/database.ts'
import { openRecords } from '../../server/records.ts'
import { createLog } from '../../server/telemetry/log.ts'
import { newDataDir } from '../harness/service/process.ts'

describe('the records of an earlier version', () => {
  it('get the indexes of this one before they lose theirs, by several instances at once', async () => {
    const config = readConfig({ DATA_DIR: newDataDir(), LOG_LEVEL: 'silent' }, false)
    const database = await openDatabase(config)
    const clients = [1, 2, 3].map(() => new MongoClient(database.uri, { monitorCommands: true }))
    try {
      const events = (clients[0] as MongoClient).db().collection('Event')
      await events.createIndex({ title: 1 }, { name: 'list_ofEhr' })
      await events.createIndex({ carePlanId: 1 }, { name: 'by_carePlanId' })
      await events.createIndex({ carePlanId: 1, title: 1 }, { name: 'somebody-elses' })
      const commands: string[] = []
      for (const client of clients)
        client.on('commandSucceeded', ({ commandName }) => commands.push(commandName))
      const open = (client: MongoClient) => {
        const opened = { client, db: client.db() }
        const underWay = new UnderWay(opened, [], true)
        return openRecords({ ...opened, underWay }, config, createLog(config), async () => {})
      }
      const opened = await Promise.all(clients.map(open))
      for (const records of opened) await records.close()
      const before = commands.slice(0, commands.indexOf('dropIndexes'))
      assert.ok(before.includes('createIndexes'))
      const made = (await events.indexes()).filter(({ name }) => name?.startsWith('list_ofEhr'))
      assert.deepEqual(
        made.map(({ key }) => Object.keys(key)[0]),
        ['ehrId'],
      )
      const names = (await events.indexes()).map(({ name }) => name)
      assert.ok(names.includes('list_ofPlan') && names.includes('somebody-elses'))
      assert.ok(!names.includes('by_carePlanId'), 'list_ofPlan begins with its fields')
      const again = await open(clients[0] as MongoClient)
      await again.close()
      assert.deepEqual(await events.indexes(), await events.indexes())
    } finally {
      for (const client of clients) await client.close()
      await database.close()
    }
  })
})
