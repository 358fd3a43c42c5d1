import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { helpersQuery } from '../../model/me.ts'
import { api } from '../../session/user-session.ts'
import { formatPeriod, personName } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { ConfirmButton } from '../../ui/form/confirm-button.tsx'
import { useSubmit } from '../../ui/form/form.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { InvitationForm } from './invitation-form.tsx'

/** The helpers of the person, and the form for another one. */
export function Helpers({ mvUid }: { mvUid: string }) {
  const t = useText()
  const helpers = useQuery(helpersQuery(mvUid))
  return (
    <>
      <p>{t('helpers.help')}</p>
      <Loaded query={helpers}>
        {(items) =>
          items.length === 0 ? (
            <p>{t('helpers.none')}</p>
          ) : (
            <ul className="rows">
              {items.map((helper) => (
                <HelperRow key={helper.mvUid} mvUid={mvUid} helper={helper} />
              ))}
            </ul>
          )
        }
      </Loaded>
      <InvitationForm mvUid={mvUid} />
    </>
  )
}

interface HelperRowProps {
  mvUid: string
  helper: components['schemas']['Helper']
}

function HelperRow({ mvUid, helper }: HelperRowProps) {
  const t = useText()
  const queries = useQueryClient()
  const who = helper.name === null ? helper.mvUid : personName(helper.name)
  const ending = useSubmit(async () => {
    const params = { path: { mvUid, helperId: helper.mvUid } }
    await api.DELETE('/profile/{mvUid}/helper/{helperId}', { params })
    await queries.invalidateQueries(helpersQuery(mvUid))
  })
  return (
    <li>
      <div className="grow">
        <strong>{who}</strong>, {t(`relation.${helper.relation}`)}
        <p className="help">
          {helper.acts.map((act) => t(`act.${act}`)).join(', ')}. {formatPeriod(helper)}{' '}
          {helper.state === 'INVITED' && t('helpers.invited')}
        </p>
        {ending.problem && <FailureNote error={ending.problem} />}
      </div>
      <ConfirmButton
        yes={t('access.endYes')}
        label={t('helpers.end')}
        about={who}
        question={t('helpers.endHelp', { who })}
        onConfirm={ending.submit}
      />
    </li>
  )
}
