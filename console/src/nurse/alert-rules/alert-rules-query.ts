import { queryOptions, useQueryClient } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import type { Me } from '../../model/me.ts'
import { ehrKey } from '../../model/queries.ts'
import { api } from '../../session/user-session.ts'

export type AlertRules = components['schemas']['CarePlanAlertRules']

export interface AlertRulesProps {
  me: Me
  planId: string
  rules: AlertRules
  /** False for those who may only read the plan. */
  isWriter: boolean
}

const PATH = '/ehr/{ehrId}/careplan/{careplanId}/alert-rules'

export const alertRulesQuery = (ehrId: string, careplanId: string) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'alert rules', careplanId),
    queryFn: async () => (await api.GET(PATH, { params: { path: { ehrId, careplanId } } })).data,
  })

/** Rules have no ids, so equal ones are the same. */
export const isSameRule = (one: object, other: object): boolean =>
  JSON.stringify(one) === JSON.stringify(other)

/** Changes the alert rules of a plan. What somebody else saves meanwhile stays. */
export function useAlertRulesChange({ ehrId }: Me, careplanId: string) {
  const queries = useQueryClient()
  return async (change: (rules: AlertRules) => AlertRules): Promise<void> => {
    await api.update(PATH, { params: { path: { ehrId, careplanId } } }, change)
    await queries.invalidateQueries({ queryKey: ehrKey(ehrId) })
  }
}
