import { useQueryClient } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { ehrKey } from '../../model/queries.ts'
import { api } from '../../session/user-session.ts'
import { formatDate } from '../../texts/format.ts'
import { isolate, useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { ConfirmButton } from '../../ui/form/confirm-button.tsx'
import { useSubmit } from '../../ui/form/form.tsx'

interface ParticipantRowProps {
  ehrId: string
  plan: { id: string; name: string } | undefined
  participant: components['schemas']['ParticipationResource']
}

/** A participant of a plan, the end of the period, and a button that ends it now. */
export function ParticipantRow({ ehrId, plan, participant }: ParticipantRowProps) {
  const t = useText()
  const queries = useQueryClient()
  const { participationId, name, role, access, end, version } = participant
  const who = name ?? role ?? t('access.helper')
  const ending = useSubmit(async () => {
    const path = { ehrId, careplanId: plan?.id ?? '', participationId }
    const headers = { 'if-match': `"${version}"` }
    await api.DELETE('/ehr/{ehrId}/careplan/{careplanId}/participant/{participationId}', {
      params: { path },
      headers,
    })
    await queries.invalidateQueries({ queryKey: ehrKey(ehrId) })
  })
  return (
    <li>
      <div className="grow">
        <strong>{who}</strong>
        {name && role && ` (${isolate(role)})`} {t(`right.${access}`, { plan: plan?.name ?? '' })}
        <p className="help">{end ? t('access.until', { date: formatDate(end) }) : t('access.noEnd')}</p>
        {ending.problem && <FailureNote error={ending.problem} />}
      </div>
      <ConfirmButton
        yes={t('access.endYes')}
        label={t('access.end')}
        about={who}
        question={t('access.endHelp', { who })}
        onConfirm={ending.submit}
      />
    </li>
  )
}
