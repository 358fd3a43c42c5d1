import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import { createServingOptions } from '../../server/database/client-options.ts'
import { createPatient, createPlan } from '../harness/care/patients.ts'
import { startFaultyMongoForBlock } from '../harness/faulty-mongo/faulty-mongo.ts'
import { service } from '../harness/service/service.ts'
import { waitFor } from '../harness/wait.ts'

describe('a database that has ended all connections', function suite() {
  this.timeout(60_000)
  const faulty = startFaultyMongoForBlock()

  it('lets the writes of a dead process be repeated within seconds', async () => {
    const patient = await createPatient()
    faulty.lingerMs = 60_000
    const appName = 'health-record-service'
    const dying = new MongoClient(faulty.uri, { appName, directConnection: true })
    const session = dying.startSession()
    session.startTransaction()
    const locks = dying.db(service.db.databaseName).collection<{ _id: string }>('ehr.turns')
    await locks.updateOne({ _id: patient.ehrId }, { $inc: { turns: 1 } }, { session, upsert: true })
    await faulty.stopListening()
    await createPlan(patient)
    faulty.lingerMs = 0
    await dying.close(true)
    await faulty.resumeListening()
  })

  it('is found again by requests that were waiting for an answer', async () => {
    const connect = () => new MongoClient(faulty.uri, createServingOptions(faulty.uri)).connect()
    const clients = await Promise.all(Array.from({ length: 20 }, connect))
    const isThere = async (client: MongoClient) =>
      waitFor(() =>
        client
          .db()
          .command({ ping: 1 }, { timeoutMS: 2000 })
          .catch(() => undefined),
      )
    const unanswered = clients.map((client) => client.db().collection('unanswered'))
    faulty.findFault = ({ find }) => (find === 'unanswered' ? { silence: true } : undefined)
    const waiting = unanswered.map((collection) => collection.findOne().catch(() => {}))
    // The driver does not search for a server twice within half a second.
    await sleep(600)
    await faulty.stopListening()
    faulty.findFault = () => undefined
    await faulty.resumeListening()
    await Promise.all([...clients.map(isThere), ...waiting])
    await Promise.all(clients.map((client) => client.close()))
  })
})
