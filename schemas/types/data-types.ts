import {
  type Static,
  type TBoolean,
  type TObject,
  type TProperties,
  type TString,
  Type,
} from '@sinclair/typebox'
import { codingField } from '../coding.ts'
import { closedObject, longTextField, shortTextField } from '../common.ts'
import { SeverityEnum } from '../enums.ts'
import { bodyForm, responseForm } from '../forms/path-form.ts'

/** Name of a type in paths, data, thresholds and graphs. Lower case only, so that no two names look alike. */
export const typeNameField = (noun: string, example: string) =>
  Type.String({ pattern: '^[a-z][a-z0-9_-]{0,63}$', description: `Name of ${noun}`, examples: [example] })

const typeNamesField = (noun: string, example: string) =>
  Type.Array(typeNameField(`a ${noun}`, example), {
    maxItems: 100,
    uniqueItems: true,
    default: [],
    description: `Names of the matching ${noun}s; empty means any`,
    examples: [[]],
  })

/** A JSON Schema in a body; records/types/value-schema/value-schema.ts restricts it. */
const jsonSchemaField = (noun: string, example: object) =>
  Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    description: `JSON Schema 2020-12 for ${noun}: at most 64 KB and 100 subschemas, references within it only`,
    examples: [example],
  })

const translationsField = Type.Record(
  Type.String({ pattern: '^[a-z]{2}(-[A-Z]{2})?$' }),
  Type.Object(
    {
      name: shortTextField('Name in this language'),
      description: Type.Optional(longTextField('Description in this language')),
    },
    { additionalProperties: false, description: 'Texts in one language' },
  ),
  {
    additionalProperties: false,
    maxProperties: 50,
    default: {},
    description: 'Texts in other languages, by language tag',
    examples: [{ nl: { name: 'Stappen' } }],
  },
)

const typeCodesField = Type.Array(codingField('the type', 'http://loinc.org', '55423-8'), {
  maxItems: 20,
  default: [],
  description: 'Codes of the type in code systems',
})

const maxPerDayField = (noun: string) =>
  Type.Integer({
    minimum: 1,
    maximum: 100_000,
    default: 288,
    description: `Maximum number of ${noun} of this type per EHR and day (UTC); send frequent values as aggregates`,
  })

const commonTypeFields = (example: { type: string; name: string; description: string; noun: string }) => ({
  type: typeNameField(`the ${example.noun}`, example.type),
  name: shortTextField('Display name of the type', example.name),
  description: Type.Optional(longTextField('Description of the type', example.description)),
  codes: typeCodesField,
  texts: translationsField,
})

const retiredField = Type.Boolean({
  default: false,
  description: 'True to accept no new data of this type; stored data stays',
})

const boundField = (description: string) => Type.Optional(Type.Number({ description }))
const rangeField = (description: string, example: object) =>
  Type.Optional(
    Type.Object(
      { min: boundField('Lowest value'), max: boundField('Highest value') },
      { additionalProperties: false, description, examples: [example] },
    ),
  )

const dataTypeFields = {
  ...commonTypeFields({ noun: 'data type', type: 'steps', name: 'Steps', description: 'Steps of a day' }),
  schema: jsonSchemaField('the value in the unit of the type', { type: 'integer', minimum: 0 }),
  unit: Type.Optional(shortTextField('Unit of a numeric value, as UCUM code; it cannot change', '{steps}')),
  ranges: Type.Optional(
    Type.Object(
      {
        hard: rangeField('Range outside of which a value is refused', { min: 0, max: 200000 }),
        warn: rangeField('Range outside of which a value is stored with a warning', { min: 0, max: 50000 }),
      },
      { additionalProperties: false, description: 'Ranges of a numeric value, in its unit' },
    ),
  ),
  deviceTypes: typeNamesField('device type', 'watch'),
  perDay: maxPerDayField('measurements'),
  retired: retiredField,
}

const eventTypeFields = {
  ...commonTypeFields({ noun: 'event type', type: 'fall', name: 'Fall', description: 'Somebody has fallen' }),
  schema: Type.Optional(jsonSchemaField('the data of an occurrence', { type: 'object' })),
  severity: Type.Optional(SeverityEnum),
  perDay: maxPerDayField('occurrences'),
  retired: retiredField,
}

const deviceTypeFields = {
  ...commonTypeFields({ noun: 'device type', type: 'watch', name: 'Watch', description: 'Counts steps' }),
  manufacturer: Type.Optional(shortTextField('Manufacturer', 'Example Ltd.')),
  model: Type.Optional(shortTextField('Model', 'W1')),
  dataTypes: typeNamesField('data type', 'steps'),
  retired: retiredField,
}

const typeStateFields = {
  used: Type.Boolean({
    description: 'True if stored data or thresholds use this type; such a type can be retired, not deleted',
  }),
  version: Type.Integer({
    minimum: 1,
    description: 'Version of the type; stored data names the version that validated it',
  }),
  createdAt: Type.String({ format: 'date-time', description: 'Time of creation' }),
  updatedAt: Type.String({ format: 'date-time', description: 'Time of creation of this version' }),
}

/** Fields with a default are optional in a body. */
const toTypeBodyFields = (fields: TProperties): TProperties =>
  bodyForm(
    Object.fromEntries(
      Object.entries(fields).map(([name, schema]) => [
        name,
        schema.default === undefined ? schema : Type.Optional(schema),
      ]),
    ),
  )

/**
 * Stored form of a type. Its schema is stored as text, because the names of its properties may be invalid in
 * the database.
 */
const typeRecordSchema = (fields: TProperties) =>
  Type.Object({
    ...fields,
    ...('schema' in fields && { schema: Type.Optional(Type.String()) }),
    used: Type.Boolean(),
  }) as unknown as TObject<{ type: TString; name: TString; used: TBoolean }>

/** Forms of a type: body, reply, stored form. */
const defineTypeForms = <P extends TProperties>(name: string, noun: string, fields: P) => ({
  fields,
  body: closedObject(
    `${name}Body`,
    `A ${noun}; omitted optional fields are not set`,
    toTypeBodyFields(fields),
  ),
  resource: closedObject(name, `A ${noun}`, { ...responseForm(fields), ...typeStateFields } as TProperties),
  record: typeRecordSchema(fields),
})

export const DataType = defineTypeForms('DataType', 'type of measurements', dataTypeFields)
export const EventType = defineTypeForms('EventType', 'type of occurrences', eventTypeFields)
export const DeviceType = defineTypeForms('DeviceType', 'type of devices', deviceTypeFields)

export type DataTypeFields = Static<TObject<typeof dataTypeFields>>
export type EventTypeFields = Static<TObject<typeof eventTypeFields>>
export type DeviceTypeFields = Static<TObject<typeof deviceTypeFields>>
