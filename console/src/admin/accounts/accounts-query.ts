import { queryOptions } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import type { Role } from '../../model/me.ts'
import { pageOf } from '../../session/list-pages.ts'
import { api } from '../../session/user-session.ts'

export type Account = components['schemas']['Account']

export const ROLES = ['admin', 'modeller', 'analyst'] as const satisfies readonly Role[]
export const STATES = ['ACTIVE', 'ACTIVATION_PENDING', 'DISABLED'] as const

/** Which accounts are shown. */
export interface AccountFilter {
  email?: string
  state?: (typeof STATES)[number]
}

/** Everything about the accounts of others has this key first. */
export const ACCOUNTS_KEY = ['accounts']
const ACCOUNTS_PER_PAGE = 50

export const accountsQuery = (filter: AccountFilter, cursor: string | undefined) =>
  queryOptions({
    queryKey: [...ACCOUNTS_KEY, filter, cursor],
    queryFn: async () => {
      const query = { ...filter, ...pageOf(ACCOUNTS_PER_PAGE, cursor) }
      return (await api.GET('/auth/account', { params: { query } })).data
    },
  })

export const accountQuery = (mvUid: string) =>
  queryOptions({
    queryKey: [...ACCOUNTS_KEY, mvUid],
    queryFn: async () => (await api.GET('/auth/account/{mvUid}', { params: { path: { mvUid } } })).data,
  })
