import { type Static, Type } from '@sinclair/typebox'
import { closedObject, idField } from '../common.ts'
import { SeverityEnum } from '../enums.ts'
import { dateTimeField } from '../forms/fields.ts'
import { nullable } from '../forms/nullable.ts'

const countField = (description: string) => Type.Integer({ minimum: 0, description, examples: [1] })

/** What a patient needs from a professional. */
export const WorklistEntry = closedObject('WorklistEntry', 'A patient who needs action, and why', {
  ehrId: idField('the EHR', 'e5RtGb81Xz'),
  severity: nullable({
    ...SeverityEnum,
    description: 'Highest severity of the alerts; null without an alert',
  }),
  since: nullable(dateTimeField('Time of the oldest alert of that severity; null without an alert')),
  alerts: countField('Number of alerts that nobody has taken'),
  assigned: countField('Number of these alerts that you are to take'),
  taken: countField('Number of alerts that you have taken and not resolved'),
  missed: countField('Number of expected measurements that are missing'),
  overdueTasks: countField('Number of open tasks that were due before today'),
  unreadMessages: countField('Number of messages that you have not read'),
})
export type WorklistEntry = Static<typeof WorklistEntry>

export const WorklistParams = closedObject('WorklistParams', 'List the patients who need action', {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, description: 'Maximum number of patients', examples: [100] }),
  ),
  cursor: Type.Optional(
    Type.String({
      ...{ maxLength: 1000, pattern: '^[A-Za-z0-9_-]+$' },
      description: 'Cursor: `next` of the previous result',
    }),
  ),
})

export const Worklist = closedObject('Worklist', 'A page of the patients who need action', {
  items: Type.Array(WorklistEntry, { description: 'Patients, the most urgent first' }),
  next: nullable(Type.String({ description: 'Cursor of the next page; null on the last page' })),
})
