import assert from 'node:assert/strict'
import { type FaultyMongo, startFaultyMongo } from '../harness/faulty-mongo/faulty-mongo.ts'
import { databaseUri } from '../harness/run.ts'
import { startProcess } from '../harness/service/process.ts'

describe('a start that is refused by what the database is', function suite() {
  this.timeout(60_000)
  let faulty: FaultyMongo
  before(async () => {
    faulty = await startFaultyMongo(databaseUri(''))
  })
  after(() => faulty.close())

  async function refusal(): Promise<string> {
    const service = await startProcess({ MONGODB_URI: `${faulty.uri}/refused` })
    assert.equal(await service.ended, 1)
    return service.output()
  }

  it('says that it is a server on its own', async () => {
    const { greeting } = faulty
    faulty.greeting = ({ setName, hosts, primary, me, ...answer }) => answer
    const said = await refusal().finally(() => {
      faulty.greeting = greeting
    })
    assert.equal(
      said,
      'The service did not start: The MongoDB is a standalone server, which has no transactions; use a replica set\n',
    )
  })

  it('says that it is too old', async () => {
    faulty.fault = ({ buildInfo }) =>
      buildInfo ? { change: (it) => ({ ...it, version: '6.0.14' }) } : undefined
    assert.match(
      await refusal(),
      /^The service did not start: The MongoDB has version 6\.0\.14; use 7\.0 or later\n$/,
    )
  })
})
