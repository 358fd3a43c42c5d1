import { createHash } from 'node:crypto'
import { DISTINGUISHING_DAYS, type ImportEntry, type ImportRequest, type JsonObject } from './import-entry.ts'
import type { CallService } from './service-client.ts'

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
  done: ImportTally
  /** Called for each refused row. */
  refused(at: string, reason: string): void
  /** Called after each step, when all entries so far are stored. */
  step(tally: ImportTally, read: number): void
}

/** Entries per round; an entry may contain several measurements. */
const ENTRIES_PER_ROUND = 250
const MAX_BATCH_SIZE = 1000
/** Statuses for an unreadable or oversized body, which a single entry may have caused. */
const UNREADABLE_BODY_STATUSES = [400, 413]
const STATUS_OK = 200
const STATUS_CREATED = 201
const STATUS_PRECONDITION_FAILED = 412

/**
 * Stores the entries in order.
 * @throws Error when the service refuses the whole import
 */
export async function importEntries(
  call: CallService,
  target: ImportTarget,
  entries: AsyncIterable<ImportEntry>,
  progress: ImportProgress,
): Promise<ImportTally> {
  const { done } = progress
  const tally: ImportTally = { ...done, skipped: { ...done.skipped } }
  const storer = new ImportWriter(call, target, tally, progress)
  let seen = 0
  let step: ImportEntry[] = []
  const flush = async (): Promise<void> => {
    await storer.store(step)
    tally.entries += step.length
    progress.step(tally, step.at(-1)?.read ?? 1)
    step = []
  }
  for await (const entry of entries) {
    seen += 1
    if (seen <= done.entries) continue
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
  readonly #call: CallService
  readonly #target: ImportTarget
  readonly #tally: ImportTally
  readonly #progress: ImportProgress
  /** Records of the EHR by resource and key, because the service gives each new one an id. */
  readonly #known = new Map<string, Set<string>>()

  constructor(call: CallService, target: ImportTarget, tally: ImportTally, progress: ImportProgress) {
    this.#call = call
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
    const { status, body } = await this.#call('POST', `/ehr/${ehrId}/procedure/batch`, { items })
    if (UNREADABLE_BODY_STATUSES.includes(status)) {
      const [first, ...others] = measurements
      if (others.length === 0) return this.#reportRefusal(first?.at ?? '', describeProblem(body, status))
      const half = Math.ceil(items.length / 2)
      await this.#storeBatch(measurements.slice(0, half))
      return this.#storeBatch(measurements.slice(half))
    }
    if (status !== 200) throw new Error(`The service rejected the import: ${describeProblem(body, status)}`)
    this.#tally.stored += body.stored
    this.#tally.known += body.known
    for (const { index, status, errors } of body.items)
      if (status === 'refused') this.#reportRefusal(measurements[index]?.at ?? '', joinReasons(errors))
  }

  async #storeResource(
    at: string,
    { resource, body }: Exclude<ImportRequest, { measurement: JsonObject }>,
  ): Promise<void> {
    const base = `/ehr/${this.#target.ehrId}/${resource}`
    if (resource in DISTINGUISHING_DAYS)
      return this.#storeOnce(
        at,
        base,
        DISTINGUISHING_DAYS[resource as keyof typeof DISTINGUISHING_DAYS],
        body,
      )
    const substance = String(body.substance)
    if (/\p{Surrogate}/u.test(substance))
      return this.#reportRefusal(at, 'substance contains an incomplete Unicode character.')
    if (/^\.\.?$/.test(substance)) return this.#reportRefusal(at, 'substance must not be . or ..')
    const path = resource === 'device' ? base : `${base}/${encodeURIComponent(substance)}`
    // An existing record may have been corrected, so it is not overwritten.
    this.#countResult(at, await this.#call('PUT', path, body, { 'if-none-match': '*' }))
  }

  async #storeOnce(at: string, base: string, days: readonly string[], body: JsonObject): Promise<void> {
    const known = this.#known.get(base) ?? (await this.#loadKnown(base, days))
    this.#known.set(base, known)
    const same = recordKeyOf(days, body)
    if (known.has(same)) {
      this.#tally.known += 1
      return
    }
    // The same key stores the record once, even if two imports of the file run concurrently.
    let key = idempotencyKeyOf(base, body)
    let answer = await this.#call('POST', base, body, { 'idempotency-key': key })
    while (answer.replayed && answer.status === STATUS_CREATED) {
      const { id } = answer.body
      if ((await this.#call('GET', `${base}/${id}`)).status === STATUS_OK) break
      // The record was deleted meanwhile, so a new key stores it again.
      key = idempotencyKeyOf(key, id)
      answer = await this.#call('POST', base, body, { 'idempotency-key': key })
    }
    this.#countResult(at, answer)
    if (answer.status === STATUS_CREATED) known.add(same)
  }

  #countResult(at: string, { status, body, replayed }: Awaited<ReturnType<CallService>>): void {
    if (status === STATUS_PRECONDITION_FAILED || (status === STATUS_CREATED && replayed))
      this.#tally.known += 1
    else if (status === STATUS_CREATED) this.#tally.stored += 1
    else this.#reportRefusal(at, describeProblem(body, status))
  }

  async #loadKnown(base: string, days: readonly string[]): Promise<Set<string>> {
    const known = new Set<string>()
    let cursor: string | null = ''
    while (cursor !== null) {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`
      const { status, body } = await this.#call('GET', `${base}?limit=1000${query}`)
      if (status !== 200)
        throw new Error(`The existing records could not be read: ${describeProblem(body, status)}`)
      for (const one of body.items) known.add(recordKeyOf(days, one))
      cursor = body.page.next
    }
    return known
  }

  #reportRefusal(at: string, reason: string): void {
    this.#tally.refused += 1
    this.#progress.refused(at, reason)
  }
}

/**
 * A person can have the same diagnosis, medication or immunisation several times. The key tells them apart by
 * the first of these days that is known.
 */
const recordKeyOf = (days: readonly string[], record: JsonObject): string => {
  const { name, vaccine, code, comment } = record
  // The comment contains imprecise dates.
  const when = (day: string) => record[day] ?? new RegExp(`^${day}: (.*)$`, 'm').exec(String(comment))?.[1]
  const { system = null, code: value = null } = (code ?? {}) as JsonObject
  const [first = null] = days.flatMap((day) => when(day) ?? [])
  return JSON.stringify([name ?? vaccine, system, value, first])
}

const idempotencyKeyOf = (...of: unknown[]): string =>
  createHash('sha256').update(JSON.stringify(of)).digest('hex')

const joinReasons = (errors: readonly { message: string }[]): string =>
  [...new Set(errors.map(({ message }) => message))].join(' ')

const describeProblem = (
  body: { title?: string; detail?: string; errors?: { message: string }[] } | undefined,
  status: number,
): string =>
  body?.errors?.length
    ? joinReasons(body.errors)
    : [`${body?.title ?? status}.`, body?.detail ?? []].flat().join(' ')
