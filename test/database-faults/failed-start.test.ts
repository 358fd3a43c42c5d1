import assert from 'node:assert/strict'
import { type Document, Long } from 'mongodb'
import { createServingOptions, createStartOptions } from '../../server/database/client-options.ts'
import { createPatient, createPlan } from '../harness/care/patients.ts'
import { startFaultyMongoForBlock } from '../harness/faulty-mongo/faulty-mongo.ts'
import { startSecondInstance } from '../harness/service/second-instance.ts'
import { service } from '../harness/service/service.ts'
import { startProcess, stopProcess } from '../harness/service/service-process.ts'
import { waitUntil } from '../harness/wait.ts'

const WRITES = [
  'insert',
  'update',
  'delete',
  'bulkWrite',
  'findAndModify',
  'create',
  'createIndexes',
  'commitTransaction',
]
const READS = ['find', 'aggregate', 'count', 'distinct']

describe('a service and its replica set', function suite() {
  this.timeout(60_000)
  const faulty = startFaultyMongoForBlock()

  it('waits up to a minute at startup for a primary', async () => {
    const { greeting } = faulty
    let greeted = 0
    faulty.greeting = ({ primary, ...answer }) => {
      greeted += 1
      return greeting({ ...answer, isWritablePrimary: false, ismaster: false, secondary: true })
    }
    const instance = await startProcess({ MONGODB_URI: `${faulty.uri}/waiting-for-a-primary` })
    // The driver keeps polling.
    await waitUntil(() => greeted > 4)
    assert.equal(instance.child.exitCode, null, instance.output())
    faulty.greeting = greeting
    await instance.ready
    await stopProcess(instance)
    const uri = 'mongodb://host/database'
    assert.deepEqual(
      [createStartOptions(uri).serverSelectionTimeoutMS, createServingOptions(uri).serverSelectionTimeoutMS],
      [60_000, 1_500],
    )
    assert.equal(createServingOptions(uri).heartbeatFrequencyMS, 500)
    assert.equal(createStartOptions(`${uri}?serverSelectionTimeoutMS=9`).serverSelectionTimeoutMS, undefined)
  })

  it('starts with a new database whose server has collections of its own in it', async () => {
    const withProfile = ({ cursor, ...answer }: Document): Document => {
      const firstBatch = [{ name: 'system.profile', type: 'collection' }, ...cursor.firstBatch]
      return { ...answer, cursor: { ...cursor, id: Long.ZERO, firstBatch } }
    }
    faulty.findFault = (command) => ('listCollections' in command ? { change: withProfile } : undefined)
    const instance = await startProcess({ MONGODB_URI: `${faulty.uri}/profiled` })
    await instance.ready
    await stopProcess(instance)
  })

  it('writes to the journals of a majority and reads from the primary, unless the address says otherwise', async () => {
    const commands: Document[] = []
    faulty.findFault = (command) => void commands.push(command)
    const MONGODB_URI = `${faulty.uri}/${service.db.databaseName}`
    const [instance, patient] = await Promise.all([
      startSecondInstance({
        MONGODB_URI,
        AUDIT_DAYS: '1',
        LOGIN_ATTEMPTS: '1000',
        ACCOUNT_LOGIN_ATTEMPTS: '1000',
      }),
      createPatient(),
    ])
    const plan = await createPlan(patient)
    const send = async (method: string, path: string, body?: object) => {
      const ours = path.startsWith('/1') ? patient.headers : { authorization: `Bearer ${patient.authToken}` }
      const headers = { ...ours, 'content-type': 'application/json' }
      const answer = await fetch(instance.url + path, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
      })
      assert.ok(answer.status < 300, `${path}: ${await answer.text()}`)
    }
    const { email, password, ehrId } = patient
    await send('POST', '/1/login', { username: email, password })
    await send('POST', '/auth/login/password', { email, password })
    await send('POST', '/1/classes/Ehr', { subjectId: 'somebody' })
    await send('PUT', `/1/classes/CarePlan/${plan}`, { name: 'Other' })
    await send('DELETE', `/1/classes/CarePlan/${plan}`)
    await send('POST', `/ehr/${ehrId}/careplan`, { name: 'Another' })
    await send('GET', `/ehr/${ehrId}/careplan`)
    await send('DELETE', `/med/ehr/${ehrId}`)
    await stopProcess(instance)

    const findCommands = (names: string[]) =>
      commands.flatMap((command): Document[] => {
        const name = Object.keys(command)[0] ?? ''
        return names.includes(name) ? [{ ...command, what: `${name} ${command[name]}` }] : []
      })
    // Writes in a transaction become durable with its commit.
    const writes = findCommands(WRITES).filter(
      ({ autocommit, commitTransaction }) => commitTransaction || autocommit !== false,
    )
    for (const { what, writeConcern } of writes)
      assert.deepEqual([writeConcern?.w, writeConcern?.j ?? writeConcern?.journal], ['majority', true], what)
    for (const { what, $readPreference } of findCommands(READS))
      assert.equal($readPreference?.mode ?? 'primary', 'primary', what)
    const kinds = new Set(writes.map(({ what }) => what))
    for (const step of ['commitTransaction 1', 'insert audit.entries'])
      assert.ok(kinds.has(step), `${step}: ${[...kinds]}`)
  })
})
