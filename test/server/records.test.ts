import assert from 'node:assert/strict'
import { MongoClient } from 'mongodb'
import { readConfig } from '../../server/config/config.ts'
import { openDatabase } from '../../server/database/database.ts'
import { openRecords } from '../../server/records.ts'
import { createLog } from '../../server/telemetry/log.ts'
import { newDataDir } from '../harness/service/process.ts'

describe('the records of an earlier version', () => {
  it('get the indexes of this one', async () => {
    const config = readConfig({ DATA_DIR: newDataDir(), LOG_LEVEL: 'silent' }, false)
    const database = await openDatabase(config)
    const client = new MongoClient(database.uri)
    try {
      const db = client.db()
      await db.collection('Event').createIndex({ title: 1 }, { name: 'list_ofEhr' })
      const records = await openRecords({ client, db }, config, createLog(config), async () => {})
      await records.close()
      const made = await db.collection('Event').indexes()
      const { key } = made.find(({ name }) => name === 'list_ofEhr') ?? {}
      assert.equal(Object.keys(key ?? {})[0], 'ehrId')
    } finally {
      await client.close()
      await database.close()
    }
  })
})
