import { createHash } from 'node:crypto'
import { type Answer, type Body, type Client, isProblem, type Problem } from 'health-record-client'
import type {
  ImportEntry,
  ImportedResource,
  ImportRequest,
  JsonObject,
  NaturallyKeyedResource,
  NumberedResource,
} from './import-entry.ts'
import { type IndexedRecord, RecordIndex } from './record-index.ts'

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
    if (entryCount <= previousTally.entries) {
      await storer.claim([entry])
      continue
    }
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
  readonly #indexes = new Map<ImportedResource, RecordIndex>()

  constructor(client: Client, target: ImportTarget, tally: ImportTally, progress: ImportProgress) {
    this.#client = client
    this.#target = target
    this.#tally = tally
    this.#progress = progress
  }

  /** Claims the records of the EHR that came from these entries, before others are compared with them. */
  async claim(entries: readonly ImportEntry[]): Promise<void> {
    for (const request of entries.flatMap(({ requests }) => requests))
      if ('resource' in request && isNumbered(request.resource))
        (await this.#indexOf(request.resource)).claim(request.body)
  }

  async store(entries: readonly ImportEntry[]): Promise<void> {
    await this.claim(entries)
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
  ): Promise<void> {
    if (isNumbered(resource)) return this.#storeNumbered(at, resource, body)
    const substance = String(body.substance)
    if (!substance.isWellFormed())
      return this.#reportRefusal(at, 'substance contains an incomplete Unicode character.')
    if (/^\.\.?$/.test(substance)) return this.#reportRefusal(at, 'substance must not be . or ..')
    const outcome = await this.#count(at, this.#put(resource, body))
    if (outcome === 'exists') await this.#compareExisting(at, resource, body)
  }

  async #put(resource: NaturallyKeyedResource, record: JsonObject) {
    const { ehrId } = this.#target
    const init = { headers: CREATE_ONLY, body: record as never }
    if (resource === 'device')
      return this.#client.PUT('/ehr/{ehrId}/device', { ...init, params: { path: { ehrId } } })
    const path = { ehrId, substance: String(record.substance) }
    return this.#client.PUT('/ehr/{ehrId}/adversereaction/{substance}', { ...init, params: { path } })
  }

  /** Compares an entry with the record that has its natural key. */
  async #compareExisting(at: string, resource: NaturallyKeyedResource, body: JsonObject): Promise<void> {
    let existing = (await this.#indexOf(resource)).find(body)
    if (!existing) {
      // The record is newer than the index.
      this.#indexes.delete(resource)
      existing = (await this.#indexOf(resource)).find(body)
    }
    if (existing) this.#compare(at, body, existing)
    else this.#reportRefusal(at, 'was deleted during the import. Run it again.')
  }

  async #storeNumbered(at: string, resource: NumberedResource, body: JsonObject): Promise<void> {
    const index = await this.#indexOf(resource)
    const existing = index.claim(body) ?? index.findUnclaimed(body)
    if (existing) this.#compare(at, body, existing)
    else if ((await this.#count(at, this.#add(resource, body))) === 'stored') index.add(body, true)
  }

  #compare(at: string, body: JsonObject, existing: IndexedRecord): void {
    const fields = existing.findDifferences(body)
    if (fields.length === 0) this.#tally.known += 1
    else
      this.#reportRefusal(
        at,
        `differs in ${fields.join(', ')} from the record ${existing.id}. The import changes no record: change it there if the file is right.`,
      )
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

  async #count(at: string, call: Promise<{ response: Response }>): Promise<'stored' | 'exists' | 'refused'> {
    try {
      if (isReplayed(await call)) this.#tally.known += 1
      else this.#tally.stored += 1
      return 'stored'
    } catch (problem) {
      if (!isRefusal(problem)) throw problem
      if (problem.code === 'precondition-failed') return 'exists'
      this.#reportRefusal(at, describeProblem(problem))
      return 'refused'
    }
  }

  async #indexOf(resource: ImportedResource): Promise<RecordIndex> {
    const index = this.#indexes.get(resource) ?? new RecordIndex(resource)
    if (!this.#indexes.has(resource)) await this.#load(resource, index)
    this.#indexes.set(resource, index)
    return index
  }

  async #load(resource: ImportedResource, index: RecordIndex): Promise<void> {
    const collection = this.#client[resource === 'adversereaction' ? 'adverseReaction' : resource]
    try {
      for await (const record of collection.list(this.#target.ehrId, { limit: 1000 })) index.add(record)
    } catch (problem) {
      if (!isRefusal(problem)) throw problem
      throw new Error(`The existing records could not be read: ${describeProblem(problem)}`)
    }
  }

  #reportRefusal(at: string, reason: string): void {
    this.#tally.refused += 1
    this.#progress.onRefusal(at, reason)
  }
}

const isNumbered = (resource: ImportedResource): resource is NumberedResource =>
  resource !== 'adversereaction' && resource !== 'device'

/** Whether the same would be refused again: the client has retried what passes, and renewed its token. */
const isRefusal = (problem: unknown): problem is Problem =>
  isProblem(problem) &&
  problem.status >= 400 &&
  problem.status < 500 &&
  ![401, 408, 429].includes(problem.status)

const isReplayed = ({ response }: { response: Response }): boolean =>
  response.headers.has('idempotency-replayed')

const idempotencyKeyOf = (...values: unknown[]): string =>
  createHash('sha256').update(JSON.stringify(values)).digest('hex')

const joinReasons = (errors: readonly { message: string }[]): string =>
  [...new Set(errors.map(({ message }) => message))].join(' ')

const describeProblem = ({ title, detail, errors }: Problem): string =>
  errors.length > 0 ? joinReasons(errors) : [`${title}.`, detail ?? []].flat().join(' ')
