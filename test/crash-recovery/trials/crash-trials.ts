import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Db, MongoClient } from 'mongodb'
import type { CrashService, RequestProgress, ServiceCall } from '../service/crash-service.ts'
import { TrialClinic, type TrialEhr } from './clinic.ts'
import type { ClinicalWrite } from './clinical-writes.ts'
import { type DatabaseState, describeVisible, isJobAwaited, readDatabaseState } from './database-state.ts'
import { findFaults, type KnownRecordParents } from './invariants.ts'

/** The course of a write without interruption. */
interface WriteTrace {
  write: ClinicalWrite
  moments: string[]
  /** The visible data before and after it. */
  before: string[]
  after: string[]
  faults: string[]
}

/** A write that is interrupted before one of its crash points, counted from 1. */
interface CrashTrial {
  course: WriteTrace
  moment: number
}

/** A trial in an EHR of its own. */
interface TrialAttempt {
  trial: CrashTrial
  place: TrialEhr
  /** Whether it stopped at its crash point, not earlier. */
  reached: boolean
  /** Whether it finished without reaching the crash point. */
  ended: boolean
  /** The visible data after the service was killed. */
  left: string[]
}

export interface TrialResults {
  courses: WriteTrace[]
  tried: number
  missedTrials: string[]
}

export interface TrialEnvironment {
  client: MongoClient
  db: Db
  auditKey: string
  start(): Promise<CrashService>
}

/** The number of services that run at the same time. */
const SERVICE_COUNT = 2
/** With fewer trials another service is not worth starting. */
const MIN_TRIALS_PER_SERVICE = 40
/** The time without any progress after which unstopped trials are given up. */
const STALL_TIMEOUT_MS = 10_000
/** The number of concurrent requests to a service while no request is to be stopped. */
const MAX_PARALLEL_REQUESTS = 10

/**
 * Kills the service before each crash point of each write. Each service stops many writes, each at its own
 * crash point and in its own EHR, before it is killed. Trials that waited for a stopped write are repeated in
 * the next service. That service also gets the interrupted requests again.
 */
export class CrashTrials {
  readonly #environment: TrialEnvironment
  readonly #clinic: TrialClinic
  readonly #knownParents: KnownRecordParents = new Map()
  /**
   * Trials whose crash point always happened in another request. Run alone, a request reaches all of its
   * crash points.
   */
  readonly #postponed: CrashTrial[] = []
  readonly #missed: string[] = []
  #places = 0

  private constructor(scene: TrialEnvironment, clinic: TrialClinic) {
    this.#environment = scene
    this.#clinic = clinic
  }

