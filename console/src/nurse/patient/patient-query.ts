import { queryOptions } from '@tanstack/react-query'
import { ehrKey } from '../../model/queries.ts'
import { api } from '../../session/user-session.ts'

const ofEhr = (ehrId: string) => ({ path: { ehrId } })

/** Who the patient is, and to what they react. */
export const bannerQuery = (ehrId: string) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'banner'),
    queryFn: async () => {
      const [card, reactions] = await Promise.all([
        api.GET('/ehr/{ehrId}/patient', { params: ofEhr(ehrId) }),
        api.GET('/ehr/{ehrId}/adversereaction', { params: { ...ofEhr(ehrId), query: { limit: 100 } } }),
      ])
      return { ...card.data, reactions: reactions.data.items }
    },
  })

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
      const { data } = await api.GET(path, { params: { ...ofEhr(ehrId), query: { limit: MAX_LISTED } } })
      return data.items as unknown as Measurement[]
    },
  })
