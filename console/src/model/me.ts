import { queryOptions } from '@tanstack/react-query'
import { api } from '../session/session.ts'

type Role = 'admin' | 'modeller' | 'analyst'

/** The person who is logged in. */
export interface Me {
  mvUid: string
  name: string
  email: string
  roles: readonly Role[]
  /** Their own EHR. */
  ehrId: string
  /** Whether they take part in the care of others. */
  hasPatients: boolean
}

/** The account's own EHR is the first in the list. */
export const meQuery = (mvUid: string) =>
  queryOptions({
    queryKey: ['me', mvUid],
    queryFn: async (): Promise<Me> => {
      const [{ data: account }, { data: ehrs }] = await Promise.all([
        api.GET('/auth/account/{mvUid}', { params: { path: { mvUid } } }),
        api.GET('/ehr', { params: { query: { limit: 2 } } }),
      ])
      const own = ehrs.items.find(({ subjectId }) => subjectId === mvUid)
      return {
        mvUid,
        name: account.name ?? account.email,
        email: account.email,
        roles: account.roles,
        ehrId: own?.id ?? '',
        hasPatients: ehrs.items.some(({ subjectId }) => subjectId !== mvUid),
      }
    },
    staleTime: Number.POSITIVE_INFINITY,
  })
