import { type Static, Type } from '@sinclair/typebox'
import { closedObject } from '../common.ts'
import { SourceEnum } from '../enums.ts'

const dataPointText = (description: string, example: string) =>
  Type.String({ description, examples: [example] })
const uuidField = Type.String({
  format: 'uuid',
  description: 'UUID of the record; a correction does not change it',
  examples: ['0f6ee8bb-9e3a-8c53-8c5f-0c8a9e7f2b01'],
})
const creationTimeField = Type.String({
  format: 'date-time',
  description: 'Time of storage',
  examples: ['2026-03-01T08:30:05.000Z'],
})
const modalityField = Type.Optional(SourceEnum)

/** Publishers of data point schemas: Open mHealth and IEEE 1752.1. */
export type SchemaNamespace = 'omh' | 'ieee'

export const SchemaId = closedObject('SchemaId', 'Published schema of the body', {
  namespace: Type.Unsafe<SchemaNamespace>({
    type: 'string',
    enum: ['omh', 'ieee'],
    description: 'Publisher of the schema',
  }),
  name: dataPointText('Name of the schema', 'blood-pressure'),
  version: dataPointText('Version of the schema', '4.0'),
})
export type SchemaId = Static<typeof SchemaId>

const provenanceField = Type.Object(
  {
    source_name: dataPointText('Name of the reporting service', 'health-record-service'),
    source_data_point_id: dataPointText(
      'Id of the record with its version',
      'm4RtYu78Io::health-record-service::1',
    ),
    source_creation_date_time: creationTimeField,
    source_last_modification_date_time: { ...creationTimeField, description: 'Time of the last correction' },
    modality: modalityField,
  },
  { additionalProperties: false, description: 'Provenance' },
)

/**
 * A common header for both standards: Open mHealth 1.2 and IEEE 1752.1 name id and creation time differently.
 */
const dataPointHeader = Type.Object(
  {
    uuid: uuidField,
    id: uuidField,
    schema_id: SchemaId,
    source_creation_date_time: creationTimeField,
    creation_date_time: creationTimeField,
    user_id: dataPointText('Id of the EHR of the person', 'e5RtGb81Xz'),
    modality: modalityField,
    acquisition_provenance: provenanceField,
  },
  {
    additionalProperties: false,
    description: 'Header of the data point, valid in Open mHealth 1.2 and IEEE 1752.1',
  },
)

export const DataPoint = closedObject('DataPoint', 'A data point of Open mHealth, or of IEEE 1752.1', {
  header: dataPointHeader,
  body: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Measured values, in the terms of the schema',
    examples: [
      {
        body_weight: { value: 72.5, unit: 'kg' },
        effective_time_frame: { date_time: '2026-03-01T08:30:00.000Z' },
      },
    ],
  }),
})
export type DataPoint = Static<typeof DataPoint>
