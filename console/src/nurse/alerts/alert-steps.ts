import { useQueryClient } from '@tanstack/react-query'
import { isProblem, type Problem } from 'health-record-client'
import { ehrKey, WORKLIST_KEY } from '../../model/queries.ts'
import { api } from '../../session/user-session.ts'
import { versionForStep } from './seen-alerts.ts'
import type { PatientAlert } from './selection.ts'

export interface AlertStep {
  action: 'TAKE' | 'RELEASE' | 'RESOLVE'
  note?: string
}

async function takeStep(alert: PatientAlert, step: AlertStep): Promise<Problem | undefined> {
  const params = { path: { ehrId: alert.ehrId, alertId: alert.id } }
  // Nobody takes what somebody else has taken in the meantime.
  const headers = { 'if-match': `"${await versionForStep(alert)}"` }
  try {
    await api.POST('/ehr/{ehrId}/alert/{alertId}/handle', { params, body: step, headers })
    return undefined
  } catch (error) {
    if (isProblem(error)) return error
    throw error
  }
}

/**
 * Takes one step with several alerts. All of them are tried; the lists are then read again.
 * @throws Problem of the first one that was refused
 */
export function useAlertSteps() {
  const queries = useQueryClient()
  return async (alerts: readonly PatientAlert[], step: AlertStep): Promise<void> => {
    const problems = await Promise.all(alerts.map((alert) => takeStep(alert, step)))
    const ehrIds = [...new Set(alerts.map(({ ehrId }) => ehrId))]
    await Promise.all([
      queries.invalidateQueries({ queryKey: WORKLIST_KEY }),
      ...ehrIds.map((ehrId) => queries.invalidateQueries({ queryKey: ehrKey(ehrId) })),
    ])
    const first = problems.find((problem) => problem !== undefined)
    if (first) throw first
  }
}
