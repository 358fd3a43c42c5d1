import type { DataTypeFields, DeviceTypeFields, EventTypeFields } from '../../../schemas/types/data-types.ts'

type BuiltInType<T> = Omit<T, 'codes' | 'texts' | 'perDay' | 'retired' | 'deviceTypes' | 'dataTypes'> &
  Partial<T>

const loincCodes = (code: string) => [{ system: 'http://loinc.org', code }]
const dutchName = (name: string) => ({ nl: { name } })

const countSchema = (most: number) => ({ type: 'integer', minimum: 0, maximum: most })
const numberSchema = { type: 'number' }
const rangeOf = (min: number, max: number) => ({ min, max })

/** The built-in data types; a modeller may change them. */
const builtInDataTypes: readonly BuiltInType<DataTypeFields>[] = [
  {
    type: 'steps',
    name: 'Steps',
    texts: dutchName('Stappen'),
    codes: loincCodes('55423-8'),
    unit: '{steps}',
    schema: countSchema(200_000),
    ranges: { warn: rangeOf(0, 50_000) },
  },
  {
    type: 'sleep',
    name: 'Sleep',
    texts: dutchName('Slaap'),
    codes: loincCodes('93832-4'),
    unit: 'h',
    schema: numberSchema,
    ranges: { hard: rangeOf(0, 24), warn: rangeOf(3, 14) },
  },
  {
    type: 'activity',
    name: 'Active minutes',
    texts: dutchName('Actieve minuten'),
    codes: loincCodes('55411-3'),
    unit: 'min',
    schema: countSchema(1440),
    ranges: { warn: rangeOf(0, 600) },
  },
  {
    type: 'distance',
    name: 'Distance walked',
    texts: dutchName('Gelopen afstand'),
    codes: loincCodes('55430-3'),
    unit: 'm',
    schema: numberSchema,
    ranges: { hard: rangeOf(0, 500_000), warn: rangeOf(0, 60_000) },
  },
  {
    type: 'pain',
    name: 'Pain score',
    texts: dutchName('Pijnscore'),
    codes: loincCodes('72514-3'),
    description: 'From 0, no pain, to 10, the worst imaginable',
    unit: '{score}',
    schema: countSchema(10),
  },
  {
    type: 'mood',
    name: 'Mood',
    texts: dutchName('Stemming'),
    description: 'From 1, very bad, to 5, very good',
    unit: '{score}',
    schema: { type: 'integer', minimum: 1, maximum: 5 },
  },
  {
    type: 'fatigue',
    name: 'Fatigue score',
    texts: dutchName('Vermoeidheidsscore'),
    description: 'From 0, none, to 10, the worst imaginable',
    unit: '{score}',
    schema: countSchema(10),
  },
  {
    type: 'peakflow',
    name: 'Peak flow',
    texts: dutchName('Piekstroom'),
    codes: loincCodes('33452-4'),
    unit: 'L/min',
    schema: numberSchema,
    ranges: { hard: rangeOf(0, 900), warn: rangeOf(100, 800) },
  },
  {
    type: 'inr',
    name: 'INR',
    texts: dutchName('INR'),
    codes: loincCodes('6301-6'),
    description: 'International normalised ratio of the prothrombin time',
    unit: '{INR}',
    schema: numberSchema,
    ranges: { hard: rangeOf(0.5, 20), warn: rangeOf(0.8, 6) },
  },
  {
    type: 'waist',
    name: 'Waist circumference',
    texts: dutchName('Buikomvang'),
    codes: loincCodes('8280-0'),
    unit: 'cm',
    schema: numberSchema,
    ranges: { hard: rangeOf(20, 300), warn: rangeOf(50, 180) },
  },
  {
    type: 'respiratory-rate',
    name: 'Respiratory rate',
    texts: dutchName('Ademhalingsfrequentie'),
    codes: loincCodes('9279-1'),
    unit: '/min',
    schema: numberSchema,
    ranges: { hard: rangeOf(1, 100), warn: rangeOf(8, 40) },
  },
  {
    type: 'fluid-intake',
    name: 'Fluid intake',
    texts: dutchName('Vochtinname'),
    codes: loincCodes('9108-2'),
    unit: 'mL',
    schema: numberSchema,
    ranges: { hard: rangeOf(0, 20_000), warn: rangeOf(0, 6000) },
  },
  {
    type: 'sleep-diary',
    name: 'Sleep diary',
    texts: dutchName('Slaapdagboek'),
    schema: {
      type: 'object',
      properties: {
        asleep: { type: 'string', format: 'date-time' },
        awake: { type: 'string', format: 'date-time' },
        awakenings: countSchema(100),
        quality: { type: 'string', enum: ['bad', 'fair', 'good'] },
      },
      required: ['asleep', 'awake'],
      additionalProperties: false,
    },
  },
]

const injurySchema = {
  type: 'object',
  properties: { injured: { type: 'boolean' } },
  additionalProperties: false,
}
const attackSchema = {
  type: 'object',
  properties: { trigger: { type: 'string', maxLength: 1000 }, minutes: countSchema(10_000) },
  additionalProperties: false,
}

const builtInEventTypes: readonly BuiltInType<EventTypeFields>[] = [
  { type: 'fall', name: 'Fall', texts: dutchName('Val'), severity: 'HIGH', schema: injurySchema },
  {
    type: 'hypoglycaemia',
    name: 'Hypoglycaemia',
    texts: dutchName('Hypoglykemie'),
    severity: 'HIGH',
    schema: attackSchema,
  },
  {
    type: 'asthma-attack',
    name: 'Asthma attack',
    texts: dutchName('Astma-aanval'),
    severity: 'HIGH',
    schema: attackSchema,
  },
  {
    type: 'medication-taken',
    name: 'Medication taken',
    texts: dutchName('Medicatie ingenomen'),
    severity: 'LOW',
  },
]

const builtInDeviceTypes: readonly BuiltInType<DeviceTypeFields>[] = [
  { type: 'watch', name: 'Smart watch', texts: dutchName('Slim horloge'), dataTypes: [] },
  { type: 'phone', name: 'Smart phone', texts: dutchName('Smartphone'), dataTypes: [] },
  {
    type: 'peakflow-meter',
    name: 'Peak flow meter',
    texts: dutchName('Piekstroommeter'),
    dataTypes: ['peakflow'],
  },
]

/** The built-in types by family. */
export const builtInTypes = {
  data: builtInDataTypes,
  event: builtInEventTypes,
  device: builtInDeviceTypes,
} as const
