import { useQueryClient } from '@tanstack/react-query'
import { useDraft } from '../../browser/drafts.ts'
import { Link, navigate } from '../../browser/router.tsx'
import type { PageProps } from '../../model/page-props.ts'
import { ehrKey } from '../../model/queries.ts'
import { api } from '../../session/session.ts'
import { useText } from '../../texts/translate.ts'
import { TextField } from '../../ui/form/field.tsx'
import { Form, useSubmit } from '../../ui/form/form.tsx'
import { Heading } from '../../ui/heading.tsx'

export default function NewTopicPage({ me }: PageProps) {
  const t = useText()
  const queries = useQueryClient()
  const { draft, change, clear } = useDraft(`${me.mvUid}:topic`, () => ({ title: '', text: '' }))
  const form = useSubmit(async () => {
    const params = { path: { type: 'ehr' as const, id: me.ehrId } }
    const { data } = await api.POST('/chat/{type}/{id}', { params, body: draft })
    clear()
    await queries.invalidateQueries({ queryKey: ehrKey(me.ehrId, 'topics') })
    navigate(`/messages/${data.id}`, { replace: true })
  })
  return (
    <>
      <Heading title={t('messages.new')} />
      <Form form={form} submit={t('messages.send')} more={<Link to="/messages">{t('back')}</Link>}>
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
