import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { components } from 'health-record-client'
import { useEffect } from 'react'
import { useDraft } from '../../browser/drafts.ts'
import { Link } from '../../browser/router.tsx'
import { atPatient, type Me, recordPath } from '../../model/me.ts'
import type { PageProps } from '../../model/page-props.ts'
import { ehrKey } from '../../model/queries.ts'
import { api } from '../../session/user-session.ts'
import { formatMoment } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { TextField } from '../../ui/form/field.tsx'
import { Form, useCreation, useSubmit } from '../../ui/form/form.tsx'
import { LoadedPage } from '../../ui/loaded.tsx'
import { TurningNote } from '../../ui/skeleton.tsx'
import { PageButtons, type TurnedPages, useTurnedPages } from '../../ui/table/page-buttons.tsx'
import { RecordHeading } from '../banner/record-heading.tsx'
import { subjectOf, topicQuery } from './topic-queries.ts'
import { writerText } from './writer-text.ts'

type Topic = components['schemas']['ChatTopicWithMessages']

/** A conversation. Opening it marks its messages as read. */
export default function TopicPage({ me: self, params }: PageProps) {
  const { topicId = '', planId } = params
  const me = atPatient(self, params)
  const pages = useTurnedPages<string>()
  const topic = useQuery(topicQuery({ ehrId: me.ehrId, planId, topicId }, pages.position))
  return (
    <LoadedPage query={topic}>
      {(data) => <Conversation {...{ me, planId, pages }} topic={data} isTurning={topic.isPlaceholderData} />}
    </LoadedPage>
  )
}

interface ConversationProps {
  me: Me
  planId: string | undefined
  topic: Topic
  pages: TurnedPages<string>
  isTurning: boolean
}

function Conversation({ me, planId, topic, pages, isTurning }: ConversationProps) {
  const t = useText()
  const path = { ...subjectOf(me.ehrId, planId), topicId: topic.id }
  useMarkRead(me.ehrId, path, topic.unread)
  return (
    <>
      <RecordHeading me={me} title={topic.title} />
      <p>
        <Link to={`${recordPath(me)}/messages`}>{t('messages.title')}</Link>
      </p>
      <PageButtons pages={pages} next={topic.page.prev} />
      {isTurning && <TurningNote />}
      {/* Readers of the screen say a new message, but not those of another page. */}
      <div key={pages.position} role="log" aria-busy={isTurning} aria-label={t('messages.title')}>
        <ol className="messages">
          {topic.items.map((message) => (
            <MessageRow key={message.id} me={me} message={message} />
          ))}
        </ol>
      </div>
      {topic.closed ? <p>{t('messages.closed')}</p> : <Reply me={me} path={path} />}
    </>
  )
}

function MessageRow({ me, message }: { me: Me; message: Topic['items'][number] }) {
  const t = useText()
  const { author, onBehalfOf, createdAt, text } = message
  return (
    <li className={author.mvUid === me.mvUid ? 'own' : undefined}>
      <p className="help">
        {writerText(me, author, onBehalfOf)}, {formatMoment(createdAt)}
      </p>
      <p className="text" dir="auto">
        {text ?? t('messages.deleted')}
      </p>
    </li>
  )
}

type TopicPath = ReturnType<typeof subjectOf> & { topicId: string }

function useMarkRead(ehrId: string, { type, id, topicId }: TopicPath, unread: number): void {
  const queries = useQueryClient()
  useEffect(() => {
    if (unread === 0) return
    api
      .POST('/chat/{type}/{id}/{topicId}/read', { params: { path: { type, id, topicId } }, body: {} })
      .then(() => queries.invalidateQueries({ queryKey: ehrKey(ehrId, 'topics') }))
      // They stay unread, and are marked the next time.
      .catch(() => {})
  }, [queries, ehrId, type, id, topicId, unread])
}

function Reply({ me: { mvUid, ehrId }, path }: { me: Me; path: TopicPath }) {
  const t = useText()
  const queries = useQueryClient()
  const { draft, change, clear } = useDraft(`${mvUid}:reply:${path.topicId}`, () => ({ text: '' }))
  const create = useCreation()
  const form = useSubmit(async () => {
    await create(draft, (request) =>
      api.POST('/chat/{type}/{id}/{topicId}', { params: { path }, ...request }),
    )
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
