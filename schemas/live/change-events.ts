import { Type } from '@sinclair/typebox'
import { changeActionField, onBehalfOfField } from '../change.ts'
import { ChatMessageResource } from '../chat/chat.ts'
import { closedObject, idField, pathField } from '../common.ts'
import { nullable } from '../forms/nullable.ts'

const changeEventFields = {
  id: idField('the record', 'm4RtYu78Io'),
  type: Type.String({ description: 'Kind of the record', examples: ['BloodPressure'] }),
  operation: changeActionField('Type of the change'),
  version: Type.Integer({ minimum: 1, description: 'Version of the record after the change', examples: [1] }),
  at: Type.String({
    format: 'date-time',
    description: 'Time of the change',
    examples: ['2026-03-01T08:30:00.000Z'],
  }),
  userId: { ...idField('the user who made the change'), examples: ['n4Fq2LxT0a'] },
  onBehalfOf: onBehalfOfField,
}

/** Event about a change of EHR data. */
export const RecordChangeEvent = closedObject('RecordChange', 'A change of a record of an EHR', {
  ...changeEventFields,
  carePlanId: nullable({ ...idField('the care plan in which the record is registered', 'p0LmNb72Qw') }),
  href: nullable(
    pathField(
      'Path of the record; null if it has none or was deleted',
      '/ehr/e5RtGb81Xz/procedure/bloodpressure/m4RtYu78Io',
    ),
  ),
})

/** Event about a change that concerns a worklist. */
export const WorklistChangeEvent = closedObject('WorklistChange', 'A change that concerns your worklist', {
  ...changeEventFields,
  ehrId: nullable({ ...idField('the EHR'), examples: ['e5RtGb81Xz'] }),
})

/** Event about a change in a chat topic. */
export const TopicChangeEvent = closedObject('TopicChange', 'A change of a topic, or of a message in it', {
  ...changeEventFields,
  type: Type.String({
    description: 'Type of the record: ChatMessage or ChatTopic',
    examples: ['ChatMessage'],
  }),
  message: nullable(
    Type.Object(ChatMessageResource.properties, {
      additionalProperties: false,
      description: 'Message after the change; null when the topic itself changed',
    }),
  ),
})

/** Event about a change that concerns an account. */
export const AccountChangeEvent = closedObject('AccountChange', 'A change that concerns your account', {
  ...changeEventFields,
  type: Type.String({
    description:
      'Type of the record: Helper (an agreement), Participation, CarePlan (one in which you take part was deleted or returned), Account, WorklistViews or ChatTopic',
    examples: ['Helper'],
  }),
  href: nullable(
    pathField(
      'Path of the record; null if it was deleted, or if you may not read it',
      '/profile/n4Fq2LxT0a/helping/bW81kPzQ7e',
    ),
  ),
})
