import type { Access, Audit } from '../store/audit/trail.ts'
import type { Caller } from '../store/documents/caller.ts'
import { accessesOf } from '../store/resource.ts'
import type { ChangedRecord } from './happenings.ts'

/** For so long what one follower hears of one kind of records of one EHR makes two entries at most. */
const PERIOD_MS = 60_000

interface Period {
  until: number
  caller: Caller
  /** What has been heard since its first entry. */
  more: ChangedRecord[]
}

/** What the audit keeps of those who follow. */
export class Notes {
  readonly #audit: Audit
  readonly #onFault: (fault: unknown) => void
  readonly #ending = new Set<Promise<void>>()

  constructor(audit: Audit, onFault: (fault: unknown) => void) {
    this.#audit = audit
    this.#onFault = onFault
  }

  begin(): Noted {
    return new Noted(this.#audit)
  }

  /** Somebody follows no more. @param told when they have heard the last of it */
  end(noted: Noted, told: Promise<void>): void {
    const ending = told.then(() => noted.close(true)).catch(this.#onFault)
    this.#ending.add(ending)
    ending.finally(() => this.#ending.delete(ending))
  }

  /** Resolves when all is kept of those who follow no more. */
  async kept(): Promise<void> {
    await Promise.all(this.#ending)
  }
}

/**
 * What a follower hears, as the audit keeps it: an entry before the first record of a period is told, and one with
 * the others at its end.
 */
export class Noted {
  readonly #audit: Audit
  readonly #periods = new Map<string, Period>()

  constructor(audit: Audit) {
    this.#audit = audit
  }

  /** To be waited for before they are told. */
  async note(caller: Caller, records: readonly ChangedRecord[]): Promise<void> {
    const first: ChangedRecord[] = []
    for (const record of records) {
      const key = `${record.ehrId}/${record.collection}`
      const period = this.#periods.get(key)
      if (period) period.more.push(record)
      else {
        this.#periods.set(key, { until: Date.now() + PERIOD_MS, caller, more: [] })
        first.push(record)
      }
    }
    await this.#audit.record(...heard(caller, first))
  }

  /** Closes the periods that are over, or all. */
  async close(all = false): Promise<void> {
    const over = [...this.#periods].filter(([, { until }]) => all || until <= Date.now())
    for (const [key] of over) this.#periods.delete(key)
    await this.#audit.record(...over.flatMap(([, { caller, more }]) => heard(caller, more)))
  }
}

function heard(caller: Caller, records: readonly ChangedRecord[]): Access[] {
  const kinds = new Set(records.map(({ collection }) => collection))
  return [...kinds].flatMap((collection) =>
    accessesOf(
      { collection, ehr: 'ehrId' },
      caller,
      { action: 'read' },
      records.filter((one) => one.collection === collection),
    ),
  )
}
