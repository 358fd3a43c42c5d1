import { queryOptions } from '@tanstack/react-query'
import { createContext, useContext } from 'react'
import { readAll } from '../session/list-pages.ts'
import { api, type HelpedPerson, type HelperAct, ownApi } from '../session/user-session.ts'
import { type TextId, translate, translateName } from '../texts/translate.ts'
import { accountKey, READ_ON_RETURN } from './queries.ts'

export type Role = 'admin' | 'modeller' | 'analyst'

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
  /** The permissions of a helper who acts for them; absent: they are logged in themselves. */
  acts?: readonly HelperAct[]
}

/** Whether the pages may offer something that a helper needs a grant for. */
export const mayAct = ({ acts }: Me, act: HelperAct): boolean => !acts || acts.includes(act)

/** A text of pages about one's own record; somebody who acts for a person finds no "my" or "your" there. */
export const textFor = ({ acts }: Pick<Me, 'acts'>, id: TextId): string =>
  acts ? translateName(`${id}.helped`, translate(id)) : translate(id)

export const MeContext = createContext<Me | undefined>(undefined)

export function useMayAct(act: HelperAct): boolean {
  const me = useContext(MeContext)
  return me !== undefined && mayAct(me, act)
}

/** The person whom the user helps. Their account stays their own. */
export const helpedQuery = ({ mvUid, name, acts }: HelpedPerson) =>
  queryOptions({
    queryKey: accountKey(mvUid, 'helped'),
    queryFn: async (): Promise<Me> => {
      const { data } = await api.GET('/ehr', { params: { query: { limit: 1 } } })
      const ehrId = data.items[0]?.id ?? ''
      return { mvUid, name, email: '', roles: [], ehrId, isPatient: true, hasPatients: false, acts }
    },
    staleTime: Number.POSITIVE_INFINITY,
  })

/** The users who help a person, without former ones. */
export const helpersQuery = (mvUid: string) =>
  queryOptions({
    queryKey: accountKey(mvUid, 'helpers'),
    queryFn: async () => {
      const path = { mvUid }
      const agreements = await readAll((query) =>
        ownApi.GET('/profile/{mvUid}/helper', { params: { path, query } }),
      )
      return agreements.filter(({ state }) => state !== 'ENDED')
    },
  })

/** The persons whom a user helps, without former ones. */
export const helpingQuery = (mvUid: string) =>
  queryOptions({
    queryKey: accountKey(mvUid, 'helping'),
    queryFn: async () => {
      const path = { mvUid }
      const agreements = await readAll((query) =>
        ownApi.GET('/profile/{mvUid}/helping', { params: { path, query } }),
      )
      return agreements.filter(({ state }) => state !== 'ENDED')
    },
  })

/**
 * The account's own EHR is the first in the list. Somebody who returns to the page reads it again: no event reports a
 * participation that begins or ends by its date.
 */
export const meQuery = (mvUid: string) =>
  queryOptions({
    queryKey: accountKey(mvUid, 'me'),
    queryFn: async (): Promise<Me> => {
      const [{ data: account }, { data: ehrs }] = await Promise.all([
        api.GET('/auth/account/{mvUid}', { params: { path: { mvUid } } }),
        api.GET('/ehr', { params: { query: { limit: 2 } } }),
      ])
      const ownEhr = ehrs.items.find(({ subjectId }) => subjectId === mvUid)
      return {
        mvUid,
        name: account.name ?? account.email,
        email: account.email,
        roles: account.roles,
        ehrId: ownEhr?.id ?? '',
        isPatient: true,
        hasPatients: ehrs.items.some(({ subjectId }) => subjectId !== mvUid),
      }
    },
    ...READ_ON_RETURN,
  })

/** The person at work on the record of the patient whom the URL names, if it names one. */
export const atPatient = (me: Me, { ehrId }: Readonly<Record<string, string>>): Me =>
  ehrId === undefined ? me : { ...me, ehrId, isPatient: false }

/** Path of the pages of the record that is shown: empty for one's own. */
export const recordPath = ({ ehrId, isPatient }: Me): string => (isPatient ? '' : `/patients/${ehrId}`)

/** Path of the page that shows the care plans. */
export const planPath = (me: Me): string => recordPath(me) || '/plan'
