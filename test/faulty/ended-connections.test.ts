import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import { whileServing } from '../../server/database/replica-set.ts'
import { newPatient, newPlan } from '../harness/care/patients.ts'
import { faultyMongoOfBlock } from '../harness/faulty-mongo/faulty-mongo.ts'
import { service } from '../harness/service/service.ts'
import { found } from '../harness/until.ts'

describe('a database that has ended all connections', function suite() {
  this.timeout(60_000)
  const faulty = faultyMongoOfBlock()

  it('lets what a process that died was writing be written again within seconds', async () => {
    const patient = await newPatient()
    faulty.lingerMs = 60_000
    const appName = 'health-record-service'
    const dying = new MongoClient(faulty.uri, { appName, directConnection: true })
    const session = dying.startSession()
    session.startTransaction()
    const turns = dying.db(service.db.databaseName).collection<{ _id: string }>('ehr.turns')
    await turns.updateOne({ _id: patient.ehrId }, { $inc: { turns: 1 } }, { session, upsert: true })
    await faulty.goAway()
    await newPlan(patient)
    faulty.lingerMs = 0
    await dying.close(true)
    await faulty.comeBack()
  })

  it('is found again by whoever was waiting for an answer', async () => {
    const connect = () => new MongoClient(faulty.uri, whileServing(faulty.uri)).connect()
    const clients = await Promise.all(Array.from({ length: 20 }, connect))
    const isThere = async (client: MongoClient) =>
      found(() =>
        client
          .db()
          .command({ ping: 1 }, { timeoutMS: 2000 })
          .catch(() => undefined),
      )
    const unanswered = clients.map((client) => client.db().collection('unanswered'))
    faulty.fault = ({ find }) => (find === 'unanswered' ? { silence: true } : undefined)
    const waiting = unanswered.map((collection) => collection.findOne().catch(() => {}))
    // The driver does not look for a server twice within half a second.
    await sleep(600)
    await faulty.goAway()
    faulty.fault = () => undefined
    await faulty.comeBack()
    await Promise.all([...clients.map(isThere), ...waiting])
    await Promise.all(clients.map((client) => client.close()))
  })
})
