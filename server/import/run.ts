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
  skipped: Map<string, number>
}

export interface Progress {
  /** Entries that an earlier run has done. */
  done: number
  /** Told what was refused. */
  refused(at: string, reason: string): void
  /** Told after each step, when everything up to there is stored. */
  step(entries: number, read: number, tally: Tally): Promise<void>
}

/** Entries that are asked for at once; one may ask for more than one measurement. */
const STEP = 250
const LARGEST_BATCH = 1000

/** Stores what the entries ask for, in their order. @throws Error when the service refuses the import as a whole */
export async function importEntries(
  call: Call,
  target: Target,
  entries: AsyncIterable<Entry>,
  progress: Progress,
): Promise<Tally> {
  const tally: Tally = { entries: 0, stored: 0, known: 0, refused: 0, skipped: new Map() }
  const storer = new Storer(call, target, tally, progress)
  let seen = 0
  let step: Entry[] = []
  const flush = async (): Promise<void> => {
    await storer.store(step)
    tally.entries += step.length
    await progress.step(seen, step.at(-1)?.read ?? 1, tally)
    step = []
  }
  for await (const entry of entries) {
    seen += 1
    if (seen <= progress.done) continue
    step.push(entry)
    if (step.length === STEP) await flush()
  }
  if (step.length > 0) await flush()
  return tally
}

interface Asked {
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
    const measurements: Asked[] = []
    for (const { at, asks, fault, skipped } of entries) {
      if (fault !== undefined) this.#refused(at, fault)
      if (skipped !== undefined) this.#tally.skipped.set(skipped, (this.#tally.skipped.get(skipped) ?? 0) + 1)
      for (const ask of asks)
        if ('measurement' in ask) measurements.push({ at, body: ask.measurement })
        else await this.#resource(at, ask)
    }
    for (let i = 0; i < measurements.length; i += LARGEST_BATCH)
      await this.#batch(measurements.slice(i, i + LARGEST_BATCH))
  }

  async #batch(measurements: readonly Asked[]): Promise<void> {
    const { ehrId, carePlanId } = this.#target
    const items = measurements.map(({ body }) => ({ carePlanId, ...body }))
    const { status, body } = await this.#call('POST', `/ehr/${ehrId}/procedure/batch`, { items })
    if (status !== 200) throw new Error(`The service refuses the import: ${told(body, status)}`)
    this.#tally.stored += body.stored
    this.#tally.known += body.known
    for (const { index, status, errors } of body.items)
      if (status === 'refused') this.#refused(measurements[index]?.at ?? '', reasons(errors))
  }

  async #resource(at: string, { resource, body }: Exclude<Ask, { measurement: Json }>): Promise<void> {
    const base = `/ehr/${this.#target.ehrId}/${resource}`
    if (resource === 'diagnosis') {
      this.#diagnoses ??= await this.#known(base)
      const same = sameness(body)
      if (this.#diagnoses.has(same)) this.#tally.known += 1
      else if (await this.#sent(at, 'POST', base, body)) this.#diagnoses.add(same)
      return
    }
    const path = resource === 'device' ? base : `${base}/${encodeURIComponent(String(body.substance))}`
    await this.#sent(at, 'PUT', path, body)
  }

  async #sent(at: string, method: string, path: string, body: Json): Promise<boolean> {
    const answer = await this.#call(method, path, body)
    const done = answer.status === 200 || answer.status === 201
    if (!done) this.#refused(at, told(answer.body, answer.status))
    else if (answer.status === 201) this.#tally.stored += 1
    else this.#tally.known += 1
    return done
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

const sameness = ({ name, code, onset }: Json): string =>
  JSON.stringify([
    name,
    (code as Json | null)?.system ?? null,
    (code as Json | null)?.code ?? null,
    onset ?? null,
  ])

const reasons = (errors: readonly { message: string }[]): string =>
  errors.map(({ message }) => message).join(' ')

const told = (
  body: { title?: string; errors?: { message: string }[] } | undefined,
  status: number,
): string => (body?.errors?.length ? reasons(body.errors) : `${body?.title ?? status}.`)
