import { useState } from 'react'
import type { WorklistAlert, WorklistEntry } from './worklist-query.ts'

/** An alert with the EHR that it is in. */
export type PatientAlert = WorklistAlert & { ehrId: string }

export interface Selection {
  /** Whether any alert that is shown may be handled. */
  isPossible: boolean
  /** The selected alerts that are still shown. */
  alerts: readonly PatientAlert[]
  has(id: string): boolean
  toggle(id: string): void
  clear(): void
}

/** The alerts that somebody has ticked. One that leaves the list leaves the selection. */
export function useSelection(entries: readonly WorklistEntry[]): Selection {
  const [ids, setIds] = useState<readonly string[]>([])
  const alerts = entries.flatMap(({ ehrId, openAlerts }) => openAlerts.map((alert) => ({ ...alert, ehrId })))
  return {
    isPossible: alerts.some(({ mayHandle }) => mayHandle),
    alerts: alerts.filter(({ id }) => ids.includes(id)),
    has: (id) => ids.includes(id),
    toggle: (id) => setIds(ids.includes(id) ? ids.filter((one) => one !== id) : [...ids, id]),
    clear: () => setIds([]),
  }
}
