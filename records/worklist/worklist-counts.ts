import { SeverityEnum } from '../../schemas/enums.ts'
import type { WorklistAlert, WorklistEntry, WorklistFilter } from '../../schemas/worklist/worklist-entry.ts'
import { severityRank } from '../ehr-records/timeline-definition.ts'
import { urgencyOf } from '../events/alert-handling.ts'
import { type Caller, isPermitted } from '../store/documents/caller.ts'
import type { ParseDocument } from '../store/documents/parse-format.ts'

/** An entry with the values by which it is sorted, ascending. */
export interface RankedEntry {
  entry: WorklistEntry
  rank: (number | string)[]
}

/** Whose worklist it is, and what it contains. */
interface WorklistScope {
  caller: Caller
  /** The caller, and the users whose worklists the caller has taken over. */
  owners: readonly string[]
  filter: WorklistFilter
}

/** Counts what needs action, by EHR. */
export class WorklistCounts {
  readonly #worklist: WorklistScope
  readonly #entries = new Map<string, WorklistEntry>()

  constructor(worklist: WorklistScope) {
    this.#worklist = worklist
  }

  entryOf(ehrId: unknown): WorklistEntry {
    const id = String(ehrId)
    const entry = this.#entries.get(id) ?? emptyEntry(id)
    this.#entries.set(id, entry)
    return entry
  }

  /** Call it with the most urgent alert first. */
  addAlert(alert: ParseDocument): void {
    const { caller, owners, filter } = this.#worklist
    const { ehrId, alertState, assignedTo, takenBy, severity, start, data } = alert
    const entry = this.entryOf(ehrId)
    const maxAlerts = filter.ehrId === undefined ? MAX_ALERTS : MAX_ALERTS_OF_ONE_PATIENT
    if (entry.openAlerts.length < maxAlerts) entry.openAlerts.push(toWorklistAlert(alert, caller))
    if (alertState === 'TAKEN') {
      if (owners.includes(String(takenBy))) entry.taken += 1
      return
    }
    entry.severity ??= severity as WorklistEntry['severity']
    entry.since ??= (start as Date).toISOString()
    entry.alerts += 1
    if (assignedTo === caller.userId) entry.assigned += 1
    if ((data as { missed?: unknown } | undefined)?.missed) entry.missed += 1
  }

  /** The EHRs in which something needs action, or all of them. */
  entries(): WorklistEntry[] {
    const { filter } = this.#worklist
    return [...this.#entries.values()].filter(
      (entry) => (filter.all || needsAction(entry)) && fitsFilter(entry, filter),
    )
  }
}

/** Maximum number of alerts of an entry in the list of all patients; the list of one patient has the others. */
const MAX_ALERTS = 10
const MAX_ALERTS_OF_ONE_PATIENT = 100

const REASONS = {
  ALERT: ({ openAlerts }: WorklistEntry) => openAlerts.length > 0,
  MISSED: ({ missed }: WorklistEntry) => missed > 0,
  TASK: ({ overdueTasks }: WorklistEntry) => overdueTasks > 0,
  MESSAGE: ({ unreadMessages }: WorklistEntry) => unreadMessages > 0,
}

const needsAction = (entry: WorklistEntry): boolean =>
  Object.values(REASONS).some((applies) => applies(entry))

function fitsFilter(entry: WorklistEntry, { ehrId, reason, severity, mine }: WorklistFilter): boolean {
  const rank = (one: unknown) => severityRank(SeverityEnum.enum, one) ?? 0
  return (
    (ehrId === undefined || entry.ehrId === ehrId) &&
    (reason === undefined || REASONS[reason](entry)) &&
    (severity === undefined || rank(entry.severity) >= rank(severity)) &&
    (!mine || entry.assigned + entry.taken > 0)
  )
}

const toWorklistAlert = (
  { _id, _wperm, start, takenBy = null, takenAt, ...alert }: ParseDocument,
  caller: Caller,
): WorklistAlert => ({
  id: _id,
  start: (start as Date).toISOString(),
  takenBy: takenBy as string | null,
  takenByName: null,
  takenAt: (takenAt as Date | undefined)?.toISOString() ?? null,
  mayHandle: isPermitted(_wperm, caller),
  ...({
    carePlanId: alert.carePlanId,
    title: alert.title,
    ...(alert.data !== undefined && { data: alert.data }),
    severity: alert.severity,
    alertState: alert.alertState,
    version: alert.version,
  } as Pick<WorklistAlert, 'carePlanId' | 'title' | 'data' | 'severity' | 'alertState' | 'version'>),
})

const emptyEntry = (ehrId: string): WorklistEntry => ({
  name: null,
  birthDate: null,
  openAlerts: [],
  ehrId,
  severity: null,
  since: null,
  alerts: 0,
  assigned: 0,
  taken: 0,
  missed: 0,
  overdueTasks: 0,
  unreadMessages: 0,
})

/** By the worst and oldest alert, then by the numbers, then by the id, so that the order is total. */
export function rankOf(entry: WorklistEntry): RankedEntry['rank'] {
  const { ehrId, severity, since, missed, taken, overdueTasks, unreadMessages } = entry
  const urgency = severity && since ? urgencyOf({ severity, start: since }) : 0
  return [-urgency, -missed, -taken, -overdueTasks, -unreadMessages, ehrId]
}

export function compareRanks(one: RankedEntry['rank'], other: RankedEntry['rank']): number {
  for (const [i, value] of one.entries()) {
    const against = other[i] ?? 0
    if (value !== against) return value < against ? -1 : 1
  }
  return 0
}
