import { type Static, Type } from '@sinclair/typebox'
import { closed, id, line, text } from './common.ts'
import { derived, fixed, internal, time } from './forms/fields.ts'
import { forms } from './forms/forms.ts'
import { nullable } from './nullable.ts'

const ABOUT = ['careplan', 'goal', 'task', 'event', 'ehr', 'network'] as const

/** What people talk about. */
export const AboutEnum = Type.Unsafe<(typeof ABOUT)[number]>({
  type: 'string',
  enum: ABOUT,
  description: 'What it is about; `network`: two connected users',
})
export type About = Static<typeof AboutEnum>

const LONGEST = 10_000
const title = line('What it is about, in words', 'The new tablets')
const messageText = Type.String({
  minLength: 1,
  maxLength: LONGEST,
  description: 'Plain text; links are not followed',
  examples: ['Do they go with the old ones?'],
})
const author = derived(Type.String({ description: 'User id of its author', examples: ['bW81kPzQ7e'] }))
const closedFlag = derived(
  Type.Boolean({ default: false, description: 'Whether it is closed: no more messages can be added' }),
)

const attachment = Type.Object(
  {
    type: Type.String({
      pattern: '^[A-Z][A-Za-z]{0,63}$',
      description: 'Event, Occurrence, Composition, or a class of measurements',
      examples: ['BloodPressure'],
    }),
    id: id('the record', 'm4RtYu78Io'),
  },
  { additionalProperties: false, description: 'A reference to a measurement, an event or a composition' },
)
const attachments = Type.Array(attachment, {
  maxItems: 20,
  default: [],
  description: 'Records of the same EHR that it refers to; whoever may not see them sees the reference',
  examples: [[]],
})
const replyTo = fixed(Type.Optional(id('the message of the same topic that it answers', 'c2MnBv45Tr')))

/** The ids of the goal, the task and the event that something said about one of them goes with. */
const goesWith = {
  goalId: internal(Type.Optional(id('the goal that it goes with', 'g3HjKl56Ty'))),
  taskId: internal(Type.Optional(id('the task that it goes with', 't6YhNm34Rs'))),
  eventId: internal(Type.Optional(id('the event that it goes with', 'v8CxSd12Qa'))),
}
export const GOES_WITH = Object.keys(goesWith)

/** As the class family has it: read there, written by the path family. */
export const ChatTopic = forms({
  name: 'ChatTopic',
  noun: 'chat topic',
  description:
    'What those who may see a care plan, a goal, a task, an event or an EHR, or two connected users, talk about',
  registeredIn: 'either',
  ehrFollows: true,
  example: 'h5TyUi89Op',
  fields: {
    about: fixed(AboutEnum),
    aboutId: fixed(id('what it is about', 'p0LmNb72Qw')),
    title,
    createdBy: author,
    lastMessageAt: derived(Type.Optional(time('When the last message was written'))),
    closed: closedFlag,
    ...goesWith,
  },
})

export const ChatMessage = forms({
  name: 'ChatMessage',
  noun: 'chat message',
  description: 'What somebody wrote in a chat topic',
  registeredIn: 'either',
  ehrFollows: true,
  example: 'c2MnBv45Tr',
  fields: {
    topicId: fixed(id('the topic', 'h5TyUi89Op')),
    text: text('Plain text; empty when it was deleted', 'Do they go with the old ones?'),
    createdBy: author,
    replyTo,
    attachments,
    editedAt: derived(Type.Optional(time('When it was changed'))),
    deleted: derived(Type.Boolean({ default: false, description: 'Whether its author has deleted it' })),
    ...goesWith,
  },
})

const who = Type.Object(
  {
    mvUid: Type.String({ description: 'User id', examples: ['bW81kPzQ7e'] }),
    name: nullable(
      Type.String({
        description: 'Their name; null where people stay anonymous',
        examples: ['Nurse Bo'],
      }),
    ),
  },
  { additionalProperties: false, description: 'Who has written something' },
)
const moment = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-03-01T08:30:00.000Z'] })
const version = Type.Integer({ minimum: 1, description: 'Counts the writes; in quotes it is the ETag' })

const topicFields = {
  id: id('the topic', 'h5TyUi89Op'),
  version,
  title,
  createdBy: who,
  createdAt: moment('When it was started'),
  lastMessageAt: moment('When the last message was written'),
  unread: Type.Integer({
    minimum: 0,
    maximum: 100,
    description: 'How many messages by others the caller has not read; 100 means 100 or more',
    examples: [1],
  }),
  closed: Type.Boolean({
    description: 'Whether it is closed: no more messages can be added',
    examples: [false],
  }),
}

export const ChatTopicResource = closed('ChatTopicShown', 'A topic', topicFields)

export const ChatMessageResource = closed('ChatMessageShown', 'A message', {
  id: id('the message', 'c2MnBv45Tr'),
  version,
  text: nullable(Type.String({ description: 'Plain text; null when it was deleted', examples: ['Hello'] })),
  author: who,
  createdAt: moment('When it was written'),
  editedAt: nullable(moment('When it was changed')),
  deleted: Type.Boolean({ description: 'Whether its author has deleted it', examples: [false] }),
  replyTo: nullable(id('the message that it answers', 'c2MnBv45Tr')),
  attachments: Type.Array(
    Type.Object(
      {
        ...attachment.properties,
        href: nullable(
          Type.String({
            description: 'Its path',
            examples: ['/ehr/e5RtGb81Xz/procedure/heartrate/m4RtYu78Io'],
          }),
        ),
      },
      { additionalProperties: false, description: 'What it refers to' },
    ),
    { description: 'What it refers to', examples: [[]] },
  ),
})

/** A topic as it is shown by itself, with a page of its messages. */
export const chatTopicFields = topicFields

const said = { text: messageText, attachments: Type.Optional(attachments) }

export const ChatTopicBody = closed('ChatTopicNew', 'A topic with its first message', { title, ...said })
export const ChatMessageBody = closed('ChatMessageNew', 'A message', {
  ...said,
  replyTo: Type.Optional(nullable(replyTo)),
})
export const ChatMessageChange = closed('ChatMessageChange', 'What a message says from now on', {
  text: messageText,
})
export const ChatRead = closed('ChatRead', 'How far the caller has read', {
  messageId: Type.Optional(
    nullable(id('the last message that was read; by default the newest one', 'c2MnBv45Tr')),
  ),
})

export type Attachment = Static<typeof attachment>
