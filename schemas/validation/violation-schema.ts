import { Type } from '@sinclair/typebox'

const numberSchema = (description: string) => Type.Optional(Type.Number({ description }))

/** A violation as clients get it. */
export const violationSchema = Type.Object(
  {
    path: Type.String({ description: 'Path of the invalid value', examples: ['body.items.1.systolic'] }),
    code: Type.String({ description: 'Code of the violation, for programs', examples: ['range'] }),
    message: Type.String({ description: 'Explanation in a sentence' }),
    minimum: numberSchema(
      'Least number that is allowed: of the value, or of its characters, items or properties',
    ),
    maximum: numberSchema(
      'Greatest number that is allowed: of the value, or of its characters, items or properties',
    ),
    unit: Type.Optional(
      Type.String({ description: 'Unit of `minimum` and `maximum`, as UCUM code', examples: ['mm[Hg]'] }),
    ),
    choices: Type.Optional(
      Type.Array(Type.String(), { description: 'Allowed values; of many, the first ones' }),
    ),
    line: Type.Optional(Type.Integer({ description: 'Line in an AQL query, counted from 1' })),
    column: Type.Optional(Type.Integer({ description: 'Column in an AQL query, counted from 1' })),
  },
  { additionalProperties: false, description: 'A violation of the input' },
)
