import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { useEffect } from 'react'
import { useDraft } from '../../browser/drafts.ts'
import { Link } from '../../browser/router.tsx'
import type { PageProps } from '../../model/page-props.ts'
import { ehrKey } from '../../model/queries.ts'
import { api } from '../../session/session.ts'
import { formatMoment, personName } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { TextField } from '../../ui/form/field.tsx'
import { Form, useSubmit } from '../../ui/form/form.tsx'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'

type Topic = components['schemas']['ChatTopicWithMessages']

const pathOf = (ehrId: string, topicId: string) => ({ path: { type: 'ehr' as const, id: ehrId, topicId } })

const topicQuery = (ehrId: string, topicId: string) =>
  queryOptions({
    queryKey: ehrKey(ehrId, 'topics', topicId),
    queryFn: async () =>
      (await api.GET('/chat/{type}/{id}/{topicId}', { params: pathOf(ehrId, topicId) })).data,
  })

/** A conversation. Opening it marks its messages as read. */
export default function TopicPage({ me, params: { topicId = '' } }: PageProps) {
  const topic = useQuery(topicQuery(me.ehrId, topicId))
  return (
    <Loaded query={topic}>
      {(loaded) => <Conversation ehrId={me.ehrId} mvUid={me.mvUid} topic={loaded} />}
    </Loaded>
  )
}

interface ConversationProps {
  ehrId: string
  mvUid: string
  topic: Topic
}

function Conversation({ ehrId, mvUid, topic }: ConversationProps) {
  const t = useText()
  useMarkRead(ehrId, topic)
  return (
    <>
      <Heading title={topic.title} />
      <p>
        <Link to="/messages">{t('messages.title')}</Link>
      </p>
      <ol className="messages">
        {topic.items.map(({ id, author, createdAt, text }) => (
          <li key={id} className={author.mvUid === mvUid ? 'own' : undefined}>
            <p className="help">
              {author.mvUid === mvUid ? t('you') : personName(author.name)}, {formatMoment(createdAt)}
            </p>
            <p className="text">{text ?? t('messages.deleted')}</p>
          </li>
        ))}
      </ol>
      {topic.closed ? <p>{t('messages.closed')}</p> : <Reply ehrId={ehrId} mvUid={mvUid} topic={topic} />}
    </>
  )
}

function useMarkRead(ehrId: string, { id, unread }: Topic): void {
  const queries = useQueryClient()
  useEffect(() => {
    if (unread === 0) return
    api
      .POST('/chat/{type}/{id}/{topicId}/read', { params: pathOf(ehrId, id), body: {} })
      .then(() => queries.invalidateQueries({ queryKey: ehrKey(ehrId, 'topics') }))
      // They stay unread, and are marked the next time.
      .catch(() => {})
  }, [queries, ehrId, id, unread])
}

function Reply({ ehrId, mvUid, topic }: ConversationProps) {
  const t = useText()
  const queries = useQueryClient()
  const { draft, change, clear } = useDraft(`${mvUid}:reply:${topic.id}`, () => ({ text: '' }))
  const form = useSubmit(async () => {
    await api.POST('/chat/{type}/{id}/{topicId}', { params: pathOf(ehrId, topic.id), body: draft })
    clear()
    await queries.invalidateQueries({ queryKey: ehrKey(ehrId, 'topics') })
  })
  return (
    <Form form={form} submit={t('messages.send')}>
      <TextField
        {...form.field('text')}
        label={t('messages.reply')}
        lines={4}
        value={draft.text}
        onChange={(text) => change({ text })}
      />
    </Form>
  )
}
