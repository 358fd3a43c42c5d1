import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Db } from 'mongodb'
import {
  backgroundTasksOf,
  openBackgroundTasks,
  type TaskRunner,
} from '../../records/accounts/background-tasks.ts'
import { usersOf } from '../../records/accounts/user/user.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { DAY_MS } from '../../schemas/time/durations.ts'
import { createKeyEncryption } from '../../server/keys/key-encryption.ts'
import { followLink, waitForMail, waitForMailAfter } from '../harness/mail/mail.ts'
import { createAddress, logIn, password, register } from '../harness/people/people.ts'
import { config, service } from '../harness/service/service.ts'
import { useTestStore } from '../harness/test-store.ts'
import { waitUntil } from '../harness/wait.ts'

const inputEncryptionOf = (secret: string) => createKeyEncryption(secret, 'background tasks')

describe('a task after the response', () => {
  const opened = useTestStore()
  const runners: TaskRunner[] = []
  const faults: unknown[] = []
  let db: Db

  /** Opens the tasks as an instance does at a later time. */
  async function openTasks(later = 0, more: { key?: string; waitForMails?: () => Promise<void> } = {}) {
    const runner = await openBackgroundTasks({
      db,
      inputEncryption: inputEncryptionOf(more.key ?? 'a key of 16 letters'),
      waitForMails: more.waitForMails ?? (async () => {}),
      clock: () => new Date(Date.now() + later),
      onFault: (fault) => faults.push(fault),
    })
    runners.push(runner)
    return runner
  }
  const countTasks = () => backgroundTasksOf(db).countDocuments()

  before(() => {
    db = opened.db
  })
  afterEach(async () => {
    await Promise.all(runners.splice(0).map((runner) => runner.stop()))
    await backgroundTasksOf(db).deleteMany({})
    faults.splice(0)
  })

  /** Stores a task, whose work ends with the process. */
  async function storeInterrupted(input: object): Promise<void> {
    const runner = await openTasks()
    runners.pop()
    let hasBegun = false
    const start = runner.define<object>('note', () => {
      hasBegun = true
      return new Promise<void>(() => {})
    })
    await start(input)
    await waitUntil(() => hasBegun)
  }

  async function runNotes(later: number, work: (input: object) => Promise<void> = async () => {}) {
    const inputs: object[] = []
    const runner = await openTasks(later)
    runner.define<object>('note', (input) => {
      inputs.push(input)
      return work(input)
    })
    runner.startPolling()
    return inputs
  }

  it('is stored without a readable address or password before the response', async () => {
    await storeInterrupted({ email: 'anna@example.org', password })
    const text = JSON.stringify(await backgroundTasksOf(db).find().toArray())
    assert.match(text, /"kind":"note"/)
    for (const secret of ['anna', password]) assert.ok(!text.includes(secret), text)
  })

  it('is carried out by the next process if its process ends', async () => {
    await storeInterrupted({ email: 'anna@example.org' })
    const inputs = await runNotes(20_000)
    await waitUntil(async () => (await countTasks()) === 0)
    assert.deepEqual(inputs, [{ email: 'anna@example.org' }])
  })

  it('stays with its instance for a while', async () => {
    await storeInterrupted({ text: 'a' })
    const inputs = await runNotes(0)
    await storeInterrupted({ text: 'b' })
    await backgroundTasksOf(db).updateOne({}, { $set: { dueAt: new Date(Date.now() - 1) } })
    const otherNotes = await runNotes(0)
    await waitUntil(() => inputs.length + otherNotes.length > 0)
    await waitUntil(async () => (await countTasks()) === 1)
    assert.deepEqual([...inputs, ...otherNotes], [{ text: 'a' }])
  })

  it('is tried again after a fault, later each time', async () => {
    await storeInterrupted({ text: 'a' })
    const fail = async () => assert.fail('no database')
    for (const [later, leftMs] of [
      [20_000, 30_000],
      [60_000, 60_000],
    ] as const) {
      await runNotes(later, fail)
      await waitUntil(() => faults.splice(0).length === 1)
      const task = await backgroundTasksOf(db).findOne({})
      assert.ok(Math.abs(Number(task?.dueAt) - Date.now() - later - leftMs) < 15_000, String(task?.dueAt))
    }
    const inputs = await runNotes(DAY_MS / 2)
    await waitUntil(async () => (await countTasks()) === 0)
    assert.equal(inputs.length, 1)
  })

  it('is not tried again after a refusal', async () => {
    const runner = await openTasks()
    await runner.define('note', async () => {
      throw new ServiceError('Conflict')
    })({})
    await waitUntil(async () => (await countTasks()) === 0)
    assert.equal(faults.length, 1)
  })

  it('is not done until its mails are stored', async () => {
    const runner = await openTasks(0, { waitForMails: async () => assert.fail('full disk') })
    await runner.define('note', async () => {})({})
    await waitUntil(() => faults.length === 1)
    assert.equal(await countTasks(), 1)
  })

  it('is removed if nobody has its key any more', async () => {
    await storeInterrupted({ text: 'a' })
    const runner = await openTasks(20_000, { key: 'another key of 16 letters' })
    runner.startPolling()
    await waitUntil(async () => (await countTasks()) === 0)
  })
})

describe('a registration that was interrupted', () => {
  const storeTask = (kind: string, input: unknown) =>
    backgroundTasksOf(service.db).insertOne({
      _id: randomUUID(),
      kind,
      sealed: inputEncryptionOf(config.keyEncryptionKey).encrypt(JSON.stringify(input)),
      attempts: 1,
      createdAt: new Date(),
      dueAt: new Date(),
    })

  it('creates the account', async () => {
    const email = createAddress()
    await storeTask('signUp', {
      id: `later-${randomUUID()}`.slice(0, 20),
      email,
      password,
      termsVersion: '1',
    })
    await followLink((await waitForMail(email)).link)
    assert.equal((await logIn(email)).status, 200)
  })

  it('mails the link again if the account exists, and asks for no password', async () => {
    const email = createAddress()
    await register(email)
    const former = await waitForMail(email)
    const user = await usersOf(service.db).findOne({ email })
    await storeTask('signUp', { id: user?._id, email, password, termsVersion: '1' })
    await followLink((await waitForMailAfter(email, former)).link)
    assert.equal((await logIn(email)).body.mvUid, user?._id)
  })
})
