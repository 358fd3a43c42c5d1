import { queryOptions } from '@tanstack/react-query'
import { listOpenPlans } from '../../model/health-record.ts'
import { ehrKey } from '../../model/queries.ts'
import { api } from '../../session/user-session.ts'

const PAGE = { query: { limit: 50 } }

/** The subject of a conversation: a care plan, or the record as a whole. */
export const subjectOf = (ehrId: string, planId: string | undefined) =>
  planId === undefined ? { type: 'ehr' as const, id: ehrId } : { type: 'careplan' as const, id: planId }

async function listTopics(ehrId: string, plan?: { id: string; name: string }) {
  const params = { path: subjectOf(ehrId, plan?.id), ...PAGE }
  const { items } = (await api.GET('/chat/{type}/{id}', { params })).data
  return items.map((topic) => ({ ...topic, plan }))
}

/** Topics about the record as a whole and about its open care plans, the latest first. */
export const allTopicsQuery = (ehrId: string) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'topics', 'all'),
    queryFn: async () => {
      const plans = await listOpenPlans(api, ehrId)
      const lists = await Promise.all([listTopics(ehrId), ...plans.map((plan) => listTopics(ehrId, plan))])
      return lists.flat().sort((a, b) => b.lastMessageAt.localeCompare(a.lastMessageAt))
    },
  })

export const topicQuery = (ehrId: string, planId: string | undefined, topicId: string) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'topics', topicId),
    queryFn: async () => {
      const params = { path: { ...subjectOf(ehrId, planId), topicId } }
      return (await api.GET('/chat/{type}/{id}/{topicId}', { params })).data
    },
  })
