import { useQueryClient } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { useState } from 'react'
import { ehrKey } from '../../model/queries.ts'
import { api } from '../../session/user-session.ts'
import { formatDate } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { FailureNote } from '../../ui/failure-note.tsx'
import { useSubmit } from '../../ui/form/form.tsx'
import { QuestionDialog } from '../../ui/form/question-dialog.tsx'

interface ParticipantRowProps {
  ehrId: string
  plan: { id: string; name: string } | undefined
  participant: components['schemas']['ParticipationResource']
}

/** Somebody who takes part in a plan, until when, and the end of it. */
export function ParticipantRow({ ehrId, plan, participant }: ParticipantRowProps) {
  const t = useText()
  const queries = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const { participationId, role, access, end, version } = participant
  const who = role ?? t('access.helper')
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
        <strong>{who}</strong> {t(`right.${access}`, { plan: plan?.name ?? '' })}
        <p className="help">{end ? t('access.until', { date: formatDate(end) }) : t('access.noEnd')}</p>
        {ending.problem && <FailureNote error={ending.problem} />}
      </div>
      <button type="button" onClick={() => setAsking(true)}>
        {t('access.end')} <span className="unseen">{who}</span>
      </button>
      <QuestionDialog
        title={t('access.end')}
        text={t('access.endHelp', { who })}
        yes={t('access.endYes')}
        no={t('back')}
        isOpen={isAsking}
        onAnswer={(isYes) => {
          setAsking(false)
          if (isYes) ending.submit()
        }}
      />
    </li>
  )
}
