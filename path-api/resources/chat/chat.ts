import { Type } from '@sinclair/typebox'
import type { StoredMessage, TopicView } from '../../../records/chat/chats.ts'
import {
  ChatMessageBody,
  ChatMessageChange,
  ChatMessageResource,
  ChatSubjectTypeEnum,
  ChatTopicBody,
  ChatTopicResource,
  chatTopicFields,
  ReadMarkBody,
} from '../../../schemas/chat/chat.ts'
import {
  createLinkHead,
  defineListOperation,
  fillPath,
  mapPage,
  PageInfo,
  pagingParameters,
} from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { createRecordIdSchema } from '../../operation/path-parameters.ts'
import type { Services } from '../../operation/services.ts'
import { replyWith } from '../../reply/reply.ts'

const chatSource = 'Endpoints, Chat'
const topicsPath = '/chat/{type}/{id}'
const topicPath = `${topicsPath}/{topicId}` as const
const messagePath = `${topicPath}/message/{messageId}` as const

const subjectParams = {
  type: ChatSubjectTypeEnum,
  id: createRecordIdSchema(
    'Id of the subject of the topic; for `network`, the id of the other user',
    'p0LmNb72Qw',
  ),
}
export const topicParams = { ...subjectParams, topicId: createRecordIdSchema('Topic id', 'h5TyUi89Op') }
const messageParams = { ...topicParams, messageId: createRecordIdSchema('Message id', 'c2MnBv45Tr') }

const chatDefaults = { source: chatSource, access: 'chat' } as const
const CHAT_BODY_LIMITS = { bytes: 64 * 1024 }

export const subjectFromParams = ({ type, id }: { type: typeof ChatSubjectTypeEnum.static; id: string }) => ({
  about: type,
  id,
})

const toChatPerson = (mvUid: string, names: ReadonlyMap<string, string>) => ({
  mvUid,
  name: names.get(mvUid) ?? null,
})

const toHelpedPerson = (mvUid: string | undefined, names: ReadonlyMap<string, string>) =>
  mvUid === undefined ? null : toChatPerson(mvUid, names)

const toChatTopic = ({ topic, unread, names }: TopicView) => {
  const { id, version, title, createdAt, lastMessageAt = createdAt, closed } = topic
  const createdBy = toChatPerson(topic.createdBy, names)
  const onBehalfOf = toHelpedPerson(topic.onBehalfOf, names)
  return {
    id,
    version,
    title,
    createdBy,
    onBehalfOf,
    createdAt,
    lastMessageAt,
    unread,
    closed: closed === true,
  }
}

export const toChatMessage = (
  message: StoredMessage,
  names: ReadonlyMap<string, string>,
  recordPathOf: Services['recordPathOf'],
) => {
  const { id, version, text, createdBy, createdAt, editedAt = null, deleted, replyTo = null, ehrId } = message
  const attachments = (message.attachments ?? []).map(({ type, id }) => ({
    type,
    id,
    href: recordPathOf(type, { id, ehrId }) ?? null,
  }))
  return {
    id,
    version,
    text: deleted ? null : text,
    author: toChatPerson(createdBy, names),
    onBehalfOf: toHelpedPerson(message.onBehalfOf, names),
    createdAt,
    editedAt,
    deleted: deleted === true,
    replyTo,
    attachments,
  }
}

const TopicWithMessages = Type.Object(
  {
    ...chatTopicFields,
    items: Type.Array(ChatMessageResource, { description: 'Messages in chronological order' }),
    page: PageInfo,
  },
  {
    $id: 'ChatTopicWithMessages',
    additionalProperties: false,
    description: 'A topic with a page of its messages',
  },
)

