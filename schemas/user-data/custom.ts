import { Type } from '@sinclair/typebox'
import { shortTextField } from '../common.ts'
import { defineForms } from '../forms/forms.ts'

export const CustomForms = defineForms({
  name: 'Custom',
  noun: 'object of a model of the user’s own',
  description: 'Data of a user-defined model',
  parentType: 'plan',
  example: 'c2VbNm90Op',
  fields: {
    modelClassName: shortTextField("Name of the user's model class, preferably in Pascal case"),
    payload: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'User-defined data, at most 32 levels deep; queried as payload.<property>',
      }),
    ),
  },
})
