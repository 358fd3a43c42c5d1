import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { MongoClient } from 'mongodb'
import { freePort } from '../harness/service/port.ts'
import { newDataDir, startProcess } from '../harness/service/process.ts'

describe('a start that is refused', function suite() {
  this.timeout(60_000)
  const directory = newDataDir()
  let engine: Awaited<ReturnType<typeof startEmbeddedMongo>>
  let client: MongoClient

  before(async () => {
    engine = await startEmbeddedMongo({ dataDir: join(directory, 'database') })
    client = await MongoClient.connect(engine.uri)
  })
  after(async () => {
    await client.close()
    await engine.stop()
    rmSync(directory, { recursive: true })
  })

  const startOn = (database: string) =>
    startProcess({ MONGODB_URI: `${engine.uri.replace(/\/+$/, '')}/${database}` })

  it('names the classes that could not be brought up to date', async () => {
    const db = client.db('old')
    await db.collection<{ _id: string }>('environment').insertOne({ _id: 'kind', ...{ kind: 'main' } })
    await db.collection<{ _id: string }>('_SCHEMA').insertOne({ _id: 'Goal', ...{ name: 'number' } })
    const service = await startOn('old')
    assert.equal(await service.ended, 1)
    assert.match(service.output(), /could not be brought up to date: Goal\.name/)
  })

  it('says that a database holds data of nobody knows what kind', async () => {
    await client.db('foreign').collection('patients').insertOne({ name: 'Ann' })
    const service = await startOn('foreign')
    assert.equal(await service.ended, 1)
    assert.match(service.output(), /holds data, but no mark/)
  })

  it('says that there is no database', async () => {
    const service = await startProcess({
      MONGODB_URI: `mongodb://127.0.0.1:${await freePort()}/records?serverSelectionTimeoutMS=500`,
    })
    assert.equal(await service.ended, 1)
    assert.match(service.output(), /did not start: .*ECONNREFUSED/)
  })

  it('says that the native bcrypt is missing', async () => {
    const preload = join(directory, 'no-bcrypt.cjs')
    writeFileSync(
      preload,
      `const { Module } = require('node:module')
const load = Module._load
Module._load = (name, ...rest) => {
  if (name.startsWith('@node-rs/bcrypt')) throw new Error('no bcrypt here')
  return load(name, ...rest)
}`,
    )
    const service = await startProcess({ NODE_OPTIONS: `--require=${preload}` })
    assert.equal(await service.ended, 1)
    assert.match(service.output(), /did not start: no bcrypt here/)
  })
})
