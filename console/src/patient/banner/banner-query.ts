import { queryOptions } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { ehrKey, readAll } from '../../model/queries.ts'
import { api } from '../../session/user-session.ts'

export type BannerReaction = components['schemas']['AdverseReactionResource']

/** The reactions of the patient, which the banner and the record show. */
export const reactionsQuery = (ehrId: string) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'reactions'),
    queryFn: () =>
      readAll((query) => api.GET('/ehr/{ehrId}/adversereaction', { params: { path: { ehrId }, query } })),
  })

/** The identity of the patient, and their reactions. */
export const bannerQuery = (ehrId: string) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'banner'),
    queryFn: async ({ client }) => {
      const [card, reactions] = await Promise.all([
        api.GET('/ehr/{ehrId}/patient', { params: { path: { ehrId } } }),
        client.fetchQuery(reactionsQuery(ehrId)),
      ])
      return { ...card.data, reactions }
    },
  })
