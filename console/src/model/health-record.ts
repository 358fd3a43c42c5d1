import { queryOptions } from '@tanstack/react-query'
import type { Client, components } from 'health-record-client'
import { readAll } from '../session/list-pages.ts'
import { api } from '../session/user-session.ts'
import { isolate, translate } from '../texts/translate.ts'
import { ehrKey } from './queries.ts'

type Schemas = components['schemas']
export type GraphSeries = Schemas['GraphSeries']
export type Task = Schemas['TaskResource']
export type CarePlan = Schemas['CarePlanResource']
type Participation = Schemas['ParticipationResource']

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
      const items = await readAll((query) =>
        api.GET('/ehr/{ehrId}/careplan/todo', { params: { ...path(ehrId), query } }),
      )
      return items.sort((a, b) => (a.dueDate ?? '9').localeCompare(b.dueDate ?? '9'))
    },
  })

/** The open plans of an EHR, the latest first. */
export async function listOpenPlans(client: Client, ehrId: string, signal?: AbortSignal) {
  return readAll((query) => {
    const params = { ...path(ehrId), query: { ...query, status: 'ACTIVE' as const } }
    return client.GET('/ehr/{ehrId}/careplan', { params, signal })
  })
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
  return readAll((page) => {
    const params = { path: { ehrId, careplanId }, query: { ...page, status: 'ACTIVE' as const } }
    return api.GET('/ehr/{ehrId}/careplan/{careplanId}/participant', { params })
  })
}

export const participantsQuery = (ehrId: string, careplanId: string) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'participants', careplanId),
    queryFn: () => readParticipants(ehrId, careplanId),
  })

/** The name of a participant and their role, as far as they are known: `Bo Smith (Nurse)`. */
export function participantText({ name, role }: Participation): string {
  if (name === null) return role ?? translate('access.helper')
  return role ? `${isolate(name)} (${isolate(role)})` : name
}

/** Whether a person may change a plan that they read: who reads it without taking part in it owns the EHR. */
export const mayWrite = (participants: readonly Participation[], person: { mvUid: string }): boolean =>
  participants.find(({ mvUid }) => mvUid === person.mvUid)?.access !== 'READ'

/** The people who looked at the record in the last week, or changed it. */
export const visitorsQuery = (ehrId: string) =>
  queryOptions({
    queryKey: ['visitors', ehrId],
    queryFn: async () => {
      const from = new Date(Date.now() - VISITORS_PERIOD_MS).toISOString()
      return readAll((query) =>
        api.GET('/ehr/{ehrId}/audit', {
          params: { ...path(ehrId), query: { ...query, others: true, from } },
        }),
      )
    },
  })
