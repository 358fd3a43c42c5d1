import { queryOptions } from '@tanstack/react-query'
import { api } from '../session/user-session.ts'

type Role = 'admin' | 'modeller' | 'analyst'

/** The person who is logged in. */
export interface Me {
  mvUid: string
  name: string
  email: string
  roles: readonly Role[]
  /** Their own EHR, or that of the patient whose page is shown. */
  ehrId: string
  /** False on the page of a patient. */
  isPatient: boolean
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
        isPatient: true,
        hasPatients: ehrs.items.some(({ subjectId }) => subjectId !== mvUid),
      }
    },
    staleTime: Number.POSITIVE_INFINITY,
  })

/** The person at work on the record of the patient whom the address names, if it names one. */
export const atPatient = (me: Me, { ehrId }: Readonly<Record<string, string>>): Me =>
  ehrId === undefined ? me : { ...me, ehrId, isPatient: false }

/** Path of the pages of the record that is shown: empty for one's own. */
export const recordPath = ({ ehrId, isPatient }: Me): string => (isPatient ? '' : `/patients/${ehrId}`)
