import type { DataTypeFields, DeviceTypeFields, EventTypeFields } from '../../../schemas/data-types.ts'

type Told<T> = Omit<T, 'codes' | 'texts' | 'perDay' | 'retired' | 'deviceTypes' | 'dataTypes'> & Partial<T>

const loinc = (code: string) => [{ system: 'http://loinc.org', code }]
const nl = (name: string) => ({ nl: { name } })

const count = (most: number) => ({ type: 'integer', minimum: 0, maximum: most })
const measured = { type: 'number' }
const within = (min: number, max: number) => ({ min, max })

/** The data types that come with the service; a modeller may change them. */
const usualDataTypes: readonly Told<DataTypeFields>[] = [
  {
    ...{ type: 'steps', name: 'Steps', texts: nl('Stappen'), codes: loinc('55423-8') },
    ...{ unit: '{steps}', schema: count(200_000), ranges: { warn: within(0, 50_000) } },
  },
  {
    ...{ type: 'sleep', name: 'Sleep', texts: nl('Slaap'), codes: loinc('93832-4') },
    ...{ unit: 'h', schema: measured, ranges: { hard: within(0, 24), warn: within(3, 14) } },
  },
  {
    ...{ type: 'activity', name: 'Active minutes', texts: nl('Actieve minuten'), codes: loinc('55411-3') },
    ...{ unit: 'min', schema: count(1440), ranges: { warn: within(0, 600) } },
  },
  {
    ...{ type: 'distance', name: 'Distance walked', texts: nl('Gelopen afstand'), codes: loinc('55430-3') },
    ...{ unit: 'm', schema: measured, ranges: { hard: within(0, 500_000), warn: within(0, 60_000) } },
  },
  {
    ...{ type: 'pain', name: 'Pain score', texts: nl('Pijnscore'), codes: loinc('72514-3') },
    ...{ description: 'From 0, no pain, to 10, the worst imaginable', unit: '{score}', schema: count(10) },
  },
  {
    ...{ type: 'mood', name: 'Mood', texts: nl('Stemming') },
    ...{ description: 'From 1, very bad, to 5, very good', unit: '{score}' },
    schema: { type: 'integer', minimum: 1, maximum: 5 },
  },
  {
    ...{ type: 'fatigue', name: 'Fatigue score', texts: nl('Vermoeidheidsscore') },
    ...{ description: 'From 0, none, to 10, the worst imaginable', unit: '{score}', schema: count(10) },
  },
  {
    ...{ type: 'peakflow', name: 'Peak flow', texts: nl('Piekstroom'), codes: loinc('33452-4') },
    ...{ unit: 'L/min', schema: measured, ranges: { hard: within(0, 900), warn: within(100, 800) } },
  },
  {
    ...{ type: 'inr', name: 'INR', texts: nl('INR'), codes: loinc('6301-6') },
    description: 'International normalised ratio of the prothrombin time',
    ...{ unit: '{INR}', schema: measured, ranges: { hard: within(0.5, 20), warn: within(0.8, 6) } },
  },
  {
    ...{ type: 'waist', name: 'Waist circumference', texts: nl('Buikomvang'), codes: loinc('8280-0') },
    ...{ unit: 'cm', schema: measured, ranges: { hard: within(20, 300), warn: within(50, 180) } },
  },
  {
    ...{ type: 'respiratory-rate', name: 'Respiratory rate', texts: nl('Ademhalingsfrequentie') },
    ...{ codes: loinc('9279-1'), unit: '/min', schema: measured },
    ranges: { hard: within(1, 100), warn: within(8, 40) },
  },
  {
    ...{ type: 'fluid-intake', name: 'Fluid intake', texts: nl('Vochtinname'), codes: loinc('9108-2') },
    ...{ unit: 'mL', schema: measured, ranges: { hard: within(0, 20_000), warn: within(0, 6000) } },
  },
  {
    ...{ type: 'sleep-diary', name: 'Sleep diary', texts: nl('Slaapdagboek') },
    schema: {
      type: 'object',
      properties: {
        asleep: { type: 'string', format: 'date-time' },
        awake: { type: 'string', format: 'date-time' },
        awakenings: count(100),
        quality: { type: 'string', enum: ['bad', 'fair', 'good'] },
      },
      required: ['asleep', 'awake'],
      additionalProperties: false,
    },
  },
]

const severe = { type: 'object', properties: { injured: { type: 'boolean' } }, additionalProperties: false }
const remarked = {
  type: 'object',
  properties: { trigger: { type: 'string', maxLength: 1000 }, minutes: count(10_000) },
  additionalProperties: false,
}

const usualEventTypes: readonly Told<EventTypeFields>[] = [
  { type: 'fall', name: 'Fall', texts: nl('Val'), severity: 'HIGH', schema: severe },
  {
    ...{ type: 'hypoglycaemia', name: 'Hypoglycaemia', texts: nl('Hypoglykemie'), severity: 'HIGH' },
    schema: remarked,
  },
  {
    ...{ type: 'asthma-attack', name: 'Asthma attack', texts: nl('Astma-aanval'), severity: 'HIGH' },
    schema: remarked,
  },
  { type: 'medication-taken', name: 'Medication taken', texts: nl('Medicatie ingenomen'), severity: 'LOW' },
]

const usualDeviceTypes: readonly Told<DeviceTypeFields>[] = [
  { type: 'watch', name: 'Smart watch', texts: nl('Slim horloge'), dataTypes: [] },
  { type: 'phone', name: 'Smart phone', texts: nl('Smartphone'), dataTypes: [] },
  { type: 'peakflow-meter', name: 'Peak flow meter', texts: nl('Piekstroommeter'), dataTypes: ['peakflow'] },
]

/** What comes with the service, by family. */
export const usualTypes = { data: usualDataTypes, event: usualEventTypes, device: usualDeviceTypes } as const
