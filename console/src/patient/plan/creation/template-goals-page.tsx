import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, navigate } from '../../../browser/router.tsx'
import { planQuery } from '../../../model/health-record.ts'
import { atPatient, type Me, planPath } from '../../../model/me.ts'
import type { PageProps } from '../../../model/page-props.ts'
import { ehrKey } from '../../../model/queries.ts'
import { api } from '../../../session/user-session.ts'
import { today } from '../../../texts/format.ts'
import { currentLanguage, useText } from '../../../texts/translate.ts'
import { TextField } from '../../../ui/form/field.tsx'
import { Form, useCreation, useSubmit } from '../../../ui/form/form.tsx'
import { LoadedPage } from '../../../ui/loaded.tsx'
import { RecordHeading } from '../../banner/record-heading.tsx'
import { TemplateChoice } from './template-choice.tsx'

/** Adds the goals and tasks of a template to a plan. */
export default function TemplateGoalsPage({ me: self, params: { planId = '', ...params } }: PageProps) {
  const me = atPatient(self, params)
  const plan = useQuery(planQuery(me.ehrId, planId))
  return <LoadedPage query={plan}>{() => <TemplateForm me={me} planId={planId} />}</LoadedPage>
}

function TemplateForm({ me, planId }: { me: Me; planId: string }) {
  const t = useText()
  const queries = useQueryClient()
  const [templateId, setTemplateId] = useState('')
  const [startDate, setStartDate] = useState(today)
  const create = useCreation()
  const form = useSubmit(async () => {
    if (templateId === '') return
    const path = { ehrId: me.ehrId, careplanId: planId, guidelineId: templateId }
    await create({ startDate, language: currentLanguage() }, (request) =>
      api.POST('/ehr/{ehrId}/careplan/{careplanId}/template/{guidelineId}', {
        params: { path },
        ...request,
      }),
    )
    await queries.invalidateQueries({ queryKey: ehrKey(me.ehrId) })
    navigate(planPath(me))
  })
  return (
    <>
      <RecordHeading me={me} title={t('plan.addTemplate')} />
      <Form form={form} submit={t('plan.addGoals')} more={<Link to={planPath(me)}>{t('back')}</Link>}>
        <TemplateChoice value={templateId} onChange={setTemplateId} none={t('patient.choose')} />
        <TextField
          {...form.field('startDate')}
          type="date"
          label={t('plan.firstDay')}
          value={startDate}
          onChange={setStartDate}
        />
      </Form>
    </>
  )
}
