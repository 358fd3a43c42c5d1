import { relationIdOf, relationNumberOf } from '../../records/profiles/relations/relations.ts'
import {
  Relation,
  RelationAnswer,
  RelationCreate,
  RelationQuestion,
  RelationUpdate,
  relationFields,
} from '../../schemas/relation.ts'
import { answer } from '../answer/answer.ts'
import { fieldsOf } from '../answer/representation.ts'
import { list, pageAs } from '../operation/list.ts'
import { operation } from '../operation/operation.ts'
import { requireSameId } from '../operation/parameters.ts'

const about = {
  source: 'Endpoints, Profile (persons); Resources and their fields, Relation',
  access: 'person',
} as const

const path = '/profile/{mvUid}/relation'
const one = '/profile/{mvUid}/relation/{relationId}'

const relationOf = (stored: Omit<Relation, 'id'> & { relationId: number }): Relation => ({
  id: relationIdOf(stored.relationId),
  ...fieldsOf(relationFields, stored),
})

export const relations = [
  list({
    ...about,
    id: 'listRelations',
    path,
    summary: 'List the relations of a person',
    item: Relation,
    handle: async ({ params, page }, { caller, profiles }) =>
      pageAs(await profiles.relations.list(caller, params.mvUid, page), relationOf),
  }),
  operation({
    ...about,
    id: 'addRelation',
    method: 'post',
    path,
    summary: 'Add a relation of a person',
    description: 'Answers 409 when another relation of the person already has the id in the body.',
    body: RelationCreate,
    reply: [201, Relation, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params: { mvUid }, body }, { caller, profiles, newId }) => {
      const added = await profiles.relations.create(caller, mvUid, body, newId())
      const relation = relationOf(added)
      return answer(relation, {
        version: added.version,
        location: `/profile/${mvUid}/relation/${relation.id}`,
      })
    },
  }),
  operation({
    ...about,
    id: 'checkRelation',
    method: 'post',
    path: '/profile/{mvUid}/relation/owns',
    summary: 'Check whether a relation belongs to a person',
    body: RelationQuestion,
    reply: [200, RelationAnswer],
    handle: async ({ params: { mvUid }, body }, { caller, profiles }) => ({
      owns: await profiles.relations.has(caller, mvUid, relationNumberOf(body.relationId)),
    }),
  }),
  operation({
    ...about,
    id: 'getRelation',
    method: 'get',
    path: one,
    summary: 'Get a relation',
    reply: [200, Relation, 'versioned'],
    handle: async ({ params: { mvUid, relationId } }, { caller, profiles }) => {
      const found = await profiles.relations.get(caller, mvUid, relationNumberOf(relationId))
      return answer(relationOf(found), { version: found.version })
    },
  }),
  operation({
    ...about,
    id: 'updateRelation',
    method: 'put',
    path: one,
    summary: 'Replace a relation',
    body: RelationUpdate,
    reply: [200, Relation, 'versioned'],
    errors: ['IdMismatch', 'RuleViolated'],
    handle: async ({ params, body: { id, ...body } }, { caller, profiles, expected }) => {
      const number = relationNumberOf(params.relationId)
      if (id !== undefined) requireSameId('id', relationNumberOf(id), number)
      const updated = await profiles.relations.update(caller, params.mvUid, number, body, expected)
      return answer(relationOf(updated), { version: updated.version })
    },
  }),
  operation({
    ...about,
    id: 'deleteRelation',
    method: 'delete',
    path: one,
    summary: 'Delete a relation with its addresses and contacts',
    reply: [204],
    handle: ({ params: { mvUid, relationId } }, { caller, profiles, expected }) =>
      profiles.removeRelation(caller, mvUid, relationNumberOf(relationId), expected),
  }),
]
