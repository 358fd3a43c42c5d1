import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { navigate } from '../browser/router.tsx'
import { helpingQuery } from '../model/me.ts'
import { ownApi, startHelping, stopHelping, useSession } from '../session/user-session.ts'
import { formatPeriod, personName } from '../texts/format.ts'
import { useText } from '../texts/translate.ts'
import { FailureNote } from '../ui/failure-note.tsx'
import { useSubmit } from '../ui/form/form.tsx'

type Helper = components['schemas']['Helper']

/** Says on each page for whom the user acts. */
export function HelpingBanner() {
  const t = useText()
  const session = useSession()
  if (session.status !== 'in') return null
  const { helped, ended } = session
  if (ended)
    return (
      <p role="status" className="helping">
        {t('helping.ended', { name: ended.name })}
      </p>
    )
  if (!helped) return null
  return (
    <section className="helping" aria-label={t('helping.title')}>
      <p>{t('helping.banner', { name: helped.name })}</p>
      <button type="button" onClick={showOwnRecord}>
        {t('helping.stop')}
      </button>
    </section>
  )
}

function showOwnRecord(): void {
  stopHelping()
  navigate('/')
}

/** The persons whom the user helps, and invitations. */
export function HelpedPersons() {
  const session = useSession()
  const mvUid = session.status === 'in' && !session.helped ? session.mvUid : ''
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
  const shown = personName(name)
  const start = () => {
    startHelping({ mvUid, name: shown, acts })
    navigate('/')
  }
  return (
    <button type="button" onClick={start}>
      {t('helping.start', { name: shown })}
    </button>
  )
}

function Invitation({ mvUid, invitation }: { mvUid: string; invitation: Helper }) {
  const t = useText()
  const queries = useQueryClient()
  const { acts } = invitation
  const name = personName(invitation.name)
  const params = { path: { mvUid, personId: invitation.mvUid } }
  const refresh = () => queries.invalidateQueries({ queryKey: ['helping', mvUid] })
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
