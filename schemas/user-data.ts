import { type Static, Type } from '@sinclair/typebox'
import { closed, text } from './common.ts'
import { typeName } from './data-types.ts'
import { SeverityEnum } from './enum.ts'
import { derived, derivedNumber, derivedText, fixed, inPathAs, internal, time } from './forms/fields.ts'
import { forms } from './forms/forms.ts'

const timestamp = time('When it was measured')
const comment = Type.Optional(text('A remark on it', 'After a walk'))
const typeVersion = derived(
  Type.Optional(
    Type.Integer({ description: 'The version of its type by which it was checked', examples: [1] }),
  ),
)

const device = Type.Object(
  {
    type: typeName('the device type', 'watch'),
    serial: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Its serial number' })),
  },
  {
    additionalProperties: false,
    description: 'The device that measured',
    examples: [{ type: 'watch', serial: 'SN-1' }],
  },
)

const warning = Type.Object(
  {
    path: Type.String({ description: 'The field', examples: ['value'] }),
    code: Type.String({ description: 'A name for programs', examples: ['unusual'] }),
    message: Type.String({ description: 'In words', examples: ['lies outside of 0 to 50000 {steps}'] }),
  },
  { additionalProperties: false, description: 'What is unusual about a value' },
)

/** A class has fields of one type: a value stands in the one of its own. */
const values = {
  value: Type.Optional(Type.Number({ description: 'The value, as its data type says', examples: [8214] })),
  valueText: inPathAs('value', Type.Optional(Type.String({ description: 'The value, when it is a text' }))),
  valueBoolean: inPathAs(
    'value',
    Type.Optional(Type.Boolean({ description: 'The value, when it is true or false' })),
  ),
  valueList: inPathAs(
    'value',
    Type.Optional(Type.Array(Type.Unknown(), { description: 'The value, when it is a list' })),
  ),
  valueObject: inPathAs(
    'value',
    Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: 'The value, when it is an object' }),
    ),
  ),
}

/** The fields that a value may stand in. */
export const VALUES = Object.keys(values) as (keyof typeof values)[]

export const Measurement = forms({
  name: 'Measurement',
  noun: 'measurement',
  description: 'A measurement of a data type',
  registeredIn: 'plan',
  namesPlan: true,
  ehrFollows: true,
  example: 'm4RtYu78Io',
  requiredInPath: ['value'],
  fields: {
    dataType: fixed(typeName('its data type', 'steps')),
    ...values,
    unit: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'Unit of a numeric value; left out, it is that of the data type',
        examples: ['{steps}'],
      }),
    ),
    timestamp,
    device: Type.Optional(device),
    comment,
    name: derivedText('What people call its data type', 'Steps'),
    typeVersion,
    amount: derivedNumber('A numeric value in the unit of its data type', 8214),
    amountUnit: derivedText('That unit', '{steps}'),
    warnings: derived(
      Type.Array(warning, {
        default: [],
        description: 'What is unusual about it; it is stored nevertheless',
        examples: [[]],
      }),
    ),
    deviceSerial: internal(Type.Optional(Type.String({ description: 'The serial number of its device' }))),
    fingerprint: internal(
      Type.Optional(Type.String({ description: 'Of device, time and value as they were first stored' })),
    ),
  },
  examples: [
    {
      ...{ dataType: 'steps', value: 8214, unit: '{steps}', timestamp: '2026-03-01T20:00:00Z' },
      ...{ device: { type: 'watch', serial: 'SN-1' }, comment: 'After a walk' },
    },
  ],
})

export const Occurrence = forms({
  name: 'Occurrence',
  noun: 'occurrence',
  description: 'An occurrence of an event type',
  registeredIn: 'plan',
  namesPlan: true,
  ehrFollows: true,
  example: 'o3FgHj56Bn',
  fields: {
    eventType: fixed(typeName('its event type', 'fall')),
    timestamp: time('When it occurred'),
    data: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'Its data, as its event type describes them',
        examples: [{ injured: false }],
      }),
    ),
    comment,
    name: derivedText('What people call its event type', 'Fall'),
    typeVersion,
    severity: derived(Type.Optional(SeverityEnum)),
  },
})

const { eventType: _, ...said } = Occurrence.body.properties

/** Where the path names the event type. */
export const UserOccurrence = closed('UserOccurrence', 'An occurrence of the event type in the path', said)

const oneOf = <T extends string>(values: readonly T[], description: string) =>
  Type.Unsafe<T>({ type: 'string', enum: [...values], description })

export const SpanEnum = oneOf(['day', 'week', 'month'], 'By which spans of local time values are summed up')
export type Span = Static<typeof SpanEnum>

const moment = (description: string, example: string) =>
  Type.String({ format: 'date-time', description, examples: [example] })

/** The values of one day, week or month. */
export const Aggregate = closed('Aggregate', 'The values of a data type in one day, week or month', {
  dataType: typeName('the data type', 'steps'),
  day: Type.String({ format: 'date', description: 'The first day of it, local', examples: ['2026-03-01'] }),
  from: moment('When it begins', '2026-02-28T23:00:00.000Z'),
  to: moment('When the next one begins', '2026-03-01T23:00:00.000Z'),
  unit: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'Unit of the values, as UCUM code',
    examples: ['{steps}'],
  }),
  count: Type.Integer({ minimum: 1, description: 'How many values there are', examples: [1] }),
  min: Type.Number({ description: 'The lowest one', examples: [8214] }),
  max: Type.Number({ description: 'The highest one', examples: [8214] }),
  mean: Type.Number({ description: 'Their mean', examples: [8214] }),
  last: Type.Number({ description: 'The last one', examples: [8214] }),
})

/** Measurements one by one, or an array of them. What is wrong with one of an array is its own affair. */
export const MeasurementsBody = Type.Unsafe<unknown>({
  $id: 'MeasurementsBody',
  description: 'A measurement, or an array of 1 to 1,000 of them',
  if: { type: 'array', items: {} },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: {
    type: 'array',
    minItems: 1,
    maxItems: 1000,
    items: { description: 'A measurement' },
  },
  else: Measurement.body,
  examples: Measurement.body.examples,
})
