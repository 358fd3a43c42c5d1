import { type Static, Type } from '@sinclair/typebox'
import { closedObject, idField, longTextField, MULTI_LINE, pathField, shortTextField } from '../common.ts'
import { dateTimeField, derivedField, fixedField, internalField } from '../forms/fields.ts'
import { defineForms } from '../forms/forms.ts'
import { nullable } from '../forms/nullable.ts'

const CHAT_SUBJECT_TYPES = ['careplan', 'goal', 'task', 'event', 'ehr', 'network'] as const

/** Types of chat subjects. */
export const ChatSubjectTypeEnum = Type.Unsafe<(typeof CHAT_SUBJECT_TYPES)[number]>({
  type: 'string',
  enum: CHAT_SUBJECT_TYPES,
  description: 'Type of the subject; `network` means two connected users',
})
export type ChatSubjectType = Static<typeof ChatSubjectTypeEnum>

const MAX_MESSAGE_LENGTH = 10_000
const topicTitleField = shortTextField('Title of the topic', 'The new tablets')
const messageTextField = Type.String({
  minLength: 1,
  maxLength: MAX_MESSAGE_LENGTH,
  ...MULTI_LINE,
  description: 'Text of the message, as plain text',
  examples: ['Do they go with the old ones?'],
})
const authorField = derivedField(
  Type.String({ description: 'User id of the author', examples: ['bW81kPzQ7e'] }),
)
const onBehalfOfField = derivedField(
  Type.Optional(idField('the person for whom the author acted as a helper', 'n4Fq2LxT0a')),
)
const closedField = derivedField(
  Type.Boolean({
    default: false,
    description: 'True if the topic is closed; a closed topic accepts no messages',
  }),
)

const attachmentField = Type.Object(
  {
    type: Type.String({
      pattern: '^[A-Z][A-Za-z]{0,63}$',
      description: 'Type of the record: Event, Occurrence, Composition, or a class of measurements',
      examples: ['BloodPressure'],
    }),
    id: idField('the record', 'm4RtYu78Io'),
  },
  { additionalProperties: false, description: 'A reference to a measurement, an event or a composition' },
)
const attachmentsField = Type.Array(attachmentField, {
  maxItems: 20,
  default: [],
  description:
    'References to records of the same EHR; readers without access to a record see only its reference',
  examples: [[]],
})
const replyToField = fixedField(
  Type.Optional(idField('the message of this topic to which it replies', 'c2MnBv45Tr')),
)

/** Goal, task or event to which a topic belongs, with its messages. */
const relatedRecordFields = {
  goalId: internalField(Type.Optional(idField('the goal that the topic belongs to', 'g3HjKl56Ty'))),
  taskId: internalField(Type.Optional(idField('the task that the topic belongs to', 't6YhNm34Rs'))),
  eventId: internalField(Type.Optional(idField('the event that the topic belongs to', 'v8CxSd12Qa'))),
}
export const RELATED_RECORD_FIELD_NAMES = Object.keys(relatedRecordFields)

/** Class form of a topic. The class family only reads topics; the path family writes them. */
export const ChatTopicForms = defineForms({
  name: 'ChatTopic',
  noun: 'chat topic',
  description:
    'A conversation about a care plan, goal, task, event or EHR among the users who may see it, or between two connected users',
  parentType: 'either',
  ehrFollows: true,
  example: 'h5TyUi89Op',
  fields: {
    about: fixedField(ChatSubjectTypeEnum),
    aboutId: fixedField(idField('the subject of the topic', 'p0LmNb72Qw')),
    title: topicTitleField,
    createdBy: authorField,
    onBehalfOf: onBehalfOfField,
    lastMessageAt: derivedField(Type.Optional(dateTimeField('Time of the last message'))),
    closed: closedField,
    remindAt: internalField(Type.Optional(dateTimeField('Time of the next reminder by mail'))),
    ...relatedRecordFields,
  },
})

