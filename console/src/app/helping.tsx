import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { useEffect } from 'react'
import { navigate, navigateFor } from '../browser/router.tsx'
import { helpingQuery } from '../model/me.ts'
import { EHRS_KEY } from '../model/queries.ts'
import {
  changeHelperActs,
  currentSession,
  ownApi,
  startHelping,
  stopHelping,
  useSession,
} from '../session/user-session.ts'
import { formatPeriod, personName } from '../texts/format.ts'
import { useText } from '../texts/translate.ts'
import { FailureNote } from '../ui/failure-note.tsx'
import { useSubmit } from '../ui/form/form.tsx'

type Helper = components['schemas']['Helper']

/** Says on each page for whom the user acts. */
export function HelpingBanner() {
  const t = useText()
  const session = useSession()
  const { mvUid, helpedPerson, ended, isRefused } = session.status === 'in' ? session : { mvUid: '' }
  const { data } = useQuery({ ...helpingQuery(mvUid), enabled: helpedPerson !== undefined })
  const queries = useQueryClient()
  useEffect(() => {
    // What the person does not allow any more disappears.
    if (data && obeyAgreement(data)) queries.invalidateQueries({ queryKey: EHRS_KEY })
  }, [data, queries])
  if (ended || isRefused)
    return (
      <p role="status" className="helping">
        {ended ? t('helping.ended', { name: ended.name }) : t('helping.refused')}
      </p>
    )
  if (!helpedPerson) return null
  return (
    <section className="helping" aria-label={t('helping.title')}>
      <p>{t('helping.banner', { name: helpedPerson.name })}</p>
      <button type="button" onClick={showOwnRecord}>
        {t('helping.stop')}
      </button>
    </section>
  )
}

/**
 * Ends the acting when the agreement has ended, and takes over what the person allows by now. The service watches the
 * period: the clock of this device may be wrong.
 * @returns whether the person allows something else than before
 */
function obeyAgreement(agreements: readonly Helper[]): boolean {
  const session = currentSession()
  if (session.status !== 'in' || !session.helpedPerson) return false
  const { mvUid, acts } = session.helpedPerson
  const agreement = agreements.find((one) => one.mvUid === mvUid && one.state === 'ACTIVE')
  if (!agreement) {
    stopHelping(true)
    return false
  }
  const isChanged = agreement.acts.join() !== acts.join()
  if (isChanged) changeHelperActs(agreement.acts)
  return isChanged
}

function showOwnRecord(): void {
  stopHelping()
  navigate('/')
}

/** The persons whom the user helps, and invitations. */
export function HelpedPersons() {
  const session = useSession()
  const mvUid = session.status === 'in' && !session.helpedPerson ? session.mvUid : ''
  const { data = [] } = useQuery({ ...helpingQuery(mvUid), enabled: mvUid !== '' })
  const now = new Date().toISOString()
  return data.map((one) =>
    one.state === 'INVITED' ? (
      <Invitation key={one.mvUid} mvUid={mvUid} invitation={one} />
    ) : (
      one.from <= now && <ActButton key={one.mvUid} person={one} />
    ),
  )
}

function ActButton({ person: { mvUid, name, acts } }: { person: Helper }) {
  const t = useText()
  const displayName = personName(name)
  const start = () => {
    navigateFor(mvUid, '/')
    startHelping({ mvUid, name: displayName, acts })
  }
  return (
    <button type="button" onClick={start}>
      {t('helping.start', { name: displayName })}
    </button>
  )
}

function Invitation({ mvUid, invitation }: { mvUid: string; invitation: Helper }) {
  const t = useText()
  const queries = useQueryClient()
  const { acts } = invitation
  const name = personName(invitation.name)
  const params = { path: { mvUid, personId: invitation.mvUid } }
  const refresh = () => queries.invalidateQueries(helpingQuery(mvUid))
  const accepting = useSubmit(async () => {
    await ownApi.POST('/profile/{mvUid}/helping/{personId}/accept', { params: { ...params, header: {} } })
    await refresh()
  })
  const declining = useSubmit(async () => {
    await ownApi.DELETE('/profile/{mvUid}/helping/{personId}', { params })
    await refresh()
  })
  const problem = accepting.problem ?? declining.problem
  return (
    <section className="note invitation" aria-label={t('helping.invitation', { name })}>
      <p>
        {t('helping.asked', { name })} {acts.map((act) => t(`act.${act}`)).join(', ')}.{' '}
        {formatPeriod(invitation)}
      </p>
      {problem && <FailureNote error={problem} />}
      <div className="actions">
        <button type="button" className="primary" onClick={accepting.submit}>
          {t('helping.accept')}
        </button>
        <button type="button" onClick={declining.submit}>
          {t('helping.decline')}
        </button>
      </div>
    </section>
  )
}
