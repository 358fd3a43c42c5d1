import { type Static, Type } from '@sinclair/typebox'
import { closedObject, idField, longTextField } from '../common.ts'
import { AlertStateEnum } from '../enums.ts'
import { dateTimeField, derivedField } from '../forms/fields.ts'

const derivedUserField = (description: string) =>
  derivedField(Type.Optional({ ...idField('the user', 'bW81kPzQ7e'), description }))
const derivedTimeField = (description: string) => derivedField(Type.Optional(dateTimeField(description)))
const resolutionField = longTextField(
  'Note on how the alert was resolved',
  'Called; takes the tablets again',
  1000,
)

/** The state of handling of an alert. Other events, and alerts from before these fields, have none of them. */
export const alertHandlingFields = {
  alertState: derivedField(Type.Optional(AlertStateEnum)),
  assignedTo: derivedUserField('User who is to take the alert, by the rules of the plan'),
  assignedFor: derivedUserField(
    'User who has handed over the worklist that the alert is on; absent otherwise',
  ),
  assignedAt: derivedTimeField('Time at which the alert went to that user'),
  mutedUntil: derivedTimeField('End of the mute of the plan, until which the alert goes to nobody'),
  seenBy: derivedUserField('User who saw the alert first'),
  seenAt: derivedTimeField('Time at which somebody saw the alert first'),
  takenBy: derivedUserField('User who deals with the alert, or who resolved it'),
  takenAt: derivedTimeField('Time at which that user took the alert'),
  resolvedAt: derivedTimeField('Time at which the alert was resolved'),
  resolution: derivedField(Type.Optional(resolutionField)),
}
const AlertHandling = Type.Object(alertHandlingFields)
export type AlertHandling = Static<typeof AlertHandling>

const stepFields = {
  action: Type.Unsafe<'SEE' | 'TAKE' | 'RELEASE' | 'RESOLVE'>({
    type: 'string',
    enum: ['SEE', 'TAKE', 'RELEASE', 'RESOLVE'],
    examples: ['SEE'],
    description:
      'SEE: you have seen the alert. TAKE: you deal with it. RELEASE: nobody deals with it any more. RESOLVE: it is done',
  }),
  note: Type.Optional({
    ...resolutionField,
    minLength: 1,
    examples: ['Called; takes the tablets again'],
    description: 'Note on how you resolved it; required to resolve',
  }),
}

/** A step in dealing with an alert. */
export const AlertStep = {
  ...closedObject('AlertStep', 'A step in dealing with an alert', stepFields),
  examples: [{ action: 'SEE' }],
}
export type AlertStep = Static<typeof AlertStep>

export const HandleAlertParams = closedObject('HandleAlertParams', 'Take a step in dealing with an alert', {
  eventId: idField('the alert', 'v4QwEr67Cv'),
  ...stepFields,
  version: Type.Optional(
    Type.Integer({
      minimum: 1,
      examples: [1],
      description: 'Version that you have read; the error is 412 if the alert has changed since',
    }),
  ),
})
