import { type Static, Type } from '@sinclair/typebox'
import { closed } from './common.ts'
import { RelationTypeEnum } from './enum.ts'
import { nullable, optional } from './nullable.ts'
import { personFields, personInput } from './person.ts'

const type = { type: nullable(RelationTypeEnum) }

const relationId = (description: string) =>
  Type.String({ pattern: '^(party:relation:)?[0-9]{1,15}$', description, examples: ['party:relation:123'] })

export const relationFields = { ...personFields, ...type }

/** @see Resources and their fields, Relation */
export const Relation = closed('Relation', 'Somebody whom the user is related to, privately or in care', {
  id: Type.String({
    pattern: '^party:relation:[0-9]+$',
    description: 'The relation, by a number that is unique for the user',
    examples: ['party:relation:123'],
  }),
  ...relationFields,
})
export type Relation = Static<typeof Relation>

export const RelationCreate = closed('RelationCreate', 'A relation; what is left out becomes null', {
  ...personInput,
  ...optional(type),
  id: Type.Optional(
    nullable(
      Type.String({
        pattern: '^(party:relation:)?[1-9][0-9]{0,8}$',
        description: 'A number of your own that is still free; without it the service gives the next one',
        examples: ['party:relation:123'],
      }),
    ),
  ),
})
export type RelationCreate = Static<typeof RelationCreate>

export const RelationUpdate = closed('RelationUpdate', 'A complete relation; what is left out becomes null', {
  ...personInput,
  ...optional(type),
  id: Type.Optional(relationId('The id in the path')),
})
export type RelationUpdate = Static<typeof RelationUpdate>

export const RelationQuestion = closed('RelationQuestion', 'The relation in question', {
  relationId: relationId('Id of the relation, with or without `party:relation:`'),
})

export const RelationAnswer = closed('RelationAnswer', 'Whether it is a relation of the user', {
  owns: Type.Boolean({ description: 'Whether the relation belongs to the person', examples: [true] }),
})
