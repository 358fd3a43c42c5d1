import { atPatient } from '../../../model/me.ts'
import type { PageProps } from '../../../model/page-props.ts'
import { api } from '../../../session/user-session.ts'
import { useText } from '../../../texts/translate.ts'
import { PlanEntryForm } from './plan-entry-form.tsx'

export default function NewGoalPage({ me: self, params }: PageProps) {
  const t = useText()
  const me = atPatient(self, params)
  const { planId: careplanId = '' } = params
  const path = { ehrId: me.ehrId, careplanId }
  return (
    <PlanEntryForm
      me={me}
      planId={careplanId}
      draftName={`goal of ${careplanId}`}
      title={t('goal.new')}
      labels={{ name: t('goal.name'), description: t('goal.description'), dueDate: t('goal.dueDate') }}
      save={(request) =>
        api.POST('/ehr/{ehrId}/careplan/{careplanId}/goal', { params: { path }, ...request })
      }
    />
  )
}
