import { createHash } from 'node:crypto'
import { type Answer, type Body, type Client, isProblem, type Problem } from 'health-record-client'
import { DISTINGUISHING_DAYS, type ImportEntry, type ImportRequest, type JsonObject } from './import-entry.ts'

export interface ImportTarget {
  ehrId: string
  carePlanId: string
}

export interface ImportTally {
  entries: number
  stored: number
  known: number
  refused: number
  skipped: Record<string, number>
}

export const EMPTY_TALLY: ImportTally = { entries: 0, stored: 0, known: 0, refused: 0, skipped: {} }

export interface ImportProgress {
  /** Result of an earlier run; this run continues after its entries. */
  previousTally: ImportTally
  /** Called for each refused row. */
  onRefusal(at: string, reason: string): void
  /** Called after each step, when all entries so far are stored. */
  step(tally: ImportTally, read: number): void
}

/** Entries per round; an entry may contain several measurements. */
const ENTRIES_PER_ROUND = 250
const MAX_BATCH_SIZE = 1000
/** Statuses for an unreadable or oversized body, which a single entry may have caused. */
const UNREADABLE_BODY_STATUSES = [400, 413]
const BATCH_PATH = '/ehr/{ehrId}/procedure/batch'
/** Resources whose records the service gives an id. */
type NumberedResource = keyof typeof DISTINGUISHING_DAYS
type BatchOutcome = Answer<typeof BATCH_PATH, 'post'>
/** An existing record may have been corrected, so it is not overwritten. */
const CREATE_ONLY = { 'if-none-match': '*' }

/**
 * Stores the entries in order.
 * @throws Error when the service refuses the whole import
 */
export async function importEntries(
  client: Client,
  target: ImportTarget,
  entries: AsyncIterable<ImportEntry>,
  progress: ImportProgress,
): Promise<ImportTally> {
  const { previousTally } = progress
  const tally: ImportTally = { ...previousTally, skipped: { ...previousTally.skipped } }
  const storer = new ImportWriter(client, target, tally, progress)
  let entryCount = 0
  let step: ImportEntry[] = []
  const flush = async (): Promise<void> => {
    await storer.store(step)
    tally.entries += step.length
    progress.step(tally, step.at(-1)?.read ?? 1)
    step = []
  }
  for await (const entry of entries) {
    entryCount += 1
    if (entryCount <= previousTally.entries) continue
    step.push(entry)
    if (step.length === ENTRIES_PER_ROUND) await flush()
  }
  if (step.length > 0) await flush()
  return tally
}

interface LocatedBody {
  at: string
  body: JsonObject
}

class ImportWriter {
  readonly #client: Client
  readonly #target: ImportTarget
  readonly #tally: ImportTally
  readonly #progress: ImportProgress
  /** Records of the EHR by resource and key, because the service gives each new one an id. */
  readonly #known = new Map<string, Set<string>>()

  constructor(client: Client, target: ImportTarget, tally: ImportTally, progress: ImportProgress) {
    this.#client = client
    this.#target = target
    this.#tally = tally
    this.#progress = progress
  }

  async store(entries: readonly ImportEntry[]): Promise<void> {
    const measurements: LocatedBody[] = []
    for (const { at, requests, fault, skipped } of entries) {
      if (fault !== undefined) this.#reportRefusal(at, fault)
      if (skipped !== undefined) this.#tally.skipped[skipped] = (this.#tally.skipped[skipped] ?? 0) + 1
      for (const request of requests)
        if ('measurement' in request) measurements.push({ at, body: request.measurement })
        else await this.#storeResource(at, request)
    }
    for (let i = 0; i < measurements.length; i += MAX_BATCH_SIZE)
      await this.#storeBatch(measurements.slice(i, i + MAX_BATCH_SIZE))
  }

