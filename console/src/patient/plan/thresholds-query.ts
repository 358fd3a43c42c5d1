import { queryOptions } from '@tanstack/react-query'
import { ehrKey } from '../../model/queries.ts'
import { api } from '../../session/user-session.ts'

export type Limits = Readonly<Record<string, number | string>>
/** By kind: the name of a preset, limits, or bands, which only programs write. */
export type Thresholds = Readonly<Record<string, string | Limits | { bands: unknown } | undefined>>

/** The thresholds of a care plan with their version. */
export const thresholdsQuery = (ehrId: string, careplanId: string) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'thresholds', careplanId),
    queryFn: async () => {
      const params = { path: { ehrId, careplanId } }
      const { data, response } = await api.GET('/ehr/{ehrId}/careplan/{careplanId}/thresholds', { params })
      return { thresholds: data as Thresholds, etag: response.headers.get('etag') ?? '"0"' }
    },
  })
