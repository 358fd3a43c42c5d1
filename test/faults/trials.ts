import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { Db, MongoClient } from 'mongodb'
import { Clinic, type Place } from './clinic.ts'
import { faultsIn, type Known } from './invariants.ts'
import { readState, type State, seen } from './state.ts'
import type { Call, Victim } from './victim.ts'
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
interface Attempt extends Trial {
  place: Place
  /** What was seen when the service had been killed. */
  left: string[]
}

export interface Scene {
  client: MongoClient
  db: Db
  auditKey: string
  start(): Promise<Victim>
}

/** Requests that are sent side by side while nothing is to be stopped. */
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
  #places = 0

  private constructor(scene: Scene, clinic: Clinic) {
    this.#scene = scene
    this.#clinic = clinic
  }

  /** @returns what was found, and how many services were killed for it */
  static async run(scene: Scene, writes: readonly Write[]): Promise<{ courses: Course[]; kills: number }> {
    const victim = await scene.start()
    const trials = new Trials(scene, await Clinic.open(scene.client, scene.db, victim))
    const courses: Course[] = []
    for (const write of writes) courses.push(await trials.#courseOf(victim, write))
    await victim.kill()
    let kills = 1
    let waiting = courses.flatMap((course) => course.moments.map((_, i) => ({ course, moment: i + 1 })))
    waiting.sort((a, b) => sharing(a) - sharing(b))
    for (let cut: Attempt[] = []; waiting.length > 0 || cut.length > 0; kills += 1)
      [waiting, cut] = await trials.#round(waiting, cut)
    return { courses, kills }
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
   * Sends again what was cut short in the last service, stops what waits in a new one, and kills it.
   * @returns what still waits, and what was cut short now
   */
  async #round(waiting: Trial[], cut: Attempt[]): Promise<[Trial[], Attempt[]]> {
    const victim = await this.#scene.start()
    await sideBySide(cut, (attempt) => this.#sendAgain(victim, attempt))
    const attempts = await sideBySide(waiting, async (trial) => ({
      ...trial,
      place: await this.#newPlace(victim, trial.course.write),
      left: [] as string[],
    }))
    // One after the other: what is done for several requests at once is done by the first of them.
    for (const { course, moment, place } of attempts)
      await victim.stop(place.name, moment, this.#callOf(course.write, place))
    const reached = await sideBySide(attempts, async ({ place, moment }) => {
      const { moments, answered } = await victim.progress(place.name)
      return !answered && moments.length >= moment - 1
    })
    await victim.kill()

    const state = await this.#state()
    assert.deepEqual(await faultsIn(this.#scene.db, this.#scene.auditKey, state, this.#known), [])
    for (const attempt of cut) expect(attempt, 'sent again', state, [attempt.course.after])
    for (const attempt of attempts) {
      const { before, after } = attempt.course
      attempt.left = expect(attempt, 'killed', state, [before, after])
    }
    const still = waiting.filter((_, i) => !reached[i])
    assert.ok(
      still.length < waiting.length || waiting.length === 0,
      'nothing could be stopped where it should',
    )
    await this.#letTimePass()
    return [still, attempts]
  }

  async #newPlace(victim: Victim, { given }: Write): Promise<Place> {
    this.#places += 1
    return this.#clinic.place(victim, `person-${this.#places}-`, given)
  }

  #callOf({ ask }: Write, place: Place): Call {
    const asked = ask(place)
    const once = asked.method === 'POST' ? { headers: { 'idempotency-key': place.name } } : {}
    return this.#clinic.signed({ ...asked, ...once })
  }

  async #sendAgain(victim: Victim, { course, moment, place, left }: Attempt): Promise<void> {
    const happened = isDeepStrictEqual(left, course.after)
    if (happened && course.write.makesAnother) return
    const call = this.#callOf(course.write, place)
    const { status, body } = await victim.send(call)
    const gone = happened && call.method === 'DELETE' && status === 404
    if (status >= 300 && !gone)
      course.faults.push(`sent again after ${at(course, moment)}: ${status} ${JSON.stringify(body)}`)
  }

  /** Leases end, and what goes over removals once more finds them old enough. */
  async #letTimePass(): Promise<void> {
    const { db } = this.#scene
    const past = { $set: { leaseUntil: new Date(0) } }
    await db.collection('idempotency_keys').updateMany({}, past)
    await db.collection('Removal').updateMany({}, { $set: { at: new Date(0) } })
  }

  #state(): Promise<State> {
    return readState(this.#scene.db)
  }
}

/** Last comes what requests wait for that are written together with others. */
const sharing = ({ course, moment }: Trial): number =>
  ['insert history.changes', 'insert audit.entries'].indexOf(course.moments[moment - 1] ?? '')

const at = ({ moments }: Course, moment: number): string =>
  `being cut short before ${moment} of ${moments.length}, ${moments[moment - 1]}`

/** Notes it when what is seen is nothing of what may be. @returns what is seen */
function expect(
  { course, moment, place }: Attempt,
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
