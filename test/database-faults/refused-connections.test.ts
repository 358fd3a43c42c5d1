import assert from 'node:assert/strict'
import { waitForDatabase } from '../../server/database/database-wait.ts'
import { startFaultyMongoForBlock } from '../harness/faulty-mongo/faulty-mongo.ts'
import { freePort } from '../harness/service/port.ts'
import { findStartRefusal } from '../harness/service/service.ts'

describe('an address of a database that does not answer', () => {
  const fail = async (uri: string) => {
    const lines: string[] = []
    const wait = waitForDatabase(uri, 'MONGODB_URI', (line) => lines.push(line))
    const reason = await wait.then(
      () => assert.fail('it answers'),
      (error: Error) => error.message,
    )
    assert.doesNotMatch([...lines, reason].join(), /s3cret/)
    return { lines, reason }
  }

  it('is reported at once and at the end, with the variable and the reason', async () => {
    const address = `127.0.0.1:${await freePort()}`
    const { lines, reason } = await fail(
      `mongodb://u:s3cret@${address}/records?serverSelectionTimeoutMS=4000`,
    )
    const seconds = (text: string) => text.replace(/\b\d+(\.\d)? s\b/g, 'N s')
    assert.deepEqual(lines.map(seconds), [
      `MONGODB_URI: no answer from ${address} for N s (ECONNREFUSED). Trying for N s more.`,
    ])
    assert.equal(seconds(reason), `MONGODB_URI: no answer from ${address} for N s (ECONNREFUSED).`)
  })

  it('is reported without its parts when it is malformed', async () => {
    const { reason } = await fail('mongodb://host:s3cret:1/records')
    assert.match(reason, /^MONGODB_URI is malformed\. Encode special characters/)
  })
})

describe('a start that the kind of database prevents', function suite() {
  this.timeout(60_000)
  const faulty = startFaultyMongoForBlock()

  const findRefusal = () => findStartRefusal({ MONGODB_URI: `${faulty.uri}/refused` })

  it('reports a standalone server', async () => {
    const { greeting } = faulty
    faulty.greeting = ({ setName, hosts, primary, me, ...answer }) => answer
    const reason = await findRefusal().finally(() => {
      faulty.greeting = greeting
    })
    assert.equal(
      reason,
      'MONGODB_URI leads to a standalone server, which has no transactions. Use a replica set.',
    )
  })

  it('reports which server is of another replica set, or not the primary', async () => {
    const uri = `${faulty.uri}/refused?serverSelectionTimeoutMS=2000`
    const wait = (address: string) => waitForDatabase(address, 'MONGODB_URI', () => {})
    await assert.rejects(wait(`${uri}&replicaSet=other`), /for \d+\.\d s \(its replica set is \w+\)\.$/)
    const { greeting } = faulty
    faulty.greeting = ({ primary, ...answer }) =>
      greeting({ ...answer, isWritablePrimary: false, ismaster: false, secondary: true })
    await assert.rejects(wait(uri), /for \d+\.\d s \(it is not the primary\)\.$/).finally(() => {
      faulty.greeting = greeting
    })
  })

  it('reports a too old server', async () => {
    faulty.findFault = ({ buildInfo }) =>
      buildInfo ? { change: (it) => ({ ...it, version: '6.0.14' }) } : undefined
    assert.equal(await findRefusal(), 'MONGODB_URI leads to MongoDB 6.0.14. Use 7.0 or later.')
  })
})
