import { queryOptions } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { api } from '../../session/user-session.ts'

export type ListedSystem = components['schemas']['ConnectedSystem']
export type RegisteredSystem = components['schemas']['RegisteredSystem']

export const SYSTEMS_KEY = ['connected systems']
const SYSTEMS_PER_PAGE = 50

export const systemsQuery = (cursor: string | undefined) =>
  queryOptions({
    queryKey: [...SYSTEMS_KEY, cursor],
    queryFn: async () => {
      const query = { limit: SYSTEMS_PER_PAGE, ...(cursor !== undefined && { cursor }) }
      return (await api.GET('/auth/system', { params: { query } })).data
    },
  })
