import { queryOptions } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { ehrKey } from '../../model/queries.ts'
import { readAll } from '../../session/list-pages.ts'
import { api } from '../../session/user-session.ts'

export type BannerReaction = components['schemas']['AdverseReactionResource']

/** Whether the person does not have it any more. */
export const isPast = ({ status }: BannerReaction): boolean => status === 'inactive' || status === 'resolved'

export const isDangerous = (reaction: BannerReaction): boolean =>
  reaction.criticality === 'high' && !isPast(reaction)

/** The reactions of the patient, which the banner and the record show, dangerous ones first. */
export const reactionsQuery = (ehrId: string) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'reactions'),
    queryFn: async () => {
      const reactions = await readAll((query) =>
        api.GET('/ehr/{ehrId}/adversereaction', { params: { path: { ehrId }, query } }),
      )
      return reactions.sort((a, b) => Number(isDangerous(b)) - Number(isDangerous(a)))
    },
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
