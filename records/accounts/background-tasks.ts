import { setImmediate } from 'node:timers/promises'
import type { Collection, Db } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import { type PeriodicTask, startPeriodicTask } from '../store/batching/periodic-task.ts'
import { dueCondition } from '../store/clocks/lease.ts'
import { newId } from '../store/documents/ids.ts'
import { syncIndexes } from '../store/documents/indexes.ts'

/**
 * Work that continues after the response. It hides whether an address is registered: the response leaves
 * before the lookup, so neither its content nor its timing tells. A task is stored before the response, so
 * a process that ends meanwhile loses none.
 */
export interface BackgroundTasks {
  /**
   * Defines a kind of task.
   * @param work may run again after an interruption
   * @returns stores a task, and starts it after the response. It throws the database's error
   */
  define<T>(kind: string, work: (input: T) => Promise<void>): (input: T) => Promise<void>
}

export interface TaskRunner extends BackgroundTasks {
  /** Runs interrupted tasks from now on. All kinds must be defined. */
  startPolling(): void
  /** Waits for all running tasks. */
  stop(): Promise<void>
}

export interface TaskRunnerOptions {
  db: Db
  /** Encrypts the inputs: they contain addresses and passwords. */
  inputEncryption: { encrypt(plain: string): string; decrypt(ciphertext: string): string | undefined }
  /** Waits for the mails of a task. @throws if one could not be stored */
  waitForMails: () => Promise<void>
  clock: () => Date
  onFault: (fault: unknown) => void
}

interface StoredTask {
  _id: string
  kind: string
  /** The input as JSON, encrypted. */
  sealed: string
  attempts: number
  createdAt: Date
  /** When an instance may try it again. */
  dueAt: Date
}

type Work = (input: never) => Promise<void>

const TASK_POLL_INTERVAL_MS = 5_000
/** Lease of the first attempt; that of each further one is twice as long. */
const TASK_LEASE_MS = 15_000
/** Tasks that still fail are given up. */
const MAX_TASK_AGE_MS = 86_400_000

export const backgroundTasksOf = (db: Db): Collection<StoredTask> =>
  db.collection<StoredTask>('auth.background_tasks')

export async function openBackgroundTasks(options: TaskRunnerOptions): Promise<TaskRunner> {
  const { db, inputEncryption, clock, onFault } = options
  const tasks = backgroundTasksOf(db)
  await syncIndexes(tasks, [
    { key: { dueAt: 1 }, name: 'due' },
    { key: { createdAt: 1 }, name: 'expiry', expireAfterSeconds: MAX_TASK_AGE_MS / 1000 },
  ])
  const works = new Map<string, Work>()
  const running = new Set<Promise<void>>()
  let polling: PeriodicTask | undefined
  const run = (task: StoredTask): Promise<void> => {
    const promise = runTask(task, works.get(task.kind), options)
      .catch(onFault)
      .finally(() => running.delete(promise))
    running.add(promise)
    return promise
  }
  return {
    define(kind, work) {
      works.set(kind, work as Work)
      return async (input) => {
        const createdAt = clock()
        const dueAt = new Date(createdAt.getTime() + TASK_LEASE_MS)
        const encryptedInput = inputEncryption.encrypt(JSON.stringify(input))
        const task = { _id: newId(), kind, sealed: encryptedInput, attempts: 1, createdAt, dueAt }
        await tasks.insertOne(task)
        void run(task)
      }
    },
    startPolling() {
      const poll = async (ending: AbortSignal): Promise<void> => {
        for (let task = await takeTask(options); task; task = await takeTask(options)) {
          await run(task)
          if (ending.aborted) return
        }
      }
      polling = startPeriodicTask(TASK_POLL_INTERVAL_MS, poll, onFault)
    },
    async stop() {
      await polling?.stop()
      while (running.size > 0) await Promise.all(running)
    },
  }
}

/** Takes a task that an instance has left. */
async function takeTask({ db, clock }: TaskRunnerOptions): Promise<StoredTask | undefined> {
  const now = clock().getTime()
  const tasks = backgroundTasksOf(db)
  const due = await tasks.findOne(dueCondition('dueAt', MAX_TASK_AGE_MS, now), { sort: { dueAt: 1 } })
  if (!due) return undefined
  const dueAt = new Date(now + TASK_LEASE_MS * 2 ** due.attempts)
  const filter = { _id: due._id, attempts: due.attempts }
  return (await tasks.findOneAndUpdate(filter, { $set: { dueAt }, $inc: { attempts: 1 } })) ?? undefined
}

/** Runs a task, and removes it once its mails are stored. */
async function runTask(
  { _id, kind, sealed: encryptedInput }: StoredTask,
  work: Work | undefined,
  { db, inputEncryption, waitForMails }: TaskRunnerOptions,
): Promise<void> {
  const tasks = backgroundTasksOf(db)
  await setImmediate()
  const input = inputEncryption.decrypt(encryptedInput)
  // Without its key, nobody can read it any more.
  if (input !== undefined) {
    if (!work) throw new TypeError(`No work is defined for the task ${kind}.`)
    await work(JSON.parse(input) as never).catch(async (error: unknown) => {
      // A refusal stays the same.
      if (error instanceof ServiceError && error.status < 500) await tasks.deleteOne({ _id })
      throw error
    })
    // Parse Server hands mails over without waiting for them.
    await setImmediate()
    await waitForMails()
  }
  await tasks.deleteOne({ _id })
}
