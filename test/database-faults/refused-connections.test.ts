import assert from 'node:assert/strict'
import { startFaultyMongoForBlock } from '../harness/faulty-mongo/faulty-mongo.ts'
import { findStartRefusal } from '../harness/service/service.ts'

describe('a start that the kind of database prevents', function suite() {
  this.timeout(60_000)
  const faulty = startFaultyMongoForBlock()

  const told = () => findStartRefusal({ MONGODB_URI: `${faulty.uri}/refused` })

  it('reports a standalone server', async () => {
    const { greeting } = faulty
    faulty.greeting = ({ setName, hosts, primary, me, ...answer }) => answer
    const reason = await told().finally(() => {
      faulty.greeting = greeting
    })
    assert.equal(reason, 'The MongoDB is a standalone server, which has no transactions; use a replica set')
  })

  it('reports a too old server', async () => {
    faulty.findFault = ({ buildInfo }) =>
      buildInfo ? { change: (it) => ({ ...it, version: '6.0.14' }) } : undefined
    assert.equal(await told(), 'The MongoDB has version 6.0.14; use 7.0 or later')
  })
})
