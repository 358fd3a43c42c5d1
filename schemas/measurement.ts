import { type TObject, type TProperties, Type } from '@sinclair/typebox'
import { closed, id, KEPT, kept, moment, text } from './common.ts'
import { SourceEnum } from './enum.ts'

const context = {
  ehrId: Type.Optional(id('the EHR; the one of the care plan when absent')),
  carePlanId: id('the care plan that the measurement is registered in'),
}

const common = {
  timestamp: moment('When it was measured'),
  deviceId: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Device that measured' })),
  comment: Type.Optional(text('A remark on the measurement')),
  source: Type.Optional(SourceEnum),
}

/** A measurement class: what every measurement has, and its own properties. */
export const measurement = <P extends TProperties>($id: string, description: string, own: P) =>
  closed($id, description, { ...kept, ...context, ...common, ...own })

/** What a client sends to register a measurement. */
export const measurementCreate = <T extends TObject>(stored: T, $id: string, examples?: object[]) =>
  Type.Omit(stored, KEPT, { $id, ...(examples && { examples }) })

/** What may change in a measurement: all but where it is registered. */
export const measurementUpdate = <T extends TObject>(stored: T, $id: string, examples?: object[]) =>
  Type.Partial(Type.Omit(stored, [...KEPT, 'ehrId', 'carePlanId']), { $id, ...(examples && { examples }) })
