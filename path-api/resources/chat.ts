import { Type } from '@sinclair/typebox'
import type { SeenTopic, StoredMessage } from '../../records/chat/chats.ts'
import {
  AboutEnum,
  ChatMessageBody,
  ChatMessageChange,
  ChatMessageResource,
  ChatRead,
  ChatTopicBody,
  ChatTopicResource,
  chatTopicFields,
} from '../../schemas/chat.ts'
import { answer } from '../answer/answer.ts'
import { linked, list, PageInfo, pageAs, paging, pathOf } from '../operation/list.ts'
import { operation } from '../operation/operation.ts'
import { recordId } from '../operation/parameters.ts'
import type { Services } from '../operation/services.ts'

const source = 'Endpoints, Chat'
const path = '/chat/{type}/{id}'
const one = `${path}/{topicId}` as const
const message = `${one}/message/{messageId}` as const

const place = {
  type: AboutEnum,
  id: recordId('Id of what it is about; of the other user, for `network`', 'p0LmNb72Qw'),
}
export const ofTopic = { ...place, topicId: recordId('Topic id', 'h5TyUi89Op') }
const ofMessage = { ...ofTopic, messageId: recordId('Message id', 'c2MnBv45Tr') }

const about = { source, access: 'chat' } as const
const LIMITS = { bytes: 64 * 1024 }

export const placeIn = ({ type, id }: { type: typeof AboutEnum.static; id: string }) => ({ about: type, id })

const person = (mvUid: string, names: ReadonlyMap<string, string>) => ({
  mvUid,
  name: names.get(mvUid) ?? null,
})

const topicOf = ({ topic, unread, names }: SeenTopic) => {
  const { id, version, title, createdAt, lastMessageAt = createdAt, closed } = topic
  const createdBy = person(topic.createdBy, names)
  return { ...{ id, version, title, createdBy, createdAt, lastMessageAt, unread }, closed: closed === true }
}

export const messageOf = (
  stored: StoredMessage,
  names: ReadonlyMap<string, string>,
  addressOf: Services['addressOf'],
) => {
  const { id, version, text, createdBy, createdAt, editedAt = null, deleted, replyTo = null, ehrId } = stored
  const attachments = (stored.attachments ?? []).map(({ type, id }) => ({
    ...{ type, id },
    href:
      type === 'Composition'
        ? `/med/ehr/${ehrId}/composition/${id}`
        : (addressOf(type, { id, ehrId }) ?? null),
  }))
  return {
    ...{ id, version, text: deleted ? null : text, author: person(createdBy, names), createdAt, editedAt },
    ...{ deleted: deleted === true, replyTo, attachments },
  }
}

const Messages = Type.Object(
  {
    ...chatTopicFields,
    items: Type.Array(ChatMessageResource, { description: 'Its messages, the newest last' }),
    page: PageInfo,
  },
  {
    $id: 'ChatTopicWithMessages',
    additionalProperties: false,
    description: 'A topic with a page of its messages',
  },
)

const topics = [
  list({
    ...about,
    id: 'listTopics',
    path,
    params: place,
    summary: 'List the chat topics about something',
    description:
      'The one with the latest message comes first. For everybody who may see what they are about.',
    item: ChatTopicResource,
    order: 'desc',
    handle: async ({ params, page }, { caller, chats }) =>
      pageAs(await chats.list(caller, placeIn(params), page), topicOf),
  }),
  operation({
    ...about,
    id: 'startTopic',
    method: 'post',
    path,
    params: place,
    summary: 'Start a topic with its first message',
    description: 'Text is plain. Those who have not read it for an hour get a mail, without the text.',
    body: ChatTopicBody,
    limits: LIMITS,
    reply: [201, ChatTopicResource, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params, body }, { caller, chats, newId }) => {
      const ids = { topicId: newId(), messageId: newId() }
      const started = topicOf(await chats.start(caller, placeIn(params), body, ids))
      return answer(started, {
        version: started.version,
        location: `/chat/${params.type}/${params.id}/${started.id}`,
      })
    },
  }),
  operation({
    ...about,
    id: 'showTopic',
    method: 'get',
    path: one,
    params: ofTopic,
    query: { limit: paging.limit, cursor: paging.cursor },
    summary: 'Show a topic with its messages',
    description: 'The newest last; `page.prev` leads to older ones, `page.next` to newer ones.',
    reply: [200, Messages],
    handle: async ({ params, query }, { caller, chats, addressOf }) => {
      const { limit = 100, cursor } = query
      const topic = await chats.show(caller, placeIn(params), params.topicId, { limit, cursor })
      const items = topic.messages.map((one) => messageOf(one, topic.names, addressOf))
      const { older: prev, newer: next } = topic
      const body = { ...topicOf(topic), items, page: { limit, next, prev } }
      return answer(body, linked(pathOf(one, params), query, { prev, next }))
    },
  }),
  operation({
    ...about,
    id: 'closeTopic',
    method: 'post',
    path: `${one}/close`,
    params: ofTopic,
    summary: 'Close a topic: no more messages can be added',
    description: 'For its author, and those who may change what it is about.',
    extra: true,
    reply: [200, ChatTopicResource, 'versioned'],
    errors: ['PreconditionFailed'],
    handle: async ({ params }, { caller, chats, expected }) => {
      const closed = topicOf(await chats.close(caller, placeIn(params), params.topicId, expected))
      return answer(closed, { version: closed.version })
    },
  }),
  operation({
    ...about,
    id: 'readTopic',
    method: 'post',
    path: `${one}/read`,
    params: ofTopic,
    summary: 'Note how far the caller has read a topic',
    extra: true,
    body: ChatRead,
    reply: [204],
    errors: ['RuleViolated'],
    handle: ({ params, body }, { caller, chats }) =>
      chats.markRead(caller, placeIn(params), params.topicId, body.messageId),
  }),
]

const messages = [
  operation({
    ...about,
    id: 'addMessage',
    method: 'post',
    path: one,
    params: ofTopic,
    summary: 'Add a message to a topic',
    body: ChatMessageBody,
    limits: LIMITS,
    reply: [201, ChatMessageResource, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params, body }, { caller, chats, newId, addressOf }) => {
      const { topicId } = params
      const posted = await chats.post(caller, placeIn(params), topicId, body, newId())
      const message = messageOf(posted.message, posted.names, addressOf)
      const location = `/chat/${params.type}/${params.id}/${topicId}/message/${message.id}`
      return answer(message, { version: message.version, location })
    },
  }),
  operation({
    ...about,
    id: 'updateMessage',
    method: 'put',
    path: message,
    params: ofMessage,
    summary: 'Change a message of one’s own, within 15 minutes',
    extra: true,
    body: ChatMessageChange,
    limits: LIMITS,
    reply: [200, ChatMessageResource, 'versioned'],
    errors: ['RuleViolated'],
    handle: async ({ params, body: { text } }, { caller, chats, expected, addressOf }) => {
      const edited = await chats.edit(caller, placeIn(params), params, text, expected)
      const message = messageOf(edited.message, edited.names, addressOf)
      return answer(message, { version: message.version })
    },
  }),
  operation({
    ...about,
    id: 'deleteMessage',
    method: 'delete',
    path: message,
    params: ofMessage,
    summary: 'Delete a message of one’s own: a tombstone stays',
    extra: true,
    reply: [204],
    handle: ({ params }, { caller, chats, expected }) =>
      chats.erase(caller, placeIn(params), params, expected),
  }),
]

export const chat = [...topics, ...messages]
