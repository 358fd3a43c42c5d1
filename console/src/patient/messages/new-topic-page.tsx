import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useDraft } from '../../browser/drafts.ts'
import { Link, navigate } from '../../browser/router.tsx'
import { plansQuery } from '../../model/health-record.ts'
import { atPatient, recordPath } from '../../model/me.ts'
import type { PageProps } from '../../model/page-props.ts'
import { ehrKey } from '../../model/queries.ts'
import { api } from '../../session/user-session.ts'
import { useText } from '../../texts/translate.ts'
import { SelectField, TextField } from '../../ui/form/field.tsx'
import { Form, useCreation, useSubmit } from '../../ui/form/form.tsx'
import { RecordHeading } from '../banner/record-heading.tsx'
import { subjectOf } from './topic-queries.ts'

const NEW_TOPIC = { title: '', text: '', planId: '' }

export default function NewTopicPage({ me: self, params }: PageProps) {
  const t = useText()
  const me = atPatient(self, params)
  const path = `${recordPath(me)}/messages`
  const queries = useQueryClient()
  const { draft, change, clear } = useDraft(`${me.mvUid}:topic:${me.ehrId}`, () => NEW_TOPIC)
  const plans = useQuery(plansQuery(me.ehrId)).data ?? []
  const create = useCreation(draft.planId)
  const form = useSubmit(async () => {
    const { planId, ...message } = draft
    const topicParams = { path: subjectOf(me.ehrId, planId || undefined) }
    const { data } = await create(message, (request) =>
      api.POST('/chat/{type}/{id}', { params: topicParams, ...request }),
    )
    clear()
    await queries.invalidateQueries({ queryKey: ehrKey(me.ehrId, 'topics') })
    navigate(`${path}/${planId ? `${planId}/` : ''}${data.id}`, { replace: true })
  })
  return (
    <>
      <RecordHeading me={me} title={t('messages.new')} />
      <Form form={form} submit={t('messages.send')} more={<Link to={path}>{t('back')}</Link>}>
        <TextField
          {...form.field('title')}
          label={t('messages.about')}
          value={draft.title}
          onChange={(title) => change({ title })}
        />
        {plans.length > 0 && (
          <SelectField
            label={t('messages.plan')}
            value={draft.planId}
            options={[
              { value: '', label: t('messages.noPlan') },
              ...plans.map(({ id, name }) => ({ value: id, label: name })),
            ]}
            onChange={(planId) => change({ planId })}
          />
        )}
        <TextField
          {...form.field('text')}
          label={t('messages.text')}
          lines={6}
          value={draft.text}
          onChange={(text) => change({ text })}
        />
      </Form>
    </>
  )
}
