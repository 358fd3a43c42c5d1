import { type Static, Type } from '@sinclair/typebox'
import { closedObject, idField, shortTextField } from '../common.ts'
import { SeverityEnum } from '../enums.ts'
import { dateField, dateTimeField } from '../forms/fields.ts'

const escalationField = Type.Object(
  {
    afterMinutes: Type.Integer({
      minimum: 1,
      maximum: 10_080,
      examples: [30],
      description: 'Minutes after which an alert that nobody has taken goes to the next user',
    }),
    participants: Type.Array(idField('a user who may write the care plan', 'bW81kPzQ7e'), {
      minItems: 1,
      maxItems: 10,
      uniqueItems: true,
      description: 'Users to whom an alert goes, one after the other; it stays with the last one',
    }),
  },
  { additionalProperties: false, description: 'Users who are to take the alerts of the plan' },
)

const kindField = { ...shortTextField('Kind of measurement', 'bloodpressure'), minLength: 1, maxLength: 64 }

const expectedMeasurementField = Type.Object(
  {
    kind: kindField,
    from: dateField('First day'),
    everyDays: Type.Integer({
      minimum: 1,
      maximum: 366,
      examples: [1],
      description: 'Length of a period in days; each period needs a measurement',
    }),
    by: Type.String({
      pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
      examples: ['20:00'],
      sentence: 'must be a time of day, such as 20:00',
      description: 'Time of day at which the last day of a period ends',
    }),
    severity: Type.Optional({ ...SeverityEnum, description: 'Severity of the alert; default MODERATE' }),
  },
  { additionalProperties: false, description: 'A measurement that is expected regularly' },
)
export type ExpectedMeasurement = Static<typeof expectedMeasurementField>

const muteField = Type.Object(
  {
    kind: Type.Optional({
      ...kindField,
      description: 'Kind of measurement; without one all alerts are muted',
    }),
    until: dateTimeField('End of the mute'),
    reason: shortTextField('Reason of the mute', 'In hospital until Monday'),
  },
  { additionalProperties: false, description: 'A period in which alerts go to nobody' },
)

/** The rules of a care plan for its alerts. */
export const CarePlanAlertRules = {
  ...closedObject(
    'CarePlanAlertRules',
    'Rules of a care plan for its alerts: who gets them, which measurements are expected, which alerts are muted',
    {
      escalation: Type.Optional(escalationField),
      expected: Type.Optional(
        Type.Array(expectedMeasurementField, {
          maxItems: 20,
          description: 'Expected measurements; each one that is missing in a period raises an alert',
        }),
      ),
      timeZone: Type.Optional(
        Type.String({
          format: 'time-zone',
          sentence: 'must be a time zone of the IANA database, such as Europe/Amsterdam',
          description: 'Time zone of the times of day; default UTC',
          examples: ['Europe/Amsterdam'],
        }),
      ),
      mutes: Type.Optional(Type.Array(muteField, { maxItems: 20, description: 'Mutes, also ended ones' })),
    },
  ),
  examples: [
    {
      expected: [{ kind: 'bloodpressure', from: '2026-03-01', everyDays: 1, by: '20:00', severity: 'HIGH' }],
      timeZone: 'Europe/Amsterdam',
      mutes: [{ until: '2026-03-09T08:00:00Z', reason: 'In hospital until Monday' }],
    },
  ],
}
export type AlertRules = Static<typeof CarePlanAlertRules>

const planOfRules = { carePlanId: idField('the care plan', 'p0LmNb72Qw') }

export const AlertRulesParams = closedObject(
  'AlertRulesParams',
  'Get the alert rules of a care plan',
  planOfRules,
)

export const SaveAlertRulesParams = closedObject(
  'SaveAlertRulesParams',
  'Replace the alert rules of a care plan',
  {
    ...planOfRules,
    ...CarePlanAlertRules.properties,
    version: Type.Optional(
      Type.Integer({
        minimum: 0,
        examples: [1],
        description: 'Version that you have read; the error is 412 if the rules have changed since',
      }),
    ),
  },
)

export const SavedAlertRules = closedObject('SavedAlertRules', 'The alert rules of a care plan', {
  ...planOfRules,
  ...CarePlanAlertRules.properties,
  version: Type.Integer({ minimum: 0, description: 'Version of the rules; 0 if none were saved' }),
})
