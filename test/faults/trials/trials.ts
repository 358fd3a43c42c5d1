import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Db, MongoClient } from 'mongodb'
import type { Call, Progress, Victim } from '../victim/victim.ts'
import { Clinic, type Place } from './clinic.ts'
import { faultsIn, type Known } from './invariants.ts'
import { isAwaited, readState, type State, seen } from './state.ts'
import type { Write } from './writes.ts'

/** A write as it goes when nothing comes in between. */
interface Course {
  write: Write
  moments: string[]
  /** What is seen before it and after it. */
  before: string[]
  after: string[]
  faults: string[]
}

/** What is to be tried: a write that is cut short before one of its moments, the first of which is 1. */
interface Trial {
  course: Course
  moment: number
}

/** A trial in an EHR of its own. */
interface Attempt {
  trial: Trial
  place: Place
  /** Whether it was stopped at its moment, not before. */
  reached: boolean
  /** Whether it did all it should without that moment. */
  ended: boolean
  /** What was seen when the service had been killed. */
  left: string[]
}

export interface Found {
  courses: Course[]
  tried: number
  missed: string[]
}

export interface Scene {
  client: MongoClient
  db: Db
  auditKey: string
  start(): Promise<Victim>
}

/** Services that run at the same time. */
const SERVICES = 2
/** Trials for which it is worth while to start one. */
const ENOUGH = 40
/** For so long nothing goes on at all before those that were not stopped are given up. */
const STILL_MS = 10_000
/** Requests that are sent side by side to one while nothing is to be stopped. */
const SIDE_BY_SIDE = 10

/**
 * Kills the service before each moment of each write. Many writes are stopped in one service, each at a moment of its
 * own and in an EHR of its own, and killed with it. Those that did not get as far, because they waited for one that was
 * stopped, have their turn in the next service; it is also sent the requests again that were cut short.
 */
export class Trials {
  readonly #scene: Scene
  readonly #clinic: Clinic
  readonly #known: Known = new Map()
  /** Those whose moment was another request's each time; by themselves, all of their moments are their own. */
  readonly #elusive: Trial[] = []
  readonly #missed: string[] = []
  #places = 0

  private constructor(scene: Scene, clinic: Clinic) {
    this.#scene = scene
    this.#clinic = clinic
  }

