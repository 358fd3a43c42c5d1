import { useQueryClient } from '@tanstack/react-query'
import { useDraft } from '../../../browser/drafts.ts'
import { Link, navigate } from '../../../browser/router.tsx'
import { type Me, planPath } from '../../../model/me.ts'
import type { PageProps } from '../../../model/page-props.ts'
import { ehrKey } from '../../../model/queries.ts'
import { api } from '../../../session/user-session.ts'
import { today } from '../../../texts/format.ts'
import { currentLanguage, useText } from '../../../texts/translate.ts'
import { TextField } from '../../../ui/form/field.tsx'
import { Form, useCreation, useSubmit } from '../../../ui/form/form.tsx'
import { Heading } from '../../../ui/heading.tsx'
import { TemplateChoice } from './template-choice.tsx'

/** Starts a care plan, from a template or an empty one. */
export default function NewPlanPage({ me }: PageProps) {
  const t = useText()
  const { draft, change, form } = usePlanDraft(me)
  const { templateId, name, startDate } = draft
  return (
    <>
      <Heading title={t('plan.new')} />
      <Form form={form} submit={t('plan.start')} more={<Link to={planPath(me)}>{t('back')}</Link>}>
        <TemplateChoice
          value={templateId}
          onChange={(id) => change({ templateId: id })}
          none={t('plan.empty')}
        />
        {templateId === '' && (
          <TextField
            {...form.field('name')}
            label={t('plan.name')}
            value={name}
            onChange={(next) => change({ name: next })}
          />
        )}
        <TextField
          {...form.field('startDate')}
          type="date"
          label={t('plan.firstDay')}
          value={startDate}
          onChange={(next) => change({ startDate: next })}
        />
      </Form>
    </>
  )
}

function usePlanDraft(me: Me) {
  const { mvUid, ehrId } = me
  const queries = useQueryClient()
  const { draft, change, clear } = useDraft(`${mvUid}:plan`, () => ({
    templateId: '',
    name: '',
    startDate: today(),
  }))
  const create = useCreation()
  const form = useSubmit(async () => {
    const { templateId: guidelineId, name, startDate } = draft
    if (guidelineId === '')
      await create({ name, proposedStartDate: startDate }, (request) =>
        api.POST('/ehr/{ehrId}/careplan', { params: { path: { ehrId } }, ...request }),
      )
    else
      await create({ startDate, language: currentLanguage() }, (request) => {
        const params = { path: { ehrId, guidelineId } }
        return api.POST('/ehr/{ehrId}/careplan/template/{guidelineId}', { params, ...request })
      })
    clear()
    await queries.invalidateQueries({ queryKey: ehrKey(ehrId) })
    navigate(planPath(me))
  })
  return { draft, change, form }
}
