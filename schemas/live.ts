import { Type } from '@sinclair/typebox'
import { changeAction } from './change.ts'
import { ChatMessageResource } from './chat.ts'
import { closed, id } from './common.ts'
import { nullable } from './nullable.ts'

const about = {
  id: id('the record', 'm4RtYu78Io'),
  type: Type.String({ description: 'The kind of record', examples: ['BloodPressure'] }),
  operation: changeAction('What was done with it'),
  version: Type.Integer({ minimum: 1, description: 'The version that it has since then', examples: [1] }),
  at: Type.String({
    format: 'date-time',
    description: 'When that was',
    examples: ['2026-03-01T08:30:00.000Z'],
  }),
}

/** What is told of a change of an EHR's data. */
export const RecordChanged = closed('RecordChanged', 'A change of a record of an EHR', {
  ...about,
  carePlanId: nullable({ ...id('the care plan that it is registered in', 'p0LmNb72Qw') }),
  href: nullable(
    Type.String({
      description: 'Its path; null where it has none, or is gone',
      examples: ['/ehr/e5RtGb81Xz/procedure/bloodpressure/m4RtYu78Io'],
    }),
  ),
})

/** What is told of a change in a chat topic. */
export const TopicChanged = closed('TopicChanged', 'A change of a topic, or of a message in it', {
  ...about,
  type: Type.String({ description: 'ChatMessage or ChatTopic', examples: ['ChatMessage'] }),
  message: nullable({
    ...ChatMessageResource,
    description: 'The message as it is since then; null when the topic itself has changed',
  }),
})
