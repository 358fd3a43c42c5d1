import { type Static, Type } from '@sinclair/typebox'
import { closed } from './common.ts'
import { SourceEnum } from './enum.ts'

const text = (description: string, example: string) => Type.String({ description, examples: [example] })
const uuid = Type.String({
  format: 'uuid',
  description: 'Of the record: it stays when the record is corrected',
  examples: ['0f6ee8bb-9e3a-8c53-8c5f-0c8a9e7f2b01'],
})
const created = Type.String({
  format: 'date-time',
  description: 'When it was stored',
  examples: ['2026-03-01T08:30:05.000Z'],
})
const modality = Type.Optional(SourceEnum)

/** The namespaces in which schemas of data points are published: Open mHealth, and IEEE 1752.1. */
export type Namespace = 'omh' | 'ieee'

export const SchemaId = closed('SchemaId', 'The published schema that the body fits', {
  namespace: Type.Unsafe<Namespace>({
    type: 'string',
    enum: ['omh', 'ieee'],
    description: 'Who published it',
  }),
  name: text('Its name', 'blood-pressure'),
  version: text('Its version', '4.0'),
})
export type SchemaId = Static<typeof SchemaId>

const provenance = Type.Object(
  {
    source_name: text('The service that tells it', 'health-record-service'),
    source_data_point_id: text('The record and its version', 'm4RtYu78Io::health-record-service::1'),
    source_creation_date_time: created,
    source_last_modification_date_time: { ...created, description: 'When it was last corrected' },
    modality,
  },
  { additionalProperties: false, description: 'Where it comes from' },
)

/** One header for the two that there are: Open mHealth 1.2 has id and creation time under other names than IEEE 1752.1. */
const header = Type.Object(
  {
    uuid,
    id: uuid,
    schema_id: SchemaId,
    source_creation_date_time: created,
    creation_date_time: created,
    user_id: text('Whose it is: the id of the EHR', 'e5RtGb81Xz'),
    modality,
    acquisition_provenance: provenance,
  },
  { additionalProperties: false, description: 'What it is: a header of Open mHealth 1.2 and of IEEE 1752.1' },
)

export const DataPoint = closed('DataPoint', 'A data point of Open mHealth, or of IEEE 1752.1', {
  header,
  body: Type.Record(Type.String(), Type.Unknown(), {
    description: 'What it says, in the terms of its schema',
    examples: [
      {
        body_weight: { value: 72.5, unit: 'kg' },
        effective_time_frame: { date_time: '2026-03-01T08:30:00.000Z' },
      },
    ],
  }),
})
export type DataPoint = Static<typeof DataPoint>
