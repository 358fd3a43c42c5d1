import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { ehrKey } from '../../model/queries.ts'
import { pageOf, readAll } from '../../session/list-pages.ts'
import { api } from '../../session/user-session.ts'

const MESSAGES_PER_PAGE = 50

/** The subject of a conversation: a care plan, or the record as a whole. */
export const subjectOf = (ehrId: string, planId: string | undefined) =>
  planId === undefined ? { type: 'ehr' as const, id: ehrId } : { type: 'careplan' as const, id: planId }

async function listTopics(ehrId: string, plan?: { id: string; name: string }) {
  const path = subjectOf(ehrId, plan?.id)
  const items = await readAll((query) => api.GET('/chat/{type}/{id}', { params: { path, query } }))
  return items.map((topic) => ({ ...topic, plan }))
}

/** Topics about the record as a whole and about its care plans, also those that are over. The latest come first. */
export const allTopicsQuery = (ehrId: string) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'topics', 'all'),
    queryFn: async () => {
      const path = { ehrId }
      const plans = await readAll((query) => api.GET('/ehr/{ehrId}/careplan', { params: { path, query } }))
      const lists = await Promise.all([listTopics(ehrId), ...plans.map((plan) => listTopics(ehrId, plan))])
      return lists.flat().sort((a, b) => b.lastMessageAt.localeCompare(a.lastMessageAt))
    },
  })

interface TopicPlace {
  ehrId: string
  planId: string | undefined
  topicId: string
}

/** A topic with its latest messages, or with those before them. */
export const topicQuery = ({ ehrId, planId, topicId }: TopicPlace, cursor: string | undefined) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'topics', topicId, cursor),
    queryFn: async () => {
      const path = { ...subjectOf(ehrId, planId), topicId }
      const query = pageOf(MESSAGES_PER_PAGE, cursor)
      return (await api.GET('/chat/{type}/{id}/{topicId}', { params: { path, query } })).data
    },
    placeholderData: keepPreviousData,
  })
