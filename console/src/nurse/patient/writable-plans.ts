import { useQueries, useQuery } from '@tanstack/react-query'
import { mayWrite, participantsQuery, plansQuery } from '../../model/health-record.ts'
import type { Me } from '../../model/me.ts'

/** The open plans of a patient in which a person may write, once their participants are known. A reader only sees plans. */
export function useWritablePlans({ ehrId, mvUid }: Me) {
  const allPlans = useQuery(plansQuery(ehrId)).data
  const queries = (allPlans ?? []).map(({ id }) => participantsQuery(ehrId, id))
  const participants = useQueries({ queries }).map(({ data }) => data)
  if (!allPlans || participants.includes(undefined)) return { plans: undefined, isReader: false }
  const plans = allPlans.filter((_, i) => mayWrite(participants[i] ?? [], { mvUid }))
  return { plans, isReader: plans.length === 0 && allPlans.length > 0 }
}
