import { useQuery } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { formatList, personName } from '../../texts/format.ts'
import { isolate, useText } from '../../texts/translate.ts'
import { colleaguesQuery } from '../alerts/worklist-query.ts'
import type { AlertRulesProps } from './alert-rules-query.ts'
import { EscalationForm } from './escalation-form.tsx'

interface EscalationSectionProps extends AlertRulesProps {
  participants: readonly components['schemas']['ParticipationResource'][]
}

/** To whom the alerts of a plan go, one after the other: a form for writers, a sentence for readers. */
export function EscalationSection({ participants, ...props }: EscalationSectionProps) {
  const t = useText()
  const { me, rules, isWriter } = props
  const { data: colleagues = [] } = useQuery(colleaguesQuery)
  const nameOf = (mvUid: string): string => {
    if (mvUid === me.mvUid) return t('you')
    const name = colleagues.find((one) => one.mvUid === mvUid)?.name
    const role = participants.find((one) => one.mvUid === mvUid)?.role
    const texts = [name, role].flatMap((one) => (one ? isolate(one) : []))
    return texts.join(', ') || personName(null)
  }
  const writers = participants.filter(({ access }) => access !== 'READ').map(({ mvUid }) => mvUid)
  return (
    <section className="panel" aria-labelledby="escalation">
      <h2 id="escalation">{t('escalation.title')}</h2>
      <p className="help">{t('escalation.help')}</p>
      {isWriter ? (
        <EscalationForm {...props} {...{ writers, nameOf }} />
      ) : (
        <EscalationText {...{ rules, nameOf }} />
      )}
    </section>
  )
}

function EscalationText({
  rules: { escalation },
  nameOf,
}: Pick<AlertRulesProps, 'rules'> & { nameOf(mvUid: string): string }) {
  const t = useText()
  if (!escalation) return <p>{t('escalation.nobody')}</p>
  const names = formatList(escalation.participants.map(nameOf), 'and')
  return <p>{t('escalation.order', { names, count: escalation.afterMinutes })}</p>
}
