import { type TObject, type TProperties, Type } from '@sinclair/typebox'
import { closedObject } from '../common.ts'

const lastUpdatedField = Type.String({
  format: 'date-time',
  description: 'Time of the last write',
  examples: ['2026-03-01T08:30:00.000Z'],
})

/** Adds the time of the last write to a reply. */
export const withLastUpdated = <P extends TProperties>({
  $id = '',
  description = '',
  properties,
}: TObject<P>) => closedObject($id, description, { ...properties, lastUpdated: lastUpdatedField })
