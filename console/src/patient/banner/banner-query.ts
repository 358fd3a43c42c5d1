import { queryOptions } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { ehrKey, readAll } from '../../model/queries.ts'
import { api } from '../../session/user-session.ts'

export type BannerReaction = components['schemas']['AdverseReactionResource']

/** The identity of the patient, and their reactions. */
export const bannerQuery = (ehrId: string) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'banner'),
    queryFn: async () => {
      const path = { ehrId }
      const [card, reactions] = await Promise.all([
        api.GET('/ehr/{ehrId}/patient', { params: { path } }),
        readAll((query) => api.GET('/ehr/{ehrId}/adversereaction', { params: { path, query } })),
      ])
      return { ...card.data, reactions }
    },
  })
