import { type Static, Type } from '@sinclair/typebox'
import { closedObject, idField, shortTextField } from '../common.ts'
import { type HelperAct, HelperActEnum, HelperRelationEnum, HelperStateEnum } from '../enums.ts'
import { nullable } from '../forms/nullable.ts'

const helperIdField = idField('the other user', 'bW81kPzQ7e')

const termsFields = {
  relation: { ...HelperRelationEnum, examples: ['CHILD'] },
  acts: Type.Array(HelperActEnum, {
    minItems: 1,
    maxItems: 4,
    uniqueItems: true,
    description: 'Acts that the helper may carry out; READ is always included',
    examples: [['READ', 'RECORD']],
  }),
  until: Type.String({
    format: 'date-time',
    description: 'Time at which it ends by itself',
    examples: ['2040-03-01T08:30:00.000Z'],
  }),
}

const fromField = Type.String({
  format: 'date-time',
  description: 'Time from which the helper may act',
  examples: ['2026-03-01T08:30:00.000Z'],
})

const timeField = (description: string) => Type.String({ format: 'date-time', description })

/** An agreement, as both the person and the helper see it. */
export const Helper = closedObject('Helper', 'An agreement that a user acts for another', {
  mvUid: { ...helperIdField, description: 'Id of the other user: the helper, or the person who is helped' },
  name: nullable(
    shortTextField(
      'Name of the other user; null once it has ended, and before the helper has accepted',
      'Ann Smith',
    ),
  ),
  ...termsFields,
  from: fromField,
  state: { ...HelperStateEnum, examples: ['ACTIVE'] },
  createdAt: timeField('Time of the first invitation'),
  updatedAt: timeField('Time of the last change'),
})
export type Helper = Static<typeof Helper>

/** A helper who acts for the user of a request. @see docs/decisions/helpers.md */
export interface ActingHelper {
  helperId: string
  acts: readonly HelperAct[]
}

const HelperTermsObject = Type.Object({ ...termsFields, from: Type.Optional(fromField) })
export type HelperTerms = Static<typeof HelperTermsObject>

export const HelperInvitation = closedObject('HelperInvitation', 'An invitation to act for a person', {
  mvUid: { ...helperIdField, description: 'Id of the user who is to help' },
  ...HelperTermsObject.properties,
  from: Type.Optional({ ...fromField, description: `${fromField.description}; default: now` }),
})

export const HelperGrant = closedObject('HelperGrant', 'A token with which a helper acts for a person', {
  authToken: Type.String({
    description: 'Access token (JWT) of the person; its claim `act` names the helper',
  }),
  tokenType: Type.Literal('Bearer', {
    description: 'Authentication scheme for authToken',
    examples: ['Bearer'],
  }),
  expiresIn: Type.Integer({ description: 'Lifetime of authToken in seconds', examples: [900] }),
  mvUid: { ...helperIdField, description: 'Id of the person' },
  acts: { ...termsFields.acts, description: 'Acts that the helper may carry out' },
  until: termsFields.until,
})

/** Results of the functions of the class family. */
export const HelperList = closedObject('HelperList', 'A page of agreements', {
  items: Type.Array(Helper, { description: 'Agreements, oldest first' }),
  next: nullable(Type.String({ description: 'Cursor of the next page; null on the last page' })),
})
export const HelperSession = closedObject('HelperSession', 'A session in which a helper acts for a person', {
  sessionToken: Type.String({ description: 'Session token for the class family' }),
  mvUid: HelperGrant.properties.mvUid,
  acts: HelperGrant.properties.acts,
  until: termsFields.until,
})
export const Done = closedObject('HelperEnded', 'Nothing: the agreement has ended', {})

/** Parameters of the functions of the class family. */
export const HelperListParams = closedObject('HelperListParams', 'Page of a list of helpers', {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Maximum number of items' })),
  cursor: Type.Optional(Type.String({ maxLength: 1000, description: 'Cursor of the previous page' })),
})
export const OtherUserParams = closedObject('OtherUserParams', 'The other user of an agreement', {
  mvUid: { ...helperIdField, pattern: '^[A-Za-z0-9_-]{1,64}$' },
})