export const ChatMessageForms = defineForms({
  name: 'ChatMessage',
  noun: 'chat message',
  description: 'A message in a chat topic',
  parentType: 'either',
  ehrFollows: true,
  example: 'c2MnBv45Tr',
  fields: {
    topicId: fixedField(idField('the topic', 'h5TyUi89Op')),
    text: longTextField(
      'Text of the message, as plain text; empty after deletion',
      'Do they go with the old ones?',
    ),
    createdBy: authorField,
    onBehalfOf: onBehalfOfField,
    replyTo: replyToField,
    attachments: attachmentsField,
    editedAt: derivedField(Type.Optional(dateTimeField('Time of the last change of the text'))),
    deleted: derivedField(
      Type.Boolean({ default: false, description: 'True if the author has deleted the message' }),
    ),
    ...relatedRecordFields,
  },
})

const personField = Type.Object(
  {
    mvUid: Type.String({ description: 'User id', examples: ['bW81kPzQ7e'] }),
    name: nullable(
      Type.String({
        description: 'Name of the user; null in anonymous plans',
        examples: ['Nurse Bo'],
      }),
    ),
  },
  { additionalProperties: false, description: 'Author' },
)
const helpedPersonField = nullable({
  ...personField,
  description: 'Person for whom the author acted as a helper; null if the author acted for themselves',
})
const chatTimeField = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-03-01T08:30:00.000Z'] })
const chatVersionField = Type.Integer({
  minimum: 1,
  description: 'Version number, incremented by every write; the ETag is this number in quotes',
})

/** Fields of a single topic; its response adds a page of messages. */
export const chatTopicFields = {
  id: idField('the topic', 'h5TyUi89Op'),
  version: chatVersionField,
  title: topicTitleField,
  createdBy: personField,
  onBehalfOf: helpedPersonField,
  createdAt: chatTimeField('Time at which the topic was started'),
  lastMessageAt: chatTimeField('Time of the last message'),
  unread: Type.Integer({
    minimum: 0,
    maximum: 100,
    description: 'Number of unread messages by others; 100 means 100 or more',
    examples: [1],
  }),
  closed: Type.Boolean({
    description: 'True if the topic is closed; a closed topic accepts no messages',
    examples: [false],
  }),
}

export const ChatTopicResource = closedObject('ChatTopicResource', 'A topic', chatTopicFields)

export const ChatMessageResource = closedObject('ChatMessageResource', 'A message', {
  id: idField('the message', 'c2MnBv45Tr'),
  version: chatVersionField,
  text: nullable(
    Type.String({
      description: 'Text of the message, as plain text; null after deletion',
      examples: ['Hello'],
    }),
  ),
  author: personField,
  onBehalfOf: helpedPersonField,
  createdAt: chatTimeField('Time at which the message was written'),
  editedAt: nullable(chatTimeField('Time of the last change of the text')),
  deleted: Type.Boolean({ description: 'True if the author has deleted the message', examples: [false] }),
  replyTo: nullable(idField('the message to which it replies', 'c2MnBv45Tr')),
  attachments: Type.Array(
    Type.Object(
      {
        ...attachmentField.properties,
        href: nullable(pathField('Path of the record', '/ehr/e5RtGb81Xz/procedure/heartrate/m4RtYu78Io')),
      },
      { additionalProperties: false, description: 'Attached record' },
    ),
    { description: 'Attached record', examples: [[]] },
  ),
})

const messageBodyFields = { text: messageTextField, attachments: Type.Optional(attachmentsField) }

export const ChatTopicBody = closedObject('ChatTopicBody', 'A topic with its first message', {
  title: topicTitleField,
  ...messageBodyFields,
})
export const ChatMessageBody = closedObject('ChatMessageBody', 'A message', {
  ...messageBodyFields,
  replyTo: Type.Optional(nullable(replyToField)),
})
export const ChatMessageChange = closedObject('ChatMessageChange', 'New text of a message', {
  text: messageTextField,
})
export const ReadMarkBody = closedObject('ChatRead', 'Position up to which the caller has read', {
  messageId: Type.Optional(
    nullable(idField('the last message that was read; default: the newest one', 'c2MnBv45Tr')),
  ),
})

export type Attachment = Static<typeof attachmentField>