  /**
   * @param every selects every n-th crash point; 1: each
   * @returns the faults, the number of trials, and the trials that finished without their crash point even
   * when alone
   */
  static async run(
    scene: TrialEnvironment,
    writes: readonly ClinicalWrite[],
    every: number,
  ): Promise<TrialResults> {
    const victim = await scene.start()
    const trials = new CrashTrials(scene, await TrialClinic.open(scene.client, scene.db, victim))
    const courses: WriteTrace[] = []
    for (const write of writes) {
      // The first run includes one-time work for a new database or kind, which has no crash points.
      await trials.#traceWrite(victim, write)
      courses.push(await trials.#traceWrite(victim, write))
    }
    const allTrials = courses.flatMap((course) => course.moments.map((_, i) => ({ course, moment: i + 1 })))
    // Each round needs new services. Trials that would need another round are left to the full run.
    const selectedTrials =
      every === 1 ? allTrials : selectStoppable(allTrials.filter((_, i) => i % every === 0))
    let waiting = selectedTrials
    let running = [victim]
    for (let cut: TrialAttempt[] = []; waiting.length > 0 || cut.length > 0; running = []) {
      ;[waiting, cut] = await trials.#runRound(running, waiting, cut)
      if (waiting.length === 0) waiting = trials.#postponed.splice(0, 1)
    }
    return { courses, tried: selectedTrials.length, missedTrials: trials.#missed }
  }

  /** Runs a write without interruption. */
  async #traceWrite(victim: CrashService, write: ClinicalWrite): Promise<WriteTrace> {
    const place = await this.#createEhr(victim, write)
    const before = describeVisible(await this.#readState(), place.name)
    const { answer } = await victim.stop(place.name, Number.MAX_SAFE_INTEGER, this.#createCall(write, place))
    const response = await answer
    assert.ok(response && response.status < 300, `${write.name}: ${JSON.stringify(response)}`)
    const after = describeVisible(await this.#readState(), place.name)
    const { moments } = await victim.progress(place.name)
    return { write, moments, before, after, faults: [] }
  }

  /**
   * Retries the interrupted requests of the last services. Stops the waiting trials in these and new
   * services, and kills them.
   * @returns the trials that still wait, and the attempts interrupted now
   */
  async #runRound(
    running: CrashService[],
    waiting: CrashTrial[],
    cut: TrialAttempt[],
  ): Promise<[CrashTrial[], TrialAttempt[]]> {
    const batches = distribute(
      waiting,
      Math.min(SERVICE_COUNT, Math.ceil(waiting.length / MIN_TRIALS_PER_SERVICE) || 1),
    ).map(selectStoppable)
    const services = await Promise.all(batches.map((_, i) => running[i] ?? this.#environment.start()))
    const resent = distribute(cut, services.length)
    const attempts = await Promise.all(
      services.map(async (victim, i) => {
        await runInParallel(resent[i] ?? [], (attempt) => this.#sendAgain(victim, attempt))
        return this.#stopAll(victim, batches[i] ?? [])
      }),
    )
    await Promise.all(services.map((victim) => victim.kill()))
    const cutNow = attempts.flat()
    await this.#checkInvariants(cut, cutNow)
    await this.#letTimePass()
    return [this.#findWaiting(waiting, cutNow), cutNow.filter(({ ended }) => !ended)]
  }

  /**
   * The trials to repeat: another write may have done the work of the crash point, or may have blocked the
   * trial. If no trial was stopped, the finished ones are repeated alone. A trial that finished alone has
   * missed its crash point.
   */
  #findWaiting(waiting: CrashTrial[], attempts: TrialAttempt[]): CrashTrial[] {
    const stoppedAttempts = attempts.filter((attempt) => attempt.reached)
    const ended = attempts.filter((attempt) => attempt.ended)
    const settledTrials = new Set(
      (stoppedAttempts.length > 0 ? stoppedAttempts : ended).map(({ trial }) => trial),
    )
    const names = (trials: Iterable<CrashTrial>) =>
      [...trials].map(({ course, moment }) => `${course.write.name}: ${describeCrashPoint(course, moment)}`)
    if (stoppedAttempts.length === 0 && attempts.length > 1) this.#postponed.push(...settledTrials)
    if (stoppedAttempts.length === 0 && attempts.length === 1) this.#missed.push(...names(settledTrials))
    assert.ok(
      settledTrials.size > 0 || waiting.length === 0,
      `neither stopped nor ended: ${names(waiting).join('; ')}`,
    )
    return waiting.filter((trial) => !settledTrials.has(trial))
  }

  /** Runs the trials, each until its crash point or until it waits for a stopped one. */
  async #stopAll(victim: CrashService, trials: CrashTrial[]): Promise<TrialAttempt[]> {
    const attempts = await runInParallel(trials, async (trial) => ({
      trial,
      place: await this.#createEhr(victim, trial.course.write),
      left: [],
      reached: false,
      ended: false,
    }))
    // One after the other, since the first of several concurrent requests does work for all of them.
    for (const { trial, place } of attempts)
      await victim.stop(place.name, trial.moment, this.#createCall(trial.course.write, place))
    return this.#waitUntilSettled(victim, attempts)
  }

  /**
   * Polls until a trial has reached its crash point, all have finished, or nothing has made progress for
   * long.
   */
  async #waitUntilSettled(victim: CrashService, attempts: TrialAttempt[]): Promise<TrialAttempt[]> {
    for (let before = '', since = Date.now(); ; await sleep(100)) {
      const progress = await runInParallel(attempts, ({ place }) => victim.progress(place.name))
      const attemptStates = attempts.map((attempt, i) =>
        updateAttempt(attempt, progress[i] as RequestProgress),
      )
      const now = JSON.stringify(progress)
      if (now !== before) [before, since] = [now, Date.now()]
      if (attemptStates.some(({ reached }) => reached) || attemptStates.every(({ ended }) => ended))
        return attemptStates
      if (Date.now() - since > STALL_TIMEOUT_MS) return attemptStates
    }
  }

  /** Checks the data that the killed services have left. */
  async #checkInvariants(sentAgain: TrialAttempt[], cut: TrialAttempt[]): Promise<void> {
    const { db, auditKey } = this.#environment
    const state = await this.#readState()
    assert.deepEqual(await findFaults(db, auditKey, state, this.#knownParents), [])
    for (const attempt of sentAgain) checkVisible(attempt, 'sent again', state, [attempt.trial.course.after])
    for (const attempt of cut) {
      const { before, after } = attempt.trial.course
      // Nobody sees the data until another instance has finished the job.
      if (isJobAwaited(state, attempt.place.name)) continue
      attempt.left = checkVisible(attempt, 'killed', state, attempt.ended ? [after] : [before, after])
    }
  }

  async #createEhr(victim: CrashService, { given, bySubject }: ClinicalWrite): Promise<TrialEhr> {
    this.#places += 1
    return this.#clinic.createEhr(victim, this.#places, given, bySubject === true)
  }

  #createCall({ ask, bySubject }: ClinicalWrite, place: TrialEhr): ServiceCall {
    const call = ask(place)
    const once = call.method === 'POST' ? { 'idempotency-key': place.name } : {}
    return {
      ...call,
      headers: { ...call.headers, ...(bySubject ? place.subject : place.headers), ...once },
    }
  }

  async #sendAgain(
    victim: CrashService,
    { trial: { course, moment }, place, left }: TrialAttempt,
  ): Promise<void> {
    const happened = isDeepStrictEqual(left, course.after)
    if (happened && course.write.makesAnother) return
    const call = this.#createCall(course.write, place)
    const { status, body } = await victim.send(call)
    // All versions of a composition are kept, so a repeated deletion finds it as already deleted.
    const gone = happened && call.method === 'DELETE' && (status === 404 || status === 400)
    // A change that happened has replaced the version that its repetition names.
    // That of a contribution may also find the EHR no longer modifiable.
    const inContribution = JSON.stringify(call.body ?? null).includes('"preceding_version_uid"')
    const replaced =
      happened &&
      ((status === 412 && (inContribution || call.headers?.['if-match'] !== undefined)) ||
        (status === 409 && inContribution))
    if (status >= 300 && !gone && !replaced)
      course.faults.push(
        `sent again after ${describeCrashPoint(course, moment)}: ${status} ${JSON.stringify(body)}`,
      )
  }

  /** Expires leases, and makes deletions old enough for the sweep. */
  async #letTimePass(): Promise<void> {
    const { db } = this.#environment
    const past = { $set: { leaseUntil: new Date(0) } }
    await db.collection('idempotency_keys').updateMany({}, past)
    await db.collection('work.underway').updateMany({}, past)
    await db.collection('Removal').updateMany({}, { $set: { at: new Date(0) } })
  }

  #readState(): Promise<DatabaseState> {
    return readDatabaseState(this.#environment.db)
  }
}

function updateAttempt(attempt: TrialAttempt, { moments, stopped, answered }: RequestProgress): TrialAttempt {
  const waits = !answered && moments.length === attempt.trial.moment - 1
  return { ...attempt, reached: stopped || waits, ended: answered >= 200 && answered < 300 }
}

/** The resource that a request blocks at a crash point, if other requests need it, too. */
function resourceHeldAt({ write, moments }: WriteTrace, moment: number): string | undefined {
  const name = moments[moment - 1] ?? ''
  if (name === 'insert history.changes' || name === 'insert audit.entries') return name
  return write.shares && / in a transaction$|^commitTransaction$/.test(name) ? write.shares : undefined
}

/** The trials that can be stopped together without waiting for each other, in their order. */
function selectStoppable(trials: CrashTrial[]): CrashTrial[] {
  const resources = new Set<string | undefined>()
  const holdsNothing = ({ course, moment }: CrashTrial) => resourceHeldAt(course, moment) === undefined
  return [...trials.filter(holdsNothing), ...trials.filter((trial) => !holdsNothing(trial))].filter(
    ({ course, moment }) => {
      for (let passed = 1; passed < moment; passed++) {
        const resource = resourceHeldAt(course, passed)
        if (resource && resources.has(resource)) return false
      }
      resources.add(resourceHeldAt(course, moment))
      return true
    },
  )
}

const distribute = <T>(items: readonly T[], hands: number): T[][] =>
  Array.from({ length: hands }, (_, hand) => items.filter((_, i) => i % hands === hand))

const describeCrashPoint = ({ moments }: WriteTrace, moment: number): string =>
  `being cut short before ${moment} of ${moments.length}, ${moments[moment - 1]}`

/** Records a fault if the visible data differ from all allowed states. @returns the visible data */
function checkVisible(
  { trial: { course, moment }, place }: TrialAttempt,
  when: string,
  state: DatabaseState,
  allowed: string[][],
): string[] {
  const description = describeVisible(state, place.name)
  if (!allowed.some((lines) => isDeepStrictEqual(lines, description)))
    course.faults.push(`${when} after ${describeCrashPoint(course, moment)}: ${description.join('\n')}`)
  return description
}

async function runInParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (let i = 0; i < items.length; i += MAX_PARALLEL_REQUESTS)
    results.push(...(await Promise.all(items.slice(i, i + MAX_PARALLEL_REQUESTS).map(work))))
  return results
}
