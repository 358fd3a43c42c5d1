import { useQueries } from '@tanstack/react-query'
import { mayWrite, participantsQuery } from '../../model/health-record.ts'
import type { Me } from '../../model/me.ts'

/** Those of a patient's plans in which a person may write; undefined until their participants are known. */
export function useWritablePlans<P extends { id: string }>(
  { ehrId, mvUid }: Me,
  plans: readonly P[] | undefined,
): P[] | undefined {
  const queries = (plans ?? []).map(({ id }) => participantsQuery(ehrId, id))
  const participants = useQueries({ queries }).map(({ data }) => data)
  if (!plans || participants.includes(undefined)) return undefined
  return plans.filter((_, i) => mayWrite(participants[i] ?? [], { mvUid }))
}
