import type { WorklistEntry } from '../../schemas/worklist/worklist-entry.ts'
import { urgencyOf } from '../events/alert-handling.ts'
import type { ParseDocument } from '../store/documents/parse-format.ts'

/** An entry with the values by which it is sorted, ascending. */
export interface Ranked {
  entry: WorklistEntry
  rank: (number | string)[]
}

/** Counts what needs action, by EHR. */
export class WorklistCounts {
  readonly #userId: string
  readonly #own: readonly string[]
  readonly #entries = new Map<string, WorklistEntry>()

  /** @param own the EHRs of the user, who is no patient of theirs */
  constructor(userId: string, own: readonly string[]) {
    this.#userId = userId
    this.#own = own
  }

  of(ehrId: unknown): WorklistEntry {
    const id = String(ehrId)
    const entry = this.#entries.get(id) ?? emptyEntry(id)
    this.#entries.set(id, entry)
    return entry
  }

  /** Call it with the most urgent alert first. */
  addAlert({ ehrId, alertState, assignedTo, severity, start, data }: ParseDocument): void {
    const entry = this.of(ehrId)
    if (alertState === 'TAKEN') {
      entry.taken += 1
      return
    }
    entry.severity ??= severity as WorklistEntry['severity']
    entry.since ??= (start as Date).toISOString()
    entry.alerts += 1
    if (assignedTo === this.#userId) entry.assigned += 1
    if ((data as { missed?: unknown } | undefined)?.missed) entry.missed += 1
  }

  /** The EHRs of others in which something needs action. */
  entries(): WorklistEntry[] {
    return [...this.#entries.values()].filter(
      ({ ehrId, ...counts }) => !this.#own.includes(ehrId) && Object.values(counts).some(Boolean),
    )
  }
}

const emptyEntry = (ehrId: string): WorklistEntry => ({
  ...{ ehrId, severity: null, since: null, alerts: 0, assigned: 0, taken: 0, missed: 0 },
  ...{ overdueTasks: 0, unreadMessages: 0 },
})

/** By the worst and oldest alert, then by the numbers, then by the id, so that the order is total. */
export function rankOf(entry: WorklistEntry): Ranked['rank'] {
  const { ehrId, severity, since, missed, taken, overdueTasks, unreadMessages } = entry
  const urgency = severity && since ? urgencyOf({ severity, start: since }) : 0
  return [-urgency, -missed, -taken, -overdueTasks, -unreadMessages, ehrId]
}

export function compareRanks(one: Ranked['rank'], other: Ranked['rank']): number {
  for (const [i, value] of one.entries()) {
    const against = other[i] ?? 0
    if (value !== against) return value < against ? -1 : 1
  }
  return 0
}
