/**
 * Preloaded into the service (`node --import stops.js server/main.js`). A request with the header
 * `x-stop-before: <n>` stops before its n-th crash point, as if the process had been killed there. Code that
 * does not wait for it continues. The crash points of a request are its database writes, including the steps
 * of its transactions, and its answer. Other requests continue, until the test kills the process with all
 * stopped requests.
 *
 * GET /stops/<x-request-id>   the progress of that request, as soon as it rests
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { type IncomingMessage, Server, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { CONCURRENCY_LIMITS } from '../../../records/limits/admission/concurrency-limit.ts'
import { BATCH_LIMITS } from '../../../records/store/batching/transaction-batches.ts'
import type { RequestProgress } from './crash-service.ts'

// Small batches, so that a few documents are enough for a job with several steps.
BATCH_LIMITS.maxDocuments = 5
// A stopped request keeps its place for ever, as no request does in operation.
for (const limit of Object.values(CONCURRENCY_LIMITS)) limit.min = 10_000

interface RequestCourse extends RequestProgress {
  before: number
  /** The number of commands that are being carried out. */
  runningCommands: number
  /** The number of steps that the request has made. */
  moves: number
}

const REQUEST_COURSES = new Map<string, RequestCourse>()
const CURRENT_COURSE = new AsyncLocalStorage<RequestCourse>()

/**
 * A request without progress in so many polls waits for another, stopped request. Ready work runs between two
 * polls, so this holds on slow machines, too.
 */
const MAX_IDLE_POLLS = 15

type Command = Record<string, unknown>
interface Options {
  session?: { inTransaction(): boolean }
}
type Send = (
  this: unknown,
  namespace: unknown,
  command: Command,
  options?: Options,
  ...more: unknown[]
) => unknown

const { Connection }: { Connection: { prototype: { command: Send } } } = createRequire(import.meta.url)(
  'mongodb/lib/cmap/connection',
)
const send = Connection.prototype.command

Connection.prototype.command = async function (namespace, command, options, ...more) {
  const course = CURRENT_COURSE.getStore()
  if (!course) return send.call(this, namespace, command, options, ...more)
  const moment = crashPointOf(command, options)
  if (moment) await reachCrashPoint(course, moment)
  course.runningCommands += 1
  try {
    return await send.call(this, namespace, command, options, ...more)
  } finally {
    course.runningCommands -= 1
    course.moves += 1
  }
}

/** Excludes writes of the mail queue and to sessions, which run independently of the request. */
function crashPointOf(command: Command, options: Options | undefined): string | undefined {
  const name = Object.keys(command)[0] ?? ''
  const write = `${name} ${command[name]}`
  if (name === 'commitTransaction') return name
  if (!/^(insert|update|delete|bulkWrite|findAndModify) /.test(write)) return undefined
  if (/^(update|delete|findAndModify) (mails|_Session)$/.test(write)) return undefined
  return options?.session?.inTransaction() ? `${write} in a transaction` : write
}

/** Never returns at the crash point before which the request is to stop. */
async function reachCrashPoint(course: RequestCourse, moment: string): Promise<void> {
  course.moments.push(moment)
  course.moves += 1
  if (course.moments.length !== course.before) return
  course.stopped = true
  await new Promise(() => {})
}

const emit = Server.prototype.emit
Server.prototype.emit = function (this: Server, event: string, ...args: unknown[]): boolean {
  const pass = () => Reflect.apply(emit, this, [event, ...args]) as boolean
  if (event !== 'request') return pass()
  const [request, response] = args as [IncomingMessage, ServerResponse]
  const { 'x-stop-before': before, 'x-request-id': id } = request.headers
  if (request.url?.startsWith('/stops/'))
    void respondWithProgress(request.url.slice('/stops/'.length), response)
  if (before === undefined || id === undefined) return request.url?.startsWith('/stops/') || pass()
  const course: RequestCourse = {
    moments: [],
    stopped: false,
    answered: 0,
    before: Number(before),
    runningCommands: 0,
    moves: 0,
  }
  REQUEST_COURSES.set(String(id), course)
  COURSE_BY_RESPONSE.set(response, course)
  return CURRENT_COURSE.run(course, pass)
}

const COURSE_BY_RESPONSE = new WeakMap<ServerResponse, RequestCourse>()

const end: (this: ServerResponse, ...args: never[]) => ServerResponse = ServerResponse.prototype.end
ServerResponse.prototype.end = function (...args: never[]) {
  const course = COURSE_BY_RESPONSE.get(this)
  if (!course) return end.apply(this, args)
  void reachCrashPoint(course, 'answer').then(() => {
    course.answered = this.statusCode
    end.apply(this, args)
  })
  return this
}

async function respondWithProgress(id: string, response: ServerResponse): Promise<void> {
  while (!REQUEST_COURSES.has(id)) await sleep(1)
  const course = REQUEST_COURSES.get(id) as RequestCourse
  for (let looks = 0, moves = -1; looks < MAX_IDLE_POLLS && !course.stopped && !course.answered; looks++) {
    if (course.runningCommands > 0 || course.moves !== moves) looks = 0
    moves = course.moves
    await sleep(2)
  }
  const { moments, stopped, answered } = course
  response.end(JSON.stringify({ moments, stopped, answered } satisfies RequestProgress))
}
