import assert from 'node:assert/strict'
import { faultyMongoOfBlock } from '../harness/faulty-mongo/faulty-mongo.ts'
import { refusal } from '../harness/service/service.ts'

describe('a start that is refused by what the database is', function suite() {
  this.timeout(60_000)
  const faulty = faultyMongoOfBlock()

  const told = () => refusal({ MONGODB_URI: `${faulty.uri}/refused` })

  it('says that it is a server on its own', async () => {
    const { greeting } = faulty
    faulty.greeting = ({ setName, hosts, primary, me, ...answer }) => answer
    const reason = await told().finally(() => {
      faulty.greeting = greeting
    })
    assert.equal(reason, 'The MongoDB is a standalone server, which has no transactions; use a replica set')
  })

  it('says that it is too old', async () => {
    faulty.fault = ({ buildInfo }) =>
      buildInfo ? { change: (it) => ({ ...it, version: '6.0.14' }) } : undefined
    assert.equal(await told(), 'The MongoDB has version 6.0.14; use 7.0 or later')
  })
})
