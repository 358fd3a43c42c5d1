import {
  type Static,
  type TBoolean,
  type TObject,
  type TProperties,
  type TString,
  Type,
} from '@sinclair/typebox'
import { coding } from './coding.ts'
import { closed, line, text } from './common.ts'
import { SeverityEnum } from './enum.ts'
import { bodyForm, responseForm } from './forms/path-form.ts'

/** The name of a type: in paths, in data, in thresholds and graphs. Small letters, so that no two look alike. */
export const typeName = (of: string, example: string) =>
  Type.String({ pattern: '^[a-z][a-z0-9_-]{0,63}$', description: `Name of ${of}`, examples: [example] })

const names = (of: string, example: string) =>
  Type.Array(typeName(of, example), {
    maxItems: 100,
    uniqueItems: true,
    default: [],
    description: `Names of the ${of}s that fit; empty: any`,
    examples: [[]],
  })

/** A JSON Schema in a body; what it may say is a rule of records/types/value-schema.ts. */
const jsonSchema = (of: string, example: object) =>
  Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    description: `JSON Schema 2020-12 for ${of}: at most 64 KB and 100 subschemas, references within it only`,
    examples: [example],
  })

const texts = Type.Record(
  Type.String({ pattern: '^[a-z]{2}(-[A-Z]{2})?$' }),
  Type.Object(
    { name: line('The name in this language'), description: Type.Optional(text('The description in it')) },
    { additionalProperties: false, description: 'The texts in one language' },
  ),
  {
    additionalProperties: false,
    maxProperties: 50,
    default: {},
    description: 'Its texts in other languages, by language tag',
    examples: [{ nl: { name: 'Stappen' } }],
  },
)

const codes = Type.Array(coding('it', 'http://loinc.org', '55423-8'), {
  maxItems: 20,
  default: [],
  description: 'What code systems call it',
})

const perDay = (what: string) =>
  Type.Integer({
    minimum: 1,
    maximum: 100_000,
    default: 288,
    description: `How many ${what} of it an EHR takes a day (UTC): what streams is sent as an aggregate`,
  })

const common = (example: { type: string; name: string; description: string; noun: string }) => ({
  type: typeName(`the ${example.noun}`, example.type),
  name: line('What people call it', example.name),
  description: Type.Optional(text('What it is', example.description)),
  codes,
  texts,
})

const retired = Type.Boolean({
  default: false,
  description: 'Whether nothing new is stored of it; what was stored stays',
})

const bound = (description: string) => Type.Optional(Type.Number({ description }))
const range = (description: string, example: object) =>
  Type.Optional(
    Type.Object(
      { min: bound('The lowest value'), max: bound('The highest value') },
      { additionalProperties: false, description, examples: [example] },
    ),
  )

const dataFields = {
  ...common({ noun: 'data type', type: 'steps', name: 'Steps', description: 'Steps of a day' }),
  schema: jsonSchema('the value', { type: 'integer', minimum: 0 }),
  unit: Type.Optional(line('Unit of a numeric value, as UCUM code; it stays', '{steps}')),
  ranges: Type.Optional(
    Type.Object(
      {
        hard: range('Outside of it a value is refused', { min: 0, max: 200000 }),
        warn: range('Outside of it a value is stored with a warning', { min: 0, max: 50000 }),
      },
      { additionalProperties: false, description: 'Of a numeric value, in its unit' },
    ),
  ),
  deviceTypes: names('device type', 'watch'),
  perDay: perDay('measurements'),
  retired,
}

const eventFields = {
  ...common({ noun: 'event type', type: 'fall', name: 'Fall', description: 'Somebody has fallen' }),
  schema: Type.Optional(jsonSchema('the data of an occurrence', { type: 'object' })),
  severity: Type.Optional(SeverityEnum),
  perDay: perDay('occurrences'),
  retired,
}

const deviceFields = {
  ...common({ noun: 'device type', type: 'watch', name: 'Watch', description: 'Counts steps' }),
  manufacturer: Type.Optional(line('Who makes it', 'Example Ltd.')),
  model: Type.Optional(line('What the maker calls it', 'W1')),
  dataTypes: names('data type', 'steps'),
  retired,
}

const kept = {
  used: Type.Boolean({ description: 'Whether data have been stored of it: then it is retired, not deleted' }),
  version: Type.Integer({ minimum: 1, description: 'Data name the version by which they were checked' }),
  createdAt: Type.String({ format: 'date-time', description: 'When it was made' }),
  updatedAt: Type.String({ format: 'date-time', description: 'When this version was made' }),
}

/** Those with a default may be left out of a body. */
const inBody = (fields: TProperties): TProperties =>
  bodyForm(
    Object.fromEntries(
      Object.entries(fields).map(([name, schema]) => [
        name,
        schema.default === undefined ? schema : Type.Optional(schema),
      ]),
    ),
  )

/** What is kept of a type. A schema is kept as text: no database trips over what its properties are called. */
const recordOf = (fields: TProperties) =>
  Type.Object({
    ...fields,
    ...('schema' in fields && { schema: Type.Optional(Type.String()) }),
    used: Type.Boolean(),
  }) as unknown as TObject<{ type: TString; name: TString; used: TBoolean }>

/** The forms of a type: what stores it, what a reply shows, what is kept. */
const formsOf = <P extends TProperties>(name: string, noun: string, fields: P) => ({
  fields,
  body: closed(`${name}Body`, `A ${noun}: what is left out is not set`, inBody(fields)),
  resource: closed(name, `A ${noun}`, { ...responseForm(fields), ...kept } as TProperties),
  record: recordOf(fields),
})

export const DataType = formsOf('DataType', 'type of measurements', dataFields)
export const EventType = formsOf('EventType', 'type of occurrences', eventFields)
export const DeviceType = formsOf('DeviceType', 'type of devices', deviceFields)

export type DataTypeFields = Static<TObject<typeof dataFields>>
export type EventTypeFields = Static<TObject<typeof eventFields>>
export type DeviceTypeFields = Static<TObject<typeof deviceFields>>
