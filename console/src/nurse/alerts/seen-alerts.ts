import { useQueryClient } from '@tanstack/react-query'
import { isProblem } from 'health-record-client'
import { useEffect } from 'react'
import { WORKLIST_KEY } from '../../model/queries.ts'
import { api } from '../../session/user-session.ts'
import type { PatientAlert } from './selection.ts'

/** The versions of alerts that were marked as seen, by their ids; undefined if the service refused it. */
const seenVersions = new Map<string, Promise<number | undefined>>()

async function markSeen({ ehrId, id, version }: PatientAlert): Promise<number | undefined> {
  const params = { path: { ehrId, alertId: id } }
  const request = { params, body: { action: 'SEE' as const }, headers: { 'if-match': `"${version}"` } }
  try {
    return (await api.POST('/ehr/{ehrId}/alert/{alertId}/handle', request)).data.version
  } catch (error) {
    // It stays new, and is marked the next time.
    if (isProblem(error)) return undefined
    throw error
  }
}

/** The version for a step with an alert. A list that was read before it was seen still shows it as new. */
export const versionForStep = async ({ id, alertState, version }: PatientAlert): Promise<number> =>
  (alertState === 'NEW' && (await seenVersions.get(id))) || version

const wasSeen = (outcome: PromiseSettledResult<number | undefined> | undefined): boolean =>
  outcome?.status === 'fulfilled' && outcome.value !== undefined

/** Marks new alerts as seen, for a reader who may handle them. */
export function useMarkSeen(alerts: readonly PatientAlert[]): void {
  const queries = useQueryClient()
  const unseen = alerts.filter(
    ({ id, alertState, mayHandle }) => alertState === 'NEW' && mayHandle && !seenVersions.has(id),
  )
  // biome-ignore lint/correctness/useExhaustiveDependencies: the ids name the alerts
  useEffect(() => {
    if (unseen.length === 0) return
    for (const alert of unseen) seenVersions.set(alert.id, markSeen(alert))
    Promise.allSettled(unseen.map(({ id }) => seenVersions.get(id))).then(async (outcomes) => {
      await queries.invalidateQueries({ queryKey: WORKLIST_KEY })
      for (const [i, { id }] of unseen.entries()) if (!wasSeen(outcomes[i])) seenVersions.delete(id)
    })
  }, [queries, unseen.map(({ id }) => id).join()])
}
