import { type Static, Type } from '@sinclair/typebox'
import { closedObject } from '../common.ts'
import { RelationTypeEnum } from '../enums.ts'
import { nullable, optionalFields } from '../forms/nullable.ts'
import { personFields, personInputFields } from './person.ts'

const relationTypeField = { type: nullable(RelationTypeEnum) }

const relationIdField = (description: string) =>
  Type.String({ pattern: '^(party:relation:)?[0-9]{1,15}$', description, examples: ['party:relation:123'] })

export const relationFields = { ...personFields, ...relationTypeField }

/** @see Resources and their fields, Relation */
export const Relation = closedObject(
  'Relation',
  'A person to whom the user is related, privately or in care',
  {
    id: Type.String({
      pattern: '^party:relation:[0-9]+$',
      description: 'Id of the relation; its number is unique for the user',
      examples: ['party:relation:123'],
    }),
    ...relationFields,
  },
)
export type Relation = Static<typeof Relation>

export const RelationCreate = closedObject('RelationCreate', 'A relation; omitted fields become null', {
  ...personInputFields,
  ...optionalFields(relationTypeField),
  id: Type.Optional(
    nullable(
      Type.String({
        pattern: '^(party:relation:)?[1-9][0-9]{0,8}$',
        description: 'Id with an unused number of your choice; default: the next number',
        examples: ['party:relation:123'],
      }),
    ),
  ),
})
export type RelationCreate = Static<typeof RelationCreate>

export const RelationUpdate = closedObject(
  'RelationUpdate',
  'A complete relation; omitted fields become null',
  {
    ...personInputFields,
    ...optionalFields(relationTypeField),
    id: Type.Optional(relationIdField('Id of the relation, as in the path')),
  },
)
export type RelationUpdate = Static<typeof RelationUpdate>

export const RelationQuery = closedObject('RelationQuestion', 'The relation in question', {
  relationId: relationIdField('Id of the relation, with or without `party:relation:`'),
})

export const RelationOwnership = closedObject('RelationAnswer', 'Ownership of a relation', {
  owns: Type.Boolean({ description: 'True if the relation belongs to the person', examples: [true] }),
})
