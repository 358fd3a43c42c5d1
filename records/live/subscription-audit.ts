import type { ChangedRecord } from '../history/changes.ts'
import type { AuditedAccess, AuditLog } from '../store/audit/audit-log.ts'
import type { Caller } from '../store/documents/caller.ts'
import { accessesByEhr } from '../store/resource.ts'

/** In this period, deliveries of one kind of one EHR to one subscriber make at most two audit entries. */
const AUDIT_PERIOD_MS = 60_000

interface AuditPeriod {
  until: number
  caller: Caller
  /** Records delivered since the first entry. */
  more: ChangedRecord[]
}

/** Audits what subscriptions deliver. */
export class SubscriptionAudit {
  readonly #audit: AuditLog
  readonly #onFault: (fault: unknown) => void
  readonly #ending = new Set<Promise<void>>()

  constructor(audit: AuditLog, onFault: (fault: unknown) => void) {
    this.#audit = audit
    this.#onFault = onFault
  }

  open(): SubscriptionAuditLog {
    return new SubscriptionAuditLog(this.#audit)
  }

  /** Ends the audit of a subscription. @param lastDelivery resolves when its last change has been delivered */
  close(log: SubscriptionAuditLog, lastDelivery: Promise<void>): void {
    const ending = lastDelivery.then(() => log.flush(true)).catch(this.#onFault)
    this.#ending.add(ending)
    ending.finally(() => this.#ending.delete(ending))
  }

  /** Resolves when all ended subscriptions are audited. */
  async flush(): Promise<void> {
    await Promise.all(this.#ending)
  }
}

/**
 * The audit of one subscription: an entry before the first record of a period is delivered, and one for all
 * others at its end.
 */
export class SubscriptionAuditLog {
  readonly #audit: AuditLog
  readonly #periods = new Map<string, AuditPeriod>()

  constructor(audit: AuditLog) {
    this.#audit = audit
  }

  /** Must be awaited before the records are delivered. */
  async record(caller: Caller, records: readonly ChangedRecord[]): Promise<void> {
    const first: ChangedRecord[] = []
    for (const record of records) {
      const key = `${record.ehrId}/${record.collection}`
      const period = this.#periods.get(key)
      if (period) period.more.push(record)
      else {
        this.#periods.set(key, { until: performance.now() + AUDIT_PERIOD_MS, caller, more: [] })
        first.push(record)
      }
    }
    await this.#audit.record(...accessesOfChanges(caller, first))
  }

  /** Ends the periods that are over, or all. */
  async flush(includesCurrent = false): Promise<void> {
    const over = [...this.#periods].filter(([, { until }]) => includesCurrent || until <= performance.now())
    for (const [key] of over) this.#periods.delete(key)
    await this.#audit.record(...over.flatMap(([, { caller, more }]) => accessesOfChanges(caller, more)))
  }
}

function accessesOfChanges(caller: Caller, records: readonly ChangedRecord[]): AuditedAccess[] {
  const kinds = new Set(records.map(({ collection }) => collection))
  return [...kinds].flatMap((collection) =>
    accessesByEhr(
      { collection, ehr: 'ehrId' },
      caller,
      { action: 'read' },
      records.filter((one) => one.collection === collection),
    ),
  )
}
