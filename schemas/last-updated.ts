import { type TObject, type TProperties, Type } from '@sinclair/typebox'
import { closed } from './common.ts'

const field = Type.String({
  format: 'date-time',
  description: 'When it was last written',
  examples: ['2026-03-01T08:30:00.000Z'],
})

/** The form of a reply that says, too, when the record was last written. */
export const lastUpdated = <P extends TProperties>({ $id = '', description = '', properties }: TObject<P>) =>
  closed($id, description, { ...properties, lastUpdated: field })