  async #storeBatch(measurements: readonly LocatedBody[]): Promise<void> {
    const { ehrId, carePlanId } = this.#target
    const items = measurements.map(({ body }) => ({ carePlanId, ...body }))
    try {
      const params = { path: { ehrId } }
      // The service checks the foreign data.
      const body = { items } as unknown as Body<typeof BATCH_PATH>
      const { data } = await this.#client.POST(BATCH_PATH, { params, body })
      this.#countBatch(measurements, data)
    } catch (problem) {
      if (!isRefusal(problem)) throw problem
      if (!UNREADABLE_BODY_STATUSES.includes(problem.status))
        throw new Error(`The service rejected the import: ${describeProblem(problem)}`)
      const [first, ...others] = measurements
      if (others.length === 0) return this.#reportRefusal(first?.at ?? '', describeProblem(problem))
      const half = Math.ceil(items.length / 2)
      await this.#storeBatch(measurements.slice(0, half))
      return this.#storeBatch(measurements.slice(half))
    }
  }

  #countBatch(measurements: readonly LocatedBody[], { stored, known, items }: BatchOutcome): void {
    this.#tally.stored += stored
    this.#tally.known += known
    for (const { index, status, errors = [] } of items)
      if (status === 'refused') this.#reportRefusal(measurements[index]?.at ?? '', joinReasons(errors))
  }

  async #storeResource(
    at: string,
    { resource, body }: Exclude<ImportRequest, { measurement: JsonObject }>,
  ): Promise<unknown> {
    if (resource in DISTINGUISHING_DAYS) return this.#storeOnce(at, resource as NumberedResource, body)
    const { ehrId } = this.#target
    const init = { headers: CREATE_ONLY, body: body as never }
    if (resource === 'device')
      return this.#count(
        at,
        this.#client.PUT('/ehr/{ehrId}/device', { ...init, params: { path: { ehrId } } }),
      )
    const substance = String(body.substance)
    if (/\p{Surrogate}/u.test(substance))
      return this.#reportRefusal(at, 'substance contains an incomplete Unicode character.')
    if (/^\.\.?$/.test(substance)) return this.#reportRefusal(at, 'substance must not be . or ..')
    const path = { ehrId, substance }
    return this.#count(
      at,
      this.#client.PUT('/ehr/{ehrId}/adversereaction/{substance}', { ...init, params: { path } }),
    )
  }

  async #storeOnce(at: string, resource: NumberedResource, body: JsonObject): Promise<void> {
    const knownKeys = this.#known.get(resource) ?? (await this.#loadKnown(resource))
    this.#known.set(resource, knownKeys)
    const same = recordKeyOf(resource, body)
    if (knownKeys.has(same)) {
      this.#tally.known += 1
      return
    }
    const isStored = await this.#count(at, this.#add(resource, body))
    if (isStored) knownKeys.add(same)
  }

  async #add(resource: NumberedResource, record: JsonObject) {
    const { ehrId } = this.#target
    const params = { path: { ehrId } }
    // The service checks the foreign data.
    const body = record as never
    const add = (key: string) =>
      this.#client.POST(`/ehr/{ehrId}/${resource}`, { params, body, headers: { 'idempotency-key': key } })
    // The same key stores the record once, even if two imports of the file run concurrently.
    let key = idempotencyKeyOf(`/ehr/${ehrId}/${resource}`, record)
    let answer = await add(key)
    while (isReplayed(answer) && (await this.#isDeleted(resource, answer.data.id))) {
      // The record was deleted meanwhile, so a new key stores it again.
      key = idempotencyKeyOf(key, answer.data.id)
      answer = await add(key)
    }
    return answer
  }

  async #isDeleted(resource: NumberedResource, id: string): Promise<boolean> {
    try {
      await this.#client[resource].get(this.#target.ehrId, id)
      return false
    } catch (problem) {
      if (isProblem(problem, 'not-found')) return true
      throw problem
    }
  }

  /** @returns whether the record is stored */
  async #count(at: string, call: Promise<{ response: Response }>): Promise<boolean> {
    try {
      if (isReplayed(await call)) this.#tally.known += 1
      else this.#tally.stored += 1
      return true
    } catch (problem) {
      if (!isRefusal(problem)) throw problem
      if (problem.code === 'precondition-failed') this.#tally.known += 1
      else this.#reportRefusal(at, describeProblem(problem))
      return false
    }
  }

  async #loadKnown(resource: NumberedResource): Promise<Set<string>> {
    const knownKeys = new Set<string>()
    try {
      for await (const one of this.#client[resource].list(this.#target.ehrId, { limit: 1000 }))
        knownKeys.add(recordKeyOf(resource, one))
    } catch (problem) {
      if (!isRefusal(problem)) throw problem
      throw new Error(`The existing records could not be read: ${describeProblem(problem)}`)
    }
    return knownKeys
  }

  #reportRefusal(at: string, reason: string): void {
    this.#tally.refused += 1
    this.#progress.onRefusal(at, reason)
  }
}

/**
 * A person can have the same diagnosis, medication or immunisation several times. The key tells them apart by
 * the first of these days that is known.
 */
const recordKeyOf = (resource: NumberedResource, record: JsonObject): string => {
  const { name, vaccine, code, comment } = record
  // The comment contains imprecise dates.
  const when = (day: string) => record[day] ?? new RegExp(`^${day}: (.*)$`, 'm').exec(String(comment))?.[1]
  const { system = null, code: value = null } = (code ?? {}) as JsonObject
  const [first = null] = DISTINGUISHING_DAYS[resource].flatMap((day) => when(day) ?? [])
  return JSON.stringify([name ?? vaccine, system, value, first])
}

/** True if the same would be refused again: the client has retried what passes, and renewed its token. */
const isRefusal = (problem: unknown): problem is Problem =>
  isProblem(problem) &&
  problem.status >= 400 &&
  problem.status < 500 &&
  ![401, 408, 429].includes(problem.status)

const isReplayed = ({ response }: { response: Response }): boolean =>
  response.headers.has('idempotency-replayed')

const idempotencyKeyOf = (...of: unknown[]): string =>
  createHash('sha256').update(JSON.stringify(of)).digest('hex')

const joinReasons = (errors: readonly { message: string }[]): string =>
  [...new Set(errors.map(({ message }) => message))].join(' ')

const describeProblem = ({ title, detail, errors }: Problem): string =>
  errors.length > 0 ? joinReasons(errors) : [`${title}.`, detail ?? []].flat().join(' ')
