import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Document } from 'mongodb'
import { verifyAudit } from '../../records/store/audit/verifier.ts'
import { newPatient, type Patient } from '../harness/care/patients.ts'
import { type Fault, faultyMongoOfBlock } from '../harness/faulty-mongo/faulty-mongo.ts'
import { startNeighbour } from '../harness/service/neighbour.ts'
import { type ServiceProcess, stopProcess } from '../harness/service/process.ts'
import { config, keys, service } from '../harness/service/service.ts'
import { sized } from '../harness/size.ts'
import { until } from '../harness/until.ts'

const SEED = Number(process.env.SEED ?? 20_261_121)

/** The same numbers for the same seed, from 0 to 1. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const writes = ['insert', 'update', 'delete', 'findAndModify']

const unlabelled = { ok: 0, code: 112, codeName: 'WriteConflict', errmsg: 'WriteConflict' }
const conflict = { ...unlabelled, errorLabels: ['TransientTransactionError'] }
const stepDown = {
  ...{ ok: 0, code: 10_107, codeName: 'NotWritablePrimary', errmsg: 'not primary' },
  errorLabels: ['RetryableWriteError'],
}
const wtimeout = {
  writeConcernError: {
    ...{ code: 64, codeName: 'WriteConcernFailed', errmsg: 'waiting for replication timed out' },
    errInfo: { wtimeout: true },
  },
}

describe(`a database that fails now and then (SEED=${SEED})`, function suite() {
  // A machine may have more to do than this.
  this.timeout(600_000)
  const faulty = faultyMongoOfBlock()
  let instance: ServiceProcess
  let patient: Patient
  const random = numbers(SEED)
  const happened = new Map<string, number>()
  /** What transactions see of others, as the database is told. */
  const levels = new Set<string>()

  before(async () => {
    const MONGODB_URI = `${faulty.uri}/${service.db.databaseName}`
    ;[instance, patient] = await Promise.all([startNeighbour({ MONGODB_URI }), newPatient()])
  })
  after(() => stopProcess(instance))

  const happen = (name: string, fault: Fault): Fault => {
    happened.set(name, (happened.get(name) ?? 0) + 1)
    return fault
  }

  /** The first command of a kind fails, and one in twenty of the others, each in the way of its kind. */
  function now(command: Document, writable: boolean): Fault | undefined {
    const name = Object.keys(command)[0] ?? ''
    if (command.startTransaction) levels.add(command.readConcern?.level)
    const isWrite = writes.includes(name)
    if (!writable && (isWrite || name === 'commitTransaction'))
      return happen('not writable', { answer: stepDown })
    const mayFail = (kind: string, fault: Fault) =>
      random() <= 0.05 || !happened.has(kind) ? happen(kind, fault) : undefined
    if (name === 'commitTransaction') return mayFail('lost commit', { cut: 'after' })
    if (isWrite && command.autocommit === false)
      return (
        mayFail('conflict', { answer: conflict }) ?? mayFail('unlabelled conflict', { answer: unlabelled })
      )
    if (isWrite && random() < 0.3)
      return mayFail('wtimeout', { change: (answer) => ({ ...answer, ...wtimeout }) })
    return isWrite || name === 'find' ? mayFail('cut answer', { cut: 'within' }) : undefined
  }

  /** As a client that repeats what it has no answer to, under the same key. */
  async function create(path: string, body: object): Promise<string> {
    const headers = {
      ...{ authorization: `Bearer ${patient.authToken}`, 'content-type': 'application/json' },
      'idempotency-key': randomUUID(),
    }
    let last = ''
    for (const end = Date.now() + 60_000; Date.now() < end; await sleep(20)) {
      const address = `${instance.url}/ehr/${patient.ehrId}/${path}`
      const answer = await fetch(address, { method: 'POST', headers, body: JSON.stringify(body) })
      const text = await answer.text()
      if (answer.status < 300) return JSON.parse(text).id
      assert.ok([409, 503].includes(answer.status), `${path}: ${answer.status} ${text}`)
      last = `${answer.status} ${text}`
    }
    throw new Error(`no answer about ${path}: ${last}`)
  }

  async function work(name: string): Promise<void> {
    const plan = await create('careplan', { name })
    const goal = await create(`careplan/${plan}/goal`, { name })
    const [task] = await Promise.all(
      ['a', 'b'].map((one) => create(`careplan/${plan}/goal/${goal}/task`, { name: name + one })),
    )
    await create(`careplan/${plan}/goal/${goal}/task/${task}/close`, { outcome: 'done' })
  }

  it('loses nothing and does nothing twice', async () => {
    let writable = false
    faulty.fault = (command) => now(command, writable)
    const becomesWritable = async () => {
      // However late the first write comes.
      await until(() => happened.has('not writable'))
      await sleep(sized(300, 3000))
      writable = true
    }
    const names = Array.from({ length: sized(6, 200) }, (_, i) => `plan ${i}`)
    const workers = Array.from({ length: 4 }, async () => {
      for (let name = names.pop(); name; name = names.pop()) await work(name)
    })
    await Promise.all([...workers, becomesWritable()])
    faulty.fault = () => undefined

    const made = sized(6, 200)
    const counted = async (collection: string, where: Document = {}) =>
      service.db.collection(collection).countDocuments({ ehrId: patient.ehrId, ...where })
    assert.deepEqual(
      [
        await counted('CarePlan'),
        await counted('Goal'),
        await counted('Task'),
        await counted('Task', { status: 'COMPLETED' }),
      ],
      [made, made, 2 * made, made],
    )
    const changes = service.db.collection<{ _id: string; action: string }>('history.changes')
    const range = { $gte: `${patient.ehrId}/`, $lt: `${patient.ehrId}0` }
    // One is the EHR's own.
    assert.equal(await changes.countDocuments({ _id: range, action: 'create' }), 4 * made + 1)
    assert.equal(await changes.countDocuments({ _id: range, action: 'update' }), made)
    for (const kind of ['conflict', 'unlabelled conflict', 'lost commit', 'cut answer', 'not writable'])
      assert.ok(happened.has(kind), `${kind}: ${JSON.stringify([...happened])}`)
    assert.deepEqual([...levels], ['snapshot'])
    await until(async () => (await verifyAudit(service.db, config.auditKey)).broken === null)
  })

  it('tells who logs in, in either family, that it took too long', async () => {
    const { email, password } = patient
    const expired = { ok: 0, code: 50, codeName: 'MaxTimeMSExpired', errmsg: 'operation exceeded time limit' }
    const login = (path: string) =>
      fetch(`${instance.url}${path}`, {
        method: 'POST',
        headers: { ...keys(), 'Content-Type': 'application/json' },
        body: JSON.stringify({ email, password }),
      })
    for (const collection of ['_User', '_Session']) {
      faulty.fault = ({ find, insert }) =>
        [find, insert].includes(collection) ? { answer: expired } : undefined
      const told = await Promise.all(['/1/login', '/auth/login/password'].map(login))
      assert.deepEqual(
        told.map(({ status }) => status),
        [408, 408],
        collection,
      )
      assert.equal(((await (told[0] as Response).json()) as { code: number }).code, 124)
    }
    faulty.fault = () => undefined
  })
})
