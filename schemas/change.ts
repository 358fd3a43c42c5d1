import { type Static, type TObject, type TProperties, Type } from '@sinclair/typebox'
import { closedObject, idField, withArticle } from './common.ts'
import { nullable } from './forms/nullable.ts'

/** Field for the type of a change. */
export const changeActionField = (description: string) =>
  Type.Unsafe<'create' | 'update' | 'delete'>({
    type: 'string',
    enum: ['create', 'update', 'delete'],
    description,
  })

export const onBehalfOfField = nullable({
  ...idField('the person for whom the user acted as a helper; null if the user acted for themselves'),
  examples: ['bW81kPzQ7e'],
})

/** Names of the users of a change. */
export const changeAuthorNames = {
  userName: nullable(
    Type.String({
      description:
        'Name in the profile of the user, otherwise in the account. Null if there is none, and for those who see the EHR only through anonymous care plans',
      examples: ['Nurse Bo'],
    }),
  ),
  onBehalfOfName: nullable(
    Type.String({
      description: 'Name of the person for whom a helper acted; null in the same cases as userName',
      examples: ['Ann Jansen'],
    }),
  ),
}
export type ChangeAuthorNames = Static<TObject<typeof changeAuthorNames>>

const changeFields = {
  version: Type.Integer({ minimum: 1, description: 'Version that the change created' }),
  at: Type.String({ format: 'date-time', description: 'Time of the change' }),
  userId: { ...idField('the user who made the change'), examples: ['n4Fq2LxT0a'] },
  onBehalfOf: onBehalfOfField,
  ...changeAuthorNames,
  application: Type.String({ description: 'Application that the user used', examples: ['path family'] }),
  action: changeActionField('Type of the change'),
  changed: Type.Array(Type.String(), {
    description: 'Names of the properties that the update changed',
    examples: [['notes']],
  }),
}

/** Defines the schema of a history entry of a resource. */
export const defineChange = <P extends TProperties>(name: string, noun: string, former: TObject<P>) =>
  closedObject(`${name}Change`, `A change of ${withArticle(noun)}`, {
    ...changeFields,
    before: nullable(
      Type.Object(former.properties, {
        additionalProperties: false,
        description: `The ${noun} before the change; null when it was new`,
      }),
    ),
  })

export const Restoration = closedObject('Restoration', 'Version to restore', {
  version: Type.Integer({ minimum: 1, description: 'Number of a former version', examples: [1] }),
})
