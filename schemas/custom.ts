import { Type } from '@sinclair/typebox'
import { line } from './common.ts'
import { forms } from './forms/forms.ts'

export const Custom = forms({
  name: 'Custom',
  noun: 'object of a model of the user’s own',
  description: 'Data of a user-defined model',
  registeredIn: 'plan',
  example: 'c2VbNm90Op',
  fields: {
    modelClassName: line("Name of the user's model class, preferably in Pascal Case"),
    payload: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'Arbitrary user data, at most 32 levels deep; queried as payload.<property>',
      }),
    ),
  },
})
