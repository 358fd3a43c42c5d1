import { type Static, Type } from '@sinclair/typebox'
import { closedObject, longTextField, MULTI_LINE } from '../common.ts'
import { SeverityEnum } from '../enums.ts'
import {
  dateTimeField,
  derivedField,
  derivedNumberField,
  derivedTextField,
  fixedField,
  internalField,
  withPathName,
} from '../forms/fields.ts'
import { defineForms } from '../forms/forms.ts'
import { decimalsField } from '../json/decimals.ts'
import { utcOffsetField } from '../time/iso-time.ts'
import { typeNameField } from '../types/data-types.ts'

const measuredAtField = dateTimeField('Time of the measurement')
const commentField = Type.Optional(longTextField('Comment', 'After a walk'))
const typeVersionField = derivedField(
  Type.Optional(Type.Integer({ description: 'Version of the type that validated the data', examples: [1] })),
)

const deviceField = Type.Object(
  {
    type: typeNameField('the device type', 'watch'),
    serial: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, format: 'line', description: 'Serial number' }),
    ),
  },
  {
    additionalProperties: false,
    description: 'Measuring device',
    examples: [{ type: 'watch', serial: 'SN-1' }],
  },
)

const warningField = Type.Object(
  {
    path: Type.String({ description: 'Path of the field', examples: ['value'] }),
    code: Type.String({ description: 'Code for programs', examples: ['unusual'] }),
    message: Type.String({ description: 'Explanation', examples: ['lies outside of 0 to 50000 {steps}'] }),
  },
  { additionalProperties: false, description: 'A warning about an unusual value' },
)

/** A field of a class has one type, so each type of value has its own field. */
const valueFields = {
  value: Type.Optional(Type.Number({ description: 'Value that fits the data type', examples: [8214] })),
  valueText: withPathName(
    'value',
    Type.Optional(Type.String({ ...MULTI_LINE, description: 'Value, if it is a text' })),
  ),
  valueBoolean: withPathName(
    'value',
    Type.Optional(Type.Boolean({ description: 'Value, if it is a boolean' })),
  ),
  valueList: withPathName(
    'value',
    Type.Optional(Type.Array(Type.Unknown(), { description: 'Value, if it is a list' })),
  ),
  valueObject: withPathName(
    'value',
    Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'Value, if it is an object' })),
  ),
}

/** Fields for values. */
export const VALUE_FIELD_NAMES = Object.keys(valueFields) as (keyof typeof valueFields)[]

export const MeasurementForms = defineForms({
  name: 'Measurement',
  noun: 'measurement',
  description: 'A measurement of a data type',
  parentType: 'plan',
  namesPlan: true,
  ehrFollows: true,
  example: 'm4RtYu78Io',
  requiredInPath: ['value'],
  fields: {
    dataType: fixedField(typeNameField('the data type', 'steps')),
    ...valueFields,
    unit: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        format: 'line',
        description: 'Unit of a numeric value; default: the unit of the data type',
        examples: ['{steps}'],
      }),
    ),
    timestamp: measuredAtField,
    utcOffset: utcOffsetField,
    device: Type.Optional(deviceField),
    comment: commentField,
    name: derivedTextField('Display name of the data type', 'Steps'),
    typeVersion: typeVersionField,
    amount: derivedNumberField('Numeric value in the unit of the data type', 8214),
    amountUnit: derivedTextField('Unit of amount', '{steps}'),
    warnings: derivedField(
      Type.Array(warningField, {
        default: [],
        description: 'Warnings about unusual values; the measurement is stored nevertheless',
        examples: [[]],
      }),
    ),
    deviceSerial: internalField(Type.Optional(Type.String({ description: 'Serial number of the device' }))),
    fingerprint: internalField(
      Type.Optional(Type.String({ description: 'Fingerprint of device, time and value as first stored' })),
    ),
    decimals: decimalsField,
  },
  examples: [
    {
      dataType: 'steps',
      value: 8214,
      unit: '{steps}',
      timestamp: '2026-03-01T20:00:00Z',
      device: { type: 'watch', serial: 'SN-1' },
      comment: 'After a walk',
    },
  ],
})

export const OccurrenceForms = defineForms({
  name: 'Occurrence',
  noun: 'occurrence',
  description: 'An occurrence of an event type',
  parentType: 'plan',
  namesPlan: true,
  ehrFollows: true,
  example: 'o3FgHj56Bn',
  fields: {
    eventType: fixedField(typeNameField('the event type', 'fall')),
    timestamp: dateTimeField('Time of the occurrence'),
    utcOffset: utcOffsetField,
    data: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'Data as described by the event type',
        examples: [{ injured: false }],
      }),
    ),
    comment: commentField,
    name: derivedTextField('Display name of the event type', 'Fall'),
    typeVersion: typeVersionField,
    severity: derivedField(Type.Optional(SeverityEnum)),
  },
})

const { eventType: _eventType, ...occurrenceBodyFields } = OccurrenceForms.body.properties

/** Body without the event type, for paths that name it. */
export const UserOccurrence = closedObject(
  'UserOccurrence',
  'An occurrence of the event type in the path',
  occurrenceBodyFields,
)

const stringEnum = <T extends string>(values: readonly T[], description: string) =>
  Type.Unsafe<T>({ type: 'string', enum: [...values], description })

export const TimeSpanEnum = stringEnum(
  ['day', 'week', 'month'],
  'Period of local time over which values are aggregated',
)
export type TimeSpan = Static<typeof TimeSpanEnum>

const aggregateTimeField = (description: string, example: string) =>
  Type.String({ format: 'date-time', description, examples: [example] })

export const Aggregate = closedObject(
  'Aggregate',
  'Aggregated values of a data type over one day, week or month',
  {
    dataType: typeNameField('the data type', 'steps'),
    day: Type.String({
      format: 'date',
      description: 'First local day of the period',
      examples: ['2026-03-01'],
    }),
    from: aggregateTimeField('Start of the period', '2026-02-28T23:00:00.000Z'),
    to: aggregateTimeField('End of the period (exclusive)', '2026-03-01T23:00:00.000Z'),
    unit: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'Unit of the values, as UCUM code',
      examples: ['{steps}'],
    }),
    count: Type.Integer({ minimum: 1, description: 'Number of values', examples: [1] }),
    min: Type.Number({ description: 'Lowest value', examples: [8214] }),
    max: Type.Number({ description: 'Highest value', examples: [8214] }),
    mean: Type.Number({ description: 'Mean of the values', examples: [8214] }),
    last: Type.Number({ description: 'Last value', examples: [8214] }),
  },
)

/** A measurement, or an array of measurements whose items fail separately. */
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
  else: MeasurementForms.body,
  examples: MeasurementForms.body.examples,
})
