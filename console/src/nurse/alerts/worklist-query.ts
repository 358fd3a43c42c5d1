import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { accountKey, WORKLIST_KEY } from '../../model/queries.ts'
import { pageOf, readAll } from '../../session/list-pages.ts'
import { api } from '../../session/user-session.ts'

export type WorklistEntry = components['schemas']['WorklistEntry']
export type WorklistAlert = WorklistEntry['openAlerts'][number]
export type WorklistView = components['schemas']['WorklistViews']['views'][number]
export type WorklistFilter = Omit<WorklistView, 'name'>

export const REASONS = ['ALERT', 'MISSED', 'TASK', 'MESSAGE'] as const
/** The worst first. */
export const SEVERITIES = ['CRITICAL', 'HIGH', 'MODERATE', 'LOW'] as const

const PAGE_SIZE = 25

const oneOf = <T extends string>(values: readonly T[], text: string | null): T | undefined =>
  values.find((value) => value === text)

/** The filter in the URL, so that it can be shared. */
export function filterOf(query: URLSearchParams): WorklistFilter {
  const reason = oneOf(REASONS, query.get('reason'))
  const severity = oneOf(SEVERITIES, query.get('severity'))
  return {
    ...(reason && { reason }),
    ...(severity && { severity }),
    ...(query.get('mine') === 'true' && { mine: true }),
    ...(query.get('all') === 'true' && { all: true }),
  }
}

export const worklistRouteOf = ({ reason, severity, mine, all }: WorklistFilter): string => {
  const query = new URLSearchParams({
    ...(reason && { reason }),
    ...(severity && { severity }),
    ...(mine && { mine: 'true' }),
    ...(all && { all: 'true' }),
  })
  return query.size === 0 ? '/worklist' : `/worklist?${query}`
}

export const worklistQuery = (filter: WorklistFilter, cursor: string | undefined) =>
  queryOptions({
    queryKey: [...WORKLIST_KEY, filter, cursor],
    queryFn: async () => {
      const query = { ...filter, ...pageOf(PAGE_SIZE, cursor) }
      return (await api.GET('/worklist', { params: { query } })).data
    },
    placeholderData: keepPreviousData,
  })

/** The needs of one patient, with the alerts that others have taken; null if there are none. */
export const patientWorkQuery = (ehrId: string) =>
  queryOptions({
    queryKey: [...WORKLIST_KEY, 'patient', ehrId],
    queryFn: async () =>
      (await api.GET('/worklist', { params: { query: { ehrId, takenByOthers: true, limit: 1 } } })).data
        .items[0] ?? null,
  })

/** The saved views of the user, with their version. */
export const viewsQuery = (mvUid: string) =>
  queryOptions({
    queryKey: accountKey(mvUid, 'worklist views'),
    queryFn: async () => (await api.GET('/worklist/views')).data.views,
  })

/** The people with whom the user may write plans. */
export const colleaguesQuery = queryOptions({
  queryKey: [...WORKLIST_KEY, 'colleagues'],
  queryFn: () => readAll((query) => api.GET('/worklist/colleague', { params: { query } })),
})
