import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Document, MongoClient } from 'mongodb'
import { databaseUri } from '../../harness/run.ts'
import { freePort } from '../../harness/service/port.ts'
import { findStartRefusal } from '../../harness/service/service.ts'
import { createDataDir, startProcess } from '../../harness/service/service-process.ts'
import { isFullSize } from '../../harness/test-size.ts'

describe('a start that is refused', function suite() {
  this.timeout(60_000)
  it('names the classes that could not be updated, while the others are', async () => {
    const MONGODB_URI = databaseUri('old')
    const client = await MongoClient.connect(MONGODB_URI)
    const db = client.db()
    await db.collection<Document & { _id: string }>('environment').insertOne({ _id: 'kind', kind: 'main' })
    const schemas = db.collection<Document & { _id: string }>('_SCHEMA')
    await schemas.insertMany([
      { _id: 'Goal', name: 'number' },
      { _id: 'CarePlan', name: 'string', _metadata: { class_permissions: { find: { '*': true } } } },
    ])
    const service = await startProcess({ MONGODB_URI })
    assert.equal(await service.ended, 1)
    assert.match(service.output(), /could not be updated: Goal\.name\n/)
    const plan = await schemas.findOne({ _id: 'CarePlan' })
    const { find } = plan?._metadata.class_permissions ?? {}
    assert.deepEqual([plan?.ehrId, find], ['string', { requiresAuthentication: true }])
    await client.close()
  })

  it('reports that the data belong to a newer version', async () => {
    const MONGODB_URI = databaseUri('newer')
    const client = await MongoClient.connect(MONGODB_URI)
    const newer = { _id: 'kind', kind: 'main', dataVersion: 99 }
    await client.db().collection<Document & { _id: string }>('environment').insertOne(newer)
    await client.close()
    assert.match(await findStartRefusal({ MONGODB_URI }), /data of a newer version of this service/)
  })

  it('reports that a database contains unknown data', async () => {
    const MONGODB_URI = databaseUri('foreign')
    const client = await MongoClient.connect(MONGODB_URI)
    await client.db().collection('patients').insertOne({ name: 'Ann' })
    await client.close()
    assert.match(await findStartRefusal({ MONGODB_URI }), /contains data that this service did not create/)
  })

  it('names the faults of templates and text packs together with all others', async () => {
    const folder = createDataDir()
    writeFileSync(join(folder, 'a.json'), '{}')
    const none = join(folder, 'none')
    const service = await startProcess({ PORT: 'http', CARE_PLAN_TEMPLATES: folder, TEXT_PACKS: none })
    assert.equal(await service.ended, 1)
    assert.match(
      service.output(),
      /^The configuration is invalid:\n {2}- PORT .*\n {2}- CARE_PLAN_TEMPLATES\/a\.json: .*\n {2}- TEXT_PACKS: cannot be read/m,
    )
  })

  it('reports that there is no database', async () => {
    const MONGODB_URI = `mongodb://127.0.0.1:${await freePort()}/records?serverSelectionTimeoutMS=500`
    assert.match(
      await findStartRefusal({ MONGODB_URI }),
      /^MONGODB_URI: no answer from 127\.0\.0\.1:\d+ for \d+\.\d s \(ECONNREFUSED\)\.$/,
    )
  })

  if (isFullSize)
    it('reports that the native bcrypt is missing', async () => {
      const preload = join(createDataDir(), 'no-bcrypt.cjs')
      writeFileSync(
        preload,
        `const { Module } = require('node:module')
const load = Module._load
Module._load = (name, ...rest) => {
  if (name.startsWith('@node-rs/bcrypt')) throw new Error('no bcrypt here')
  return load(name, ...rest)
}`,
      )
      const NODE_OPTIONS = `--require=${preload}`
      const service = await startProcess({ NODE_OPTIONS, MONGODB_URI: databaseUri('no-bcrypt') })
      assert.equal(await service.ended, 1)
      assert.match(service.output(), /did not start: no bcrypt here/)
    })
})