  /**
   * @param every the how manieth moment is tried; 1: each
   * @returns what was found, how many were tried, and which came to their end without their moment, the last time alone
   */
  static async run(scene: Scene, writes: readonly Write[], every: number): Promise<Found> {
    const victim = await scene.start()
    const trials = new Trials(scene, await Clinic.open(scene.client, scene.db, victim))
    const courses: Course[] = []
    for (const write of writes) {
      // What a new database, or a kind of its data, needs once is no moment of a write.
      await trials.#courseOf(victim, write)
      courses.push(await trials.#courseOf(victim, write))
    }
    const all = courses.flatMap((course) => course.moments.map((_, i) => ({ course, moment: i + 1 })))
    // Each round has services of its own: what would need another one is left to the run that tries all.
    const chosen = every === 1 ? all : thatCanBeStopped(all.filter((_, i) => i % every === 0))
    let waiting = chosen
    let running = [victim]
    for (let cut: Attempt[] = []; waiting.length > 0 || cut.length > 0; running = []) {
      ;[waiting, cut] = await trials.#round(running, waiting, cut)
      if (waiting.length === 0) waiting = trials.#elusive.splice(0, 1)
    }
    return { courses, tried: chosen.length, missed: trials.#missed }
  }

  /** Does a write without a fault. */
  async #courseOf(victim: Victim, write: Write): Promise<Course> {
    const place = await this.#newPlace(victim, write)
    const before = seen(await this.#state(), place.name)
    const { answer } = await victim.stop(place.name, Number.MAX_SAFE_INTEGER, this.#callOf(write, place))
    const answered = await answer
    assert.ok(answered && answered.status < 300, `${write.name}: ${JSON.stringify(answered)}`)
    const after = seen(await this.#state(), place.name)
    const { moments } = await victim.progress(place.name)
    return { write, moments, before, after, faults: [] }
  }

  /**
   * Sends again what was cut short in the last services, stops what waits in those that run and new ones, and kills them.
   * @returns what still waits, and what was cut short now
   */
  async #round(running: Victim[], waiting: Trial[], cut: Attempt[]): Promise<[Trial[], Attempt[]]> {
    const batches = dealt(waiting, Math.min(SERVICES, Math.ceil(waiting.length / ENOUGH) || 1)).map(
      thatCanBeStopped,
    )
    const services = await Promise.all(batches.map((_, i) => running[i] ?? this.#scene.start()))
    const again = dealt(cut, services.length)
    const attempts = await Promise.all(
      services.map(async (victim, i) => {
        await sideBySide(again[i] ?? [], (attempt) => this.#sendAgain(victim, attempt))
        return this.#stopAll(victim, batches[i] ?? [])
      }),
    )
    await Promise.all(services.map((victim) => victim.kill()))
    const cutNow = attempts.flat()
    await this.#look(cut, cutNow)
    await this.#letTimePass()
    return [this.#stillWaiting(waiting, cutNow), cutNow.filter(({ ended }) => !ended)]
  }

  /**
   * What has to be tried again: another write may have done what it was to be stopped at, or may have held it up. When
   * none of them was stopped, those that have ended are tried alone, and when they were alone, the moment is not there.
   */
  #stillWaiting(waiting: Trial[], attempts: Attempt[]): Trial[] {
    const reached = attempts.filter((attempt) => attempt.reached)
    const ended = attempts.filter((attempt) => attempt.ended)
    const done = new Set((reached.length > 0 ? reached : ended).map(({ trial }) => trial))
    const names = (trials: Iterable<Trial>) =>
      [...trials].map(({ course, moment }) => `${course.write.name}: ${at(course, moment)}`)
    if (reached.length === 0 && attempts.length > 1) this.#elusive.push(...done)
    if (reached.length === 0 && attempts.length === 1) this.#missed.push(...names(done))
    assert.ok(
      done.size > 0 || waiting.length === 0,
      `neither stopped nor ended: ${names(waiting).join('; ')}`,
    )
    return waiting.filter((trial) => !done.has(trial))
  }

  /** Lets the trials run, each until its moment or until it waits for one that was stopped. */
  async #stopAll(victim: Victim, trials: Trial[]): Promise<Attempt[]> {
    const attempts = await sideBySide(trials, async (trial) => ({
      ...{ trial, place: await this.#newPlace(victim, trial.course.write) },
      ...{ left: [], reached: false, ended: false },
    }))
    // One after the other: what is done for several requests at once is done by the first of them.
    for (const { trial, place } of attempts)
      await victim.stop(place.name, trial.moment, this.#callOf(trial.course.write, place))
    return this.#settled(victim, attempts)
  }

  /** Looks at them until one is where it should be, or all have ended, or nothing has gone on for long. */
  async #settled(victim: Victim, attempts: Attempt[]): Promise<Attempt[]> {
    for (let before = '', since = Date.now(); ; await sleep(100)) {
      const progress = await sideBySide(attempts, ({ place }) => victim.progress(place.name))
      const found = attempts.map((attempt, i) => reachedBy(attempt, progress[i] as Progress))
      const now = JSON.stringify(progress)
      if (now !== before) [before, since] = [now, Date.now()]
      if (found.some(({ reached }) => reached) || found.every(({ ended }) => ended)) return found
      if (Date.now() - since > STILL_MS) return found
    }
  }

  /** Looks at what the killed services have left. */
  async #look(sentAgain: Attempt[], cut: Attempt[]): Promise<void> {
    const { db, auditKey } = this.#scene
    const state = await this.#state()
    assert.deepEqual(await faultsIn(db, auditKey, state, this.#known), [])
    for (const attempt of sentAgain) expect(attempt, 'sent again', state, [attempt.trial.course.after])
    for (const attempt of cut) {
      const { before, after } = attempt.trial.course
      // Nobody sees it before another one has done the rest.
      if (isAwaited(state, attempt.place.name)) continue
      attempt.left = expect(attempt, 'killed', state, attempt.ended ? [after] : [before, after])
    }
  }

  async #newPlace(victim: Victim, { given, bySubject }: Write): Promise<Place> {
    this.#places += 1
    return this.#clinic.place(victim, this.#places, given, bySubject === true)
  }

  #callOf({ ask, bySubject }: Write, place: Place): Call {
    const call = ask(place)
    const once = call.method === 'POST' ? { 'idempotency-key': place.name } : {}
    return {
      ...call,
      headers: { ...call.headers, ...(bySubject ? place.subject : place.headers), ...once },
    }
  }

  async #sendAgain(victim: Victim, { trial: { course, moment }, place, left }: Attempt): Promise<void> {
    const happened = isDeepStrictEqual(left, course.after)
    if (happened && course.write.makesAnother) return
    const call = this.#callOf(course.write, place)
    const { status, body } = await victim.send(call)
    // Of a composition all versions are kept: it is not gone, but deleted already.
    const gone = happened && call.method === 'DELETE' && (status === 404 || status === 400)
    if (status >= 300 && !gone)
      course.faults.push(`sent again after ${at(course, moment)}: ${status} ${JSON.stringify(body)}`)
  }

  /** Leases end, and what goes over removals once more finds them old enough. */
  async #letTimePass(): Promise<void> {
    const { db } = this.#scene
    const past = { $set: { leaseUntil: new Date(0) } }
    await db.collection('idempotency_keys').updateMany({}, past)
    await db.collection('work.underway').updateMany({}, past)
    await db.collection('Removal').updateMany({}, { $set: { at: new Date(0) } })
  }

  #state(): Promise<State> {
    return readState(this.#scene.db)
  }
}

function reachedBy(attempt: Attempt, { moments, stopped, answered }: Progress): Attempt {
  const waits = !answered && moments.length === attempt.trial.moment - 1
  return { ...attempt, reached: stopped || waits, ended: answered >= 200 && answered < 300 }
}

/** What a request holds while it is at one of its moments, if others need it too. */
function heldAt({ write, moments }: Course, moment: number): string | undefined {
  const name = moments[moment - 1] ?? ''
  if (name === 'insert history.changes' || name === 'insert audit.entries') return name
  return write.shares && / in a transaction$|^commitTransaction$/.test(name) ? write.shares : undefined
}

/** Those that do not have to wait for each other before they are where they are to be stopped, in their order. */
function thatCanBeStopped(trials: Trial[]): Trial[] {
  const held = new Set<string | undefined>()
  const holdsNothing = ({ course, moment }: Trial) => heldAt(course, moment) === undefined
  return [...trials.filter(holdsNothing), ...trials.filter((trial) => !holdsNothing(trial))].filter(
    ({ course, moment }) => {
      for (let passed = 1; passed < moment; passed++) {
        const needed = heldAt(course, passed)
        if (needed && held.has(needed)) return false
      }
      held.add(heldAt(course, moment))
      return true
    },
  )
}

const dealt = <T>(items: readonly T[], hands: number): T[][] =>
  Array.from({ length: hands }, (_, hand) => items.filter((_, i) => i % hands === hand))

const at = ({ moments }: Course, moment: number): string =>
  `being cut short before ${moment} of ${moments.length}, ${moments[moment - 1]}`

/** Notes it when what is seen is nothing of what may be. @returns what is seen */
function expect(
  { trial: { course, moment }, place }: Attempt,
  when: string,
  state: State,
  allowed: string[][],
): string[] {
  const found = seen(state, place.name)
  if (!allowed.some((lines) => isDeepStrictEqual(lines, found)))
    course.faults.push(`${when} after ${at(course, moment)}: ${found.join('\n')}`)
  return found
}

async function sideBySide<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let i = 0; i < items.length; i += SIDE_BY_SIDE)
    results.push(...(await Promise.all(items.slice(i, i + SIDE_BY_SIDE).map(work))))
  return results
}
