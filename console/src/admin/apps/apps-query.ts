import { queryOptions } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { api } from '../../session/user-session.ts'

export type ListedApp = components['schemas']['App']
export type RegisteredApp = components['schemas']['RegisteredApp']

export const APPS_KEY = ['registered apps']
const APPS_PER_PAGE = 50

export const appsQuery = (cursor: string | undefined) =>
  queryOptions({
    queryKey: [...APPS_KEY, cursor],
    queryFn: async () => {
      const query = { limit: APPS_PER_PAGE, ...(cursor !== undefined && { cursor }) }
      return (await api.GET('/auth/app', { params: { query } })).data
    },
  })