const topicOperations = [
  defineListOperation({
    ...chatDefaults,
    id: 'listTopics',
    path: topicsPath,
    params: subjectParams,
    summary: 'List the chat topics about a subject',
    description: 'Sorted by the latest message, newest first.',
    item: ChatTopicResource,
    order: 'desc',
    handle: async ({ params, page }, { caller, chats }) =>
      mapPage(await chats.list(caller, subjectFromParams(params), page), toChatTopic),
  }),
  defineOperation({
    ...chatDefaults,
    id: 'addTopic',
    method: 'post',
    path: topicsPath,
    params: subjectParams,
    summary: 'Create a topic with its first message',
    description:
      'The text is plain text. Users who have not read the message for an hour get a mail without the text.',
    body: ChatTopicBody,
    limits: CHAT_BODY_LIMITS,
    reply: [201, ChatTopicResource, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params, body }, { caller, chats, newId }) => {
      const ids = { topicId: newId(), messageId: newId() }
      const topic = toChatTopic(await chats.start(caller, subjectFromParams(params), body, ids))
      return replyWith(topic, {
        version: topic.version,
        location: `/chat/${params.type}/${params.id}/${topic.id}`,
      })
    },
  }),
  defineOperation({
    ...chatDefaults,
    id: 'getTopic',
    method: 'get',
    path: topicPath,
    params: topicParams,
    query: { limit: pagingParameters.limit, cursor: pagingParameters.cursor },
    summary: 'Get a topic with its messages',
    description:
      'Messages are in chronological order; `page.prev` leads to older messages, `page.next` to newer ones.',
    reply: [200, TopicWithMessages],
    handle: async ({ params, query }, { caller, chats, recordPathOf }) => {
      const { limit = 100, cursor } = query
      const topic = await chats.show(caller, subjectFromParams(params), params.topicId, { limit, cursor })
      const items = topic.messages.map((one) => toChatMessage(one, topic.names, recordPathOf))
      const { older: prev, newer: next } = topic
      const body = { ...toChatTopic(topic), items, page: { limit, next, prev } }
      return replyWith(body, createLinkHead(fillPath(topicPath, params), query, { prev, next }))
    },
  }),
  defineOperation({
    ...chatDefaults,
    id: 'closeTopic',
    method: 'post',
    path: `${topicPath}/close`,
    params: topicParams,
    summary: 'Close a topic: no more messages can be added',
    description: 'Only the author of the topic, and users who may change its subject, can close it.',
    extra: true,
    reply: [200, ChatTopicResource, 'versioned'],
    errors: ['PreconditionFailed'],
    handle: async ({ params }, { caller, chats, ifMatch }) => {
      const topic = toChatTopic(await chats.close(caller, subjectFromParams(params), params.topicId, ifMatch))
      return replyWith(topic, { version: topic.version })
    },
  }),
  defineOperation({
    ...chatDefaults,
    id: 'markTopicRead',
    method: 'post',
    path: `${topicPath}/read`,
    params: topicParams,
    summary: 'Mark the messages of a topic as read',
    extra: true,
    body: ReadMarkBody,
    reply: [204],
    errors: ['RuleViolated'],
    handle: ({ params, body }, { caller, chats }) =>
      chats.markRead(caller, subjectFromParams(params), params.topicId, body.messageId),
  }),
]

function replyWithMessage(
  { message, names }: { message: StoredMessage; names: ReadonlyMap<string, string> },
  recordPathOf: Services['recordPathOf'],
) {
  const chatMessage = toChatMessage(message, names, recordPathOf)
  return replyWith(chatMessage, { version: chatMessage.version })
}

const messageOperations = [
  defineOperation({
    ...chatDefaults,
    id: 'addMessage',
    method: 'post',
    path: topicPath,
    params: topicParams,
    summary: 'Create a message in a topic',
    body: ChatMessageBody,
    limits: CHAT_BODY_LIMITS,
    reply: [201, ChatMessageResource, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params, body }, { caller, chats, newId, recordPathOf }) => {
      const message = await chats.post(caller, subjectFromParams(params), params.topicId, body, newId())
      return replyWithMessage(message, recordPathOf)
    },
  }),
  defineOperation({
    ...chatDefaults,
    id: 'updateMessage',
    method: 'put',
    path: messagePath,
    params: messageParams,
    summary: 'Replace the text of your own message, within 15 minutes',
    extra: true,
    body: ChatMessageChange,
    limits: CHAT_BODY_LIMITS,
    reply: [200, ChatMessageResource, 'versioned'],
    errors: ['RuleViolated'],
    readCurrent: async ({ params }, { caller, chats, recordPathOf }) =>
      replyWithMessage(await chats.getMessage(caller, subjectFromParams(params), params), recordPathOf),
    handle: async ({ params, body: { text } }, { caller, chats, ifMatch, recordPathOf }) =>
      replyWithMessage(
        await chats.edit(caller, subjectFromParams(params), params, text, ifMatch),
        recordPathOf,
      ),
  }),
  defineOperation({
    ...chatDefaults,
    id: 'deleteMessage',
    method: 'delete',
    path: messagePath,
    params: messageParams,
    summary: 'Delete your own message, leaving a tombstone',
    extra: true,
    reply: [204],
    handle: ({ params }, { caller, chats, ifMatch }) =>
      chats.erase(caller, subjectFromParams(params), params, ifMatch),
  }),
]

export const chatOperations = [...topicOperations, ...messageOperations]
