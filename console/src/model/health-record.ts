import { queryOptions } from '@tanstack/react-query'
import type { Client, components } from 'health-record-client'
import { api } from '../session/user-session.ts'
import { ehrKey } from './queries.ts'

type Schemas = components['schemas']
export type GraphSeries = Schemas['GraphSeries']
export type Task = Schemas['TaskResource']
export type CarePlan = Schemas['CarePlanResource']
type Participation = Schemas['ParticipationResource']

const MAX_PARTICIPANTS = 200
const MAX_PLANS = 50
const MAX_TASKS = 1000
const VISITORS_PERIOD_MS = 7 * 86_400_000
const path = (ehrId: string) => ({ path: { ehrId } })

/** All measured values, thinned out so that their lines keep their shape. */
export const graphQuery = (ehrId: string) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'graph'),
    queryFn: async () =>
      (
        await api.GET('/ehr/{ehrId}/summary/medgraph', {
          params: { ...path(ehrId), query: { points: 1000 } },
        })
      ).data,
  })

/** Open tasks, by due date; those without one come last. */
export const tasksQuery = (ehrId: string) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'tasks'),
    queryFn: async () => {
      const params = { ...path(ehrId), query: { limit: MAX_TASKS } }
      const { items } = (await api.GET('/ehr/{ehrId}/careplan/todo', { params })).data
      return items.sort((a, b) => (a.dueDate ?? '9').localeCompare(b.dueDate ?? '9'))
    },
  })

/** The open plans of an EHR, the latest first. */
export async function listOpenPlans(client: Client, ehrId: string, signal?: AbortSignal) {
  const params = { ...path(ehrId), query: { status: 'ACTIVE' as const, limit: MAX_PLANS } }
  return (await client.GET('/ehr/{ehrId}/careplan', { params, signal })).data.items
}

export const plansQuery = (ehrId: string) =>
  queryOptions({ queryKey: ehrKey(ehrId, 'plans'), queryFn: () => listOpenPlans(api, ehrId) })

export const planQuery = (ehrId: string, careplanId: string) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'plan', careplanId),
    queryFn: async () =>
      (await api.GET('/ehr/{ehrId}/careplan/{careplanId}', { params: { path: { ehrId, careplanId } } })).data,
  })

export async function readParticipants(ehrId: string, careplanId: string): Promise<Participation[]> {
  const query = { status: 'ACTIVE', limit: MAX_PARTICIPANTS } as const
  const params = { path: { ehrId, careplanId }, query }
  return (await api.GET('/ehr/{ehrId}/careplan/{careplanId}/participant', { params })).data.items
}

export const participantsQuery = (ehrId: string, careplanId: string) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'participants', careplanId),
    queryFn: () => readParticipants(ehrId, careplanId),
  })

/** Whether a person may change a plan that they read: who reads it without taking part in it owns the EHR. */
export const mayWrite = (participants: readonly Participation[], person: { mvUid: string }): boolean =>
  participants.find(({ mvUid }) => mvUid === person.mvUid)?.access !== 'READ'

/** The people who looked at the record in the last week, or changed it. */
export const visitorsQuery = (ehrId: string) =>
  queryOptions({
    queryKey: ['visitors', ehrId],
    queryFn: async () => {
      const from = new Date(Date.now() - VISITORS_PERIOD_MS).toISOString()
      const params = { ...path(ehrId), query: { others: true, from, limit: 1000 } }
      return (await api.GET('/ehr/{ehrId}/audit', { params })).data.items
    },
  })
