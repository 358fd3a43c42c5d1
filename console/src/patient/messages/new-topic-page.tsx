import { useQueryClient } from '@tanstack/react-query'
import { useDraft } from '../../browser/drafts.ts'
import { Link, navigate } from '../../browser/router.tsx'
import { atPatient, recordPath } from '../../model/me.ts'
import type { PageProps } from '../../model/page-props.ts'
import { ehrKey } from '../../model/queries.ts'
import { api } from '../../session/user-session.ts'
import { useText } from '../../texts/translate.ts'
import { TextField } from '../../ui/form/field.tsx'
import { Form, useCreation, useSubmit } from '../../ui/form/form.tsx'
import { RecordHeading } from '../banner/record-heading.tsx'

export default function NewTopicPage({ me: self, params }: PageProps) {
  const t = useText()
  const me = atPatient(self, params)
  const path = `${recordPath(me)}/messages`
  const queries = useQueryClient()
  const { draft, change, clear } = useDraft(`${me.mvUid}:topic:${me.ehrId}`, () => ({ title: '', text: '' }))
  const create = useCreation()
  const form = useSubmit(async () => {
    const about = { path: { type: 'ehr' as const, id: me.ehrId } }
    const { data } = await create(draft, (request) =>
      api.POST('/chat/{type}/{id}', { params: about, ...request }),
    )
    clear()
    await queries.invalidateQueries({ queryKey: ehrKey(me.ehrId, 'topics') })
    navigate(`${path}/${data.id}`, { replace: true })
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
