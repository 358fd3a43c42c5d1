import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Document } from 'mongodb'
import { verifyAudit } from '../../records/store/audit/verifier.ts'
import { createPatient, type Patient } from '../harness/care/patients.ts'
import { type Fault, startFaultyMongoForBlock } from '../harness/faulty-mongo/faulty-mongo.ts'
import { startSecondInstance } from '../harness/service/second-instance.ts'
import { apiKeys, config, service } from '../harness/service/service.ts'
import { type ServiceProcess, stopProcess } from '../harness/service/service-process.ts'
import { bySize } from '../harness/test-size.ts'
import { waitUntil } from '../harness/wait.ts'

const SEED = Number(process.env.SEED ?? 20_261_121)

/** Returns the same numbers from 0 to 1 for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const WRITE_COMMANDS = ['insert', 'update', 'delete', 'bulkWrite', 'findAndModify']

const UNLABELLED_CONFLICT = { ok: 0, code: 112, codeName: 'WriteConflict', errmsg: 'WriteConflict' }
const WRITE_CONFLICT = { ...UNLABELLED_CONFLICT, errorLabels: ['TransientTransactionError'] }
const STEP_DOWN = {
  ok: 0,
  code: 10_107,
  codeName: 'NotWritablePrimary',
  errmsg: 'not primary',
  errorLabels: ['RetryableWriteError'],
}
const WRITE_CONCERN_TIMEOUT = {
  writeConcernError: {
    code: 64,
    codeName: 'WriteConcernFailed',
    errmsg: 'waiting for replication timed out',
    errInfo: { wtimeout: true },
  },
}

describe(`a database that fails now and then (SEED=${SEED})`, function suite() {
  // The machine may be busy.
  this.timeout(600_000)
  const faulty = startFaultyMongoForBlock()
  let instance: ServiceProcess
  let patient: Patient
  const random = createRandom(SEED)
  const happened = new Map<string, number>()
  /** The read concerns of the transactions, as the database receives them. */
  const levels = new Set<string>()

  before(async () => {
    const MONGODB_URI = `${faulty.uri}/${service.db.databaseName}`
    ;[instance, patient] = await Promise.all([startSecondInstance({ MONGODB_URI }), createPatient()])
  })
  after(() => stopProcess(instance))

  const happen = (name: string, fault: Fault): Fault => {
    happened.set(name, (happened.get(name) ?? 0) + 1)
    return fault
  }

  /**
   * Fails the first command of each kind and one in twenty of the others, each in a way that fits its kind.
   */
  function now(command: Document, writable: boolean): Fault | undefined {
    const name = Object.keys(command)[0] ?? ''
    if (command.startTransaction) levels.add(command.readConcern?.level)
    const isWrite = WRITE_COMMANDS.includes(name)
    if (!writable && (isWrite || name === 'commitTransaction'))
      return happen('not writable', { answer: STEP_DOWN })
    const mayFail = (kind: string, fault: Fault) =>
      random() <= 0.05 || !happened.has(kind) ? happen(kind, fault) : undefined
    if (name === 'commitTransaction') return mayFail('lost commit', { cut: 'after' })
    if (isWrite && command.autocommit === false)
      return (
        mayFail('conflict', { answer: WRITE_CONFLICT }) ??
        mayFail('unlabelled conflict', { answer: UNLABELLED_CONFLICT })
      )
    if (isWrite && random() < 0.3)
      return mayFail('wtimeout', { change: (answer) => ({ ...answer, ...WRITE_CONCERN_TIMEOUT }) })
    return isWrite || name === 'find' ? mayFail('cut answer', { cut: 'within' }) : undefined
  }

  /** Like a client that repeats requests with the same Idempotency-Key while they are unanswered or the service is busy. */
  async function create(path: string, body: object): Promise<string> {
    const headers = {
      authorization: `Bearer ${patient.authToken}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    }
    let last = ''
    for (const end = Date.now() + 60_000; Date.now() < end; await sleep(20)) {
      const address = `${instance.url}/ehr/${patient.ehrId}/${path}`
      const answer = await fetch(address, { method: 'POST', headers, body: JSON.stringify(body) })
      const text = await answer.text()
      if (answer.status < 300) return JSON.parse(text).id
      assert.ok([409, 429, 503].includes(answer.status), `${path}: ${answer.status} ${text}`)
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

  it('loses no write and carries out none twice', async () => {
    let writable = false
    faulty.findFault = (command) => now(command, writable)
    const becomesWritable = async () => {
      // However late the first write comes.
      await waitUntil(() => happened.has('not writable'))
      await sleep(bySize(300, 3000))
      writable = true
    }
    const names = Array.from({ length: bySize(6, 200) }, (_, i) => `plan ${i}`)
    const workers = Array.from({ length: 4 }, async () => {
      for (let name = names.pop(); name; name = names.pop()) await work(name)
    })
    await Promise.all([...workers, becomesWritable()])
    faulty.findFault = () => undefined

    const planCount = bySize(6, 200)
    const countInEhr = async (collection: string, where: Document = {}) =>
      service.db.collection(collection).countDocuments({ ehrId: patient.ehrId, ...where })
    assert.deepEqual(
      [
        await countInEhr('CarePlan'),
        await countInEhr('Goal'),
        await countInEhr('Task'),
        await countInEhr('Task', { status: 'COMPLETED' }),
      ],
      [planCount, planCount, 2 * planCount, planCount],
    )
    const changes = service.db.collection<{ _id: string; action: string }>('history.changes')
    const range = { $gte: `${patient.ehrId}/`, $lt: `${patient.ehrId}0` }
    // One entry belongs to the EHR itself.
    assert.equal(await changes.countDocuments({ _id: range, action: 'create' }), 4 * planCount + 1)
    assert.equal(await changes.countDocuments({ _id: range, action: 'update' }), planCount)
    for (const kind of ['conflict', 'unlabelled conflict', 'lost commit', 'cut answer', 'not writable'])
      assert.ok(happened.has(kind), `${kind}: ${JSON.stringify([...happened])}`)
    assert.deepEqual([...levels], ['snapshot'])
    await waitUntil(async () => (await verifyAudit(service.db, config.auditKey)).broken === null)
  })

  it('answers a login that takes too long with 408, in either family', async () => {
    const { email, password } = patient
    const expired = { ok: 0, code: 50, codeName: 'MaxTimeMSExpired', errmsg: 'operation exceeded time limit' }
    const login = (path: string) =>
      fetch(`${instance.url}${path}`, {
        method: 'POST',
        headers: { ...apiKeys(), 'Content-Type': 'application/json' },
        body: JSON.stringify({ email, password }),
      })
    for (const collection of ['_User', '_Session']) {
      faulty.findFault = ({ find, insert }) =>
        [find, insert].includes(collection) ? { answer: expired } : undefined
      const logins = await Promise.all(['/1/login', '/auth/login/password'].map(login))
      assert.deepEqual(
        logins.map(({ status }) => status),
        [408, 408],
        collection,
      )
      assert.equal(((await (logins[0] as Response).json()) as { code: number }).code, 124)
    }
    faulty.findFault = () => undefined
  })
})
