import { type TObject, type TProperties, Type } from '@sinclair/typebox'
import { articled, closed, id } from './common.ts'
import { nullable } from './nullable.ts'

/** What was done, and how that is described. */
export const changeAction = (description: string) =>
  Type.Unsafe<'create' | 'update' | 'delete'>({
    type: 'string',
    enum: ['create', 'update', 'delete'],
    description,
  })

const about = {
  version: Type.Integer({ minimum: 1, description: 'The version that the change made' }),
  at: Type.String({ format: 'date-time', description: 'When it was made' }),
  userId: { ...id('the user who made it'), examples: ['n4Fq2LxT0a'] },
  application: Type.String({ description: 'The application that was used', examples: ['path family'] }),
  action: changeAction('What was done'),
  announced: Type.Boolean({
    description: 'Whether it was recorded before it was done: after a crash it may not have happened',
    examples: [false],
  }),
  changed: Type.Array(Type.String(), {
    description: 'The names of the properties that an update changed',
    examples: [['notes']],
  }),
}

/** A line in the history of a resource. */
export const changeOf = <P extends TProperties>(name: string, what: string, former: TObject<P>) =>
  closed(`${name}Change`, `A change of ${articled(what)}`, {
    ...about,
    before: nullable(
      Type.Object(former.properties, {
        additionalProperties: false,
        description: `The ${what} before the change; null when it was new`,
      }),
    ),
  })

export const Restoration = closed('Restoration', 'The version to restore', {
  version: Type.Integer({ minimum: 1, description: 'A former version', examples: [1] }),
})
