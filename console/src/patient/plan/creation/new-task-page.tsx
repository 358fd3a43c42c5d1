import { atPatient } from '../../../model/me.ts'
import type { PageProps } from '../../../model/page-props.ts'
import { api } from '../../../session/user-session.ts'
import { useText } from '../../../texts/translate.ts'
import { PlanEntryForm } from './plan-entry-form.tsx'

export default function NewTaskPage({ me: self, params }: PageProps) {
  const t = useText()
  const me = atPatient(self, params)
  const { planId: careplanId = '', goalId = '' } = params
  const path = { ehrId: me.ehrId, careplanId, goalId }
  return (
    <PlanEntryForm
      me={me}
      planId={careplanId}
      draftName={`task of ${goalId}`}
      title={t('task.new')}
      labels={{ name: t('task.name'), description: t('goal.description'), dueDate: t('task.dueDate') }}
      save={(request) =>
        api.POST('/ehr/{ehrId}/careplan/{careplanId}/goal/{goalId}/task', { params: { path }, ...request })
      }
    />
  )
}
