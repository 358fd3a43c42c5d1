import { type Static, Type } from '@sinclair/typebox'
import { closedObject, idField } from '../common.ts'
import { AlertStateEnum, SeverityEnum, WorklistReasonEnum } from '../enums.ts'
import { EventForms } from '../events/event.ts'
import { dateTimeField } from '../forms/fields.ts'
import { nullable } from '../forms/nullable.ts'
import { personCardFields } from './patient-card.ts'

const countField = (description: string) => Type.Integer({ minimum: 0, description, examples: [1] })

const { title, start, data } = EventForms.record.properties

const WorklistAlert = Type.Object(
  {
    id: idField('the alert', 'v4QwEr67Cv'),
    carePlanId: idField('the care plan', 'p0LmNb72Qw'),
    title,
    start,
    data,
    severity: SeverityEnum,
    alertState: AlertStateEnum,
    takenBy: nullable({ ...idField('the user who deals with the alert', 'bW81kPzQ7e') }),
    takenByName: nullable(
      Type.String({
        description:
          'Name of that user; null if it is not known, or if you only take part in anonymous plans',
        examples: ['Bo de Vries'],
      }),
    ),
    takenAt: nullable(dateTimeField('Time at which that user took the alert')),
    mayHandle: Type.Boolean({
      description: 'True if you may take, release and resolve the alert, since you may write its care plan',
      examples: [true],
    }),
    version: Type.Integer({ minimum: 1, description: 'Version, for If-Match of a step', examples: [1] }),
  },
  { additionalProperties: false, description: 'An alert that nobody has resolved' },
)
export type WorklistAlert = Static<typeof WorklistAlert>

/** The reasons why a patient needs a professional. */
export const WorklistEntry = closedObject('WorklistEntry', 'A patient who needs action, and why', {
  ehrId: idField('the EHR', 'e5RtGb81Xz'),
  ...personCardFields,
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
  openAlerts: Type.Array(WorklistAlert, {
    maxItems: 100,
    description:
      'The most urgent alerts that nobody has taken, and those that you have taken: at most 10, for one patient at most 100',
  }),
})
export type WorklistEntry = Static<typeof WorklistEntry>

/** The limits of a view of a worklist. */
export const worklistViewFields = {
  reason: Type.Optional({
    ...WorklistReasonEnum,
    description: 'Only patients who need action for this reason',
  }),
  severity: Type.Optional({
    ...SeverityEnum,
    description: 'Only patients with an alert of this severity, or of a higher one',
  }),
  mine: Type.Optional(
    Type.Boolean({
      description: 'True for patients with alerts that you are to take, or have taken',
      examples: [true],
    }),
  ),
  all: Type.Optional(
    Type.Boolean({ description: 'True to include patients who need nothing now', examples: [true] }),
  ),
}

/** Filters of a worklist. */
export const worklistFilterFields = {
  ...worklistViewFields,
  ehrId: Type.Optional(idField('the EHR of one patient', 'e5RtGb81Xz')),
  takenByOthers: Type.Optional(
    Type.Boolean({ description: 'True to include alerts that others have taken', examples: [true] }),
  ),
}
const WorklistFilter = Type.Object(worklistFilterFields)
export type WorklistFilter = Static<typeof WorklistFilter>

export const WorklistParams = closedObject('WorklistParams', 'List the patients who need action', {
  ...worklistFilterFields,
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, description: 'Maximum number of patients', examples: [100] }),
  ),
  cursor: Type.Optional(
    Type.String({
      maxLength: 1000,
      pattern: '^[A-Za-z0-9_-]+$',
      description: 'Cursor: `next` of the previous result',
    }),
  ),
})

export const Worklist = closedObject('Worklist', 'A page of the patients who need action', {
  items: Type.Array(WorklistEntry, { description: 'Patients, the most urgent first' }),
  next: nullable(Type.String({ description: 'Cursor of the next page; null on the last page' })),
})
