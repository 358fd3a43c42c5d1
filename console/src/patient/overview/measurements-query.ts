import { queryOptions } from '@tanstack/react-query'
import { ehrKey } from '../../model/queries.ts'
import { api } from '../../session/user-session.ts'

/** A stored measurement, with the numbers of its kind. */
export type Measurement = Readonly<Record<string, unknown>> & {
  id: string
  timestamp: string
  version?: number
}

const MAX_LISTED = 20

/** The latest measurements of a kind, newest first. */
export const measurementsQuery = (ehrId: string, kind: string) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'measurements', kind),
    queryFn: async () => {
      const path = `/ehr/{ehrId}/procedure/${kind}` as '/ehr/{ehrId}/procedure/bodyweight'
      const { data } = await api.GET(path, { params: { path: { ehrId }, query: { limit: MAX_LISTED } } })
      return data.items as unknown as Measurement[]
    },
  })
