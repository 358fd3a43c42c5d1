import { type Static, Type } from '@sinclair/typebox'
import { closed, id, KEPT, kept, line } from './common.ts'

export const Custom = closed('Custom', 'Data of a model that the user has defined', {
  ...kept,
  ehrId: id('the EHR that the data belongs to'),
  carePlanId: id('the care plan that the data is linked to'),
  modelClassName: line("Name of the user's model class, preferably in Pascal Case"),
  payload: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'Arbitrary user data, at most 32 levels deep; queried as payload.<property>',
    }),
  ),
})
export type Custom = Static<typeof Custom>

export const CustomCreate = Type.Omit(Custom, KEPT, { $id: 'CustomCreate' })

export const CustomUpdate = Type.Partial(Type.Pick(Custom, ['modelClassName', 'payload']), {
  $id: 'CustomUpdate',
  description: 'What may change in user-defined data',
})
