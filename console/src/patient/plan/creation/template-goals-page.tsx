import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, navigate } from '../../../browser/router.tsx'
import { atPatient, planPath } from '../../../model/me.ts'
import type { PageProps } from '../../../model/page-props.ts'
import { ehrKey } from '../../../model/queries.ts'
import { api } from '../../../session/user-session.ts'
import { today } from '../../../texts/format.ts'
import { currentLanguage, useText } from '../../../texts/translate.ts'
import { TextField } from '../../../ui/form/field.tsx'
import { Form, useCreation, useSubmit } from '../../../ui/form/form.tsx'
import { Heading } from '../../../ui/heading.tsx'
import { TemplateChoice } from './template-choice.tsx'

/** Adds the goals and tasks of a template to a plan. */
export default function TemplateGoalsPage({ me: self, params: { planId = '', ...params } }: PageProps) {
  const t = useText()
  const me = atPatient(self, params)
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
      <Heading title={t('plan.addTemplate')} />
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
