/**
 * Preloaded into the service (`node --import stops.js server/main.js`): of a request that carries `x-stop-before: <n>`
 * the n-th moment never comes, as if the process had been killed there; what does not wait for it goes on. The moments
 * of a request are the writes that it sends to the database, the steps of its transactions among them, and its answer.
 * Other requests go on, until the test kills the process with all that was stopped in it.
 *
 *     GET /stops/<x-request-id>   how far that request is, as soon as it rests
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { type IncomingMessage, Server, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { STEP } from '../../../records/store/batching/steps.ts'
import type { Progress } from './victim.ts'

// What is large enough to be done in steps is quickly made.
STEP.documents = 5

interface Course extends Progress {
  before: number
  /** Commands that are being carried out. */
  underWay: number
  /** How often it went on. */
  moves: number
}

const courses = new Map<string, Course>()
const current = new AsyncLocalStorage<Course>()

/**
 * A request that has not gone on at so many looks waits for another one, which was stopped. Whatever was ready had its
 * turn between two looks: the process may be as slow as it likes.
 */
const LOOKS = 15

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
  const course = current.getStore()
  if (!course) return send.call(this, namespace, command, options, ...more)
  const moment = momentOf(command, options)
  if (moment) await reach(course, moment)
  course.underWay += 1
  try {
    return await send.call(this, namespace, command, options, ...more)
  } finally {
    course.underWay -= 1
    course.moves += 1
  }
}

/** The queue of mails and the sessions go their own ways, whichever request woke them. */
function momentOf(command: Command, options: Options | undefined): string | undefined {
  const name = Object.keys(command)[0] ?? ''
  const write = `${name} ${command[name]}`
  if (name === 'commitTransaction') return name
  if (!/^(insert|update|delete|findAndModify) /.test(write)) return undefined
  if (/^(update|delete|findAndModify) (mails|_Session)$/.test(write)) return undefined
  return options?.session?.inTransaction() ? `${write} in a transaction` : write
}

/** Never returns at the moment before which the request is to stop. */
async function reach(course: Course, moment: string): Promise<void> {
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
  if (request.url?.startsWith('/stops/')) void show(request.url.slice('/stops/'.length), response)
  if (before === undefined || id === undefined) return request.url?.startsWith('/stops/') || pass()
  const course: Course = {
    ...{ moments: [], stopped: false, answered: 0 },
    ...{ before: Number(before), underWay: 0, moves: 0 },
  }
  courses.set(String(id), course)
  answers.set(response, course)
  return current.run(course, pass)
}

const answers = new WeakMap<ServerResponse, Course>()

const end: (this: ServerResponse, ...args: never[]) => ServerResponse = ServerResponse.prototype.end
ServerResponse.prototype.end = function (...args: never[]) {
  const course = answers.get(this)
  if (!course) return end.apply(this, args)
  void reach(course, 'answer').then(() => {
    course.answered = this.statusCode
    end.apply(this, args)
  })
  return this
}

async function show(id: string, response: ServerResponse): Promise<void> {
  while (!courses.has(id)) await sleep(1)
  const course = courses.get(id) as Course
  for (let looks = 0, moves = -1; looks < LOOKS && !course.stopped && !course.answered; looks++) {
    if (course.underWay > 0 || course.moves !== moves) looks = 0
    moves = course.moves
    await sleep(2)
  }
  const { moments, stopped, answered } = course
  response.end(JSON.stringify({ moments, stopped, answered } satisfies Progress))
}
