import { createHash } from 'node:crypto'
import type { Call } from './client.ts'
import type { Ask, Entry, Json } from './entry.ts'

export interface Target {
  ehrId: string
  carePlanId: string
}

export interface Tally {
  entries: number
  stored: number
  known: number
  refused: number
  skipped: Record<string, number>
}

export const NOTHING: Tally = { entries: 0, stored: 0, known: 0, refused: 0, skipped: {} }

export interface Progress {
  /** What an earlier run has done; this one goes on behind its entries. */
  done: Tally
  /** Told what was refused. */
  refused(at: string, reason: string): void
  /** Told after each step, when everything up to there is stored. */
  step(tally: Tally, read: number): void
}

/** Entries sent at the same time; one may hold more than one measurement. */
const STEP = 250
const LARGEST_BATCH = 1000
/** Of a body that cannot be read, or is too large, as a whole: one of its entries may be what is wrong with it. */
const UNREAD = [400, 413]
const FOUND = 200
const CREATED = 201
const THERE_ALREADY = 412

/** Stores what the entries ask for, in their order. @throws Error when the service refuses the import as a whole */
export async function importEntries(
  call: Call,
  target: Target,
  entries: AsyncIterable<Entry>,
  progress: Progress,
): Promise<Tally> {
  const { done } = progress
  const tally: Tally = { ...done, skipped: { ...done.skipped } }
  const storer = new Storer(call, target, tally, progress)
  let seen = 0
  let step: Entry[] = []
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
    if (step.length === STEP) await flush()
  }
  if (step.length > 0) await flush()
  return tally
}

interface Located {
  at: string
  body: Json
}

class Storer {
  readonly #call: Call
  readonly #target: Target
  readonly #tally: Tally
  readonly #progress: Progress
  /** What the EHR has of diagnoses, to which the service gives an id each time. */
  #diagnoses: Set<string> | undefined

  constructor(call: Call, target: Target, tally: Tally, progress: Progress) {
    this.#call = call
    this.#target = target
    this.#tally = tally
    this.#progress = progress
  }

  async store(entries: readonly Entry[]): Promise<void> {
    const measurements: Located[] = []
    for (const { at, asks, fault, skipped } of entries) {
      if (fault !== undefined) this.#refused(at, fault)
      if (skipped !== undefined) this.#tally.skipped[skipped] = (this.#tally.skipped[skipped] ?? 0) + 1
      for (const ask of asks)
        if ('measurement' in ask) measurements.push({ at, body: ask.measurement })
        else await this.#resource(at, ask)
    }
    for (let i = 0; i < measurements.length; i += LARGEST_BATCH)
      await this.#batch(measurements.slice(i, i + LARGEST_BATCH))
  }

  async #batch(measurements: readonly Located[]): Promise<void> {
    const { ehrId, carePlanId } = this.#target
    const items = measurements.map(({ body }) => ({ carePlanId, ...body }))
    const { status, body } = await this.#call('POST', `/ehr/${ehrId}/procedure/batch`, { items })
    if (UNREAD.includes(status)) {
      const [first, ...others] = measurements
      if (others.length === 0) return this.#refused(first?.at ?? '', told(body, status))
      const half = Math.ceil(items.length / 2)
      await this.#batch(measurements.slice(0, half))
      return this.#batch(measurements.slice(half))
    }
    if (status !== 200) throw new Error(`The service refuses the import: ${told(body, status)}`)
    this.#tally.stored += body.stored
    this.#tally.known += body.known
    for (const { index, status, errors } of body.items)
      if (status === 'refused') this.#refused(measurements[index]?.at ?? '', reasons(errors))
  }

  async #resource(at: string, { resource, body }: Exclude<Ask, { measurement: Json }>): Promise<void> {
    const base = `/ehr/${this.#target.ehrId}/${resource}`
    if (resource === 'diagnosis') return this.#diagnosis(at, base, body)
    const substance = String(body.substance)
    if (/\p{Surrogate}/u.test(substance)) return this.#refused(at, 'substance holds half of a character.')
    if (/^\.\.?$/.test(substance)) return this.#refused(at, 'substance must not be . or ..')
    const path = resource === 'device' ? base : `${base}/${encodeURIComponent(substance)}`
    // What is there may have been corrected since.
    this.#count(at, await this.#call('PUT', path, body, { 'if-none-match': '*' }))
  }

  async #diagnosis(at: string, base: string, body: Json): Promise<void> {
    this.#diagnoses ??= await this.#known(base)
    const same = sameness(body)
    if (this.#diagnoses.has(same)) {
      this.#tally.known += 1
      return
    }
    // Under the same key it is stored once, also when another import of the file is under way.
    let key = keyOf(base, body)
    let answer = await this.#call('POST', base, body, { 'idempotency-key': key })
    while (answer.replayed && answer.status === CREATED) {
      const { id } = answer.body
      if ((await this.#call('GET', `${base}/${id}`)).status === FOUND) break
      // It has been deleted since.
      key = keyOf(key, id)
      answer = await this.#call('POST', base, body, { 'idempotency-key': key })
    }
    this.#count(at, answer)
    if (answer.status === CREATED) this.#diagnoses.add(same)
  }

  #count(at: string, { status, body, replayed }: Awaited<ReturnType<Call>>): void {
    if (status === THERE_ALREADY || (status === CREATED && replayed)) this.#tally.known += 1
    else if (status === CREATED) this.#tally.stored += 1
    else this.#refused(at, told(body, status))
  }

  async #known(base: string): Promise<Set<string>> {
    const known = new Set<string>()
    let cursor: string | null = ''
    while (cursor !== null) {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`
      const { status, body } = await this.#call('GET', `${base}?limit=1000${query}`)
      if (status !== 200) throw new Error(`The diagnoses cannot be read: ${told(body, status)}`)
      for (const one of body.items) known.add(sameness(one))
      cursor = body.page.next
    }
    return known
  }

  #refused(at: string, reason: string): void {
    this.#tally.refused += 1
    this.#progress.refused(at, reason)
  }
}

/** What somebody may have more than once is told apart by when it began, or else was recognised or over. */
const sameness = ({ name, code, comment, ...days }: Json): string => {
  // What is known of a day to the month or the year stands in the remark.
  const when = (day: string) => days[day] ?? new RegExp(`^${day}: (.*)$`, 'm').exec(String(comment))?.[1]
  const { system = null, code: value = null } = (code ?? {}) as Json
  return JSON.stringify([
    ...[name, system, value],
    when('onset') ?? when('recognised') ?? when('resolved') ?? null,
  ])
}

const keyOf = (...of: unknown[]): string => createHash('sha256').update(JSON.stringify(of)).digest('hex')

const reasons = (errors: readonly { message: string }[]): string =>
  [...new Set(errors.map(({ message }) => message))].join(' ')

const told = (
  body: { title?: string; detail?: string; errors?: { message: string }[] } | undefined,
  status: number,
): string =>
  body?.errors?.length
    ? reasons(body.errors)
    : [`${body?.title ?? status}.`, body?.detail ?? []].flat().join(' ')
