import { relationIdOf, relationNumberOf } from '../../../records/profiles/relations/relations.ts'
import {
  Relation,
  RelationCreate,
  RelationOwnership,
  RelationQuery,
  RelationUpdate,
  relationFields,
} from '../../../schemas/profiles/relation.ts'
import { defineListOperation, mapPage } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { requireSameId } from '../../operation/path-parameters.ts'
import { pickClientFields } from '../../reply/client-fields.ts'
import { replyWith } from '../../reply/reply.ts'

const relationDefaults = {
  source: 'Endpoints, Profile (persons); Resources and their fields, Relation',
  access: 'person',
} as const

const relationsPath = '/profile/{mvUid}/relation'
const relationPath = '/profile/{mvUid}/relation/{relationId}'

const toRelation = (storedRelation: Omit<Relation, 'id'> & { relationId: number }): Relation => ({
  id: relationIdOf(storedRelation.relationId),
  ...pickClientFields(relationFields, storedRelation),
})

export const relationOperations = [
  defineListOperation({
    ...relationDefaults,
    id: 'listRelations',
    path: relationsPath,
    summary: 'List the relations of a person',
    item: Relation,
    handle: async ({ params, page }, { caller, profiles }) =>
      mapPage(await profiles.relations.list(caller, params.mvUid, page), toRelation),
  }),
  defineOperation({
    ...relationDefaults,
    id: 'addRelation',
    method: 'post',
    path: relationsPath,
    summary: 'Create a relation of a person',
    description: 'Returns 409 if another relation of the person already has the id in the body.',
    body: RelationCreate,
    reply: [201, Relation, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params: { mvUid }, body }, { caller, profiles, newId }) => {
      const storedRelation = await profiles.relations.create(caller, mvUid, body, newId())
      const relation = toRelation(storedRelation)
      return replyWith(relation, {
        version: storedRelation.version,
        location: `/profile/${mvUid}/relation/${relation.id}`,
      })
    },
  }),
  defineOperation({
    ...relationDefaults,
    id: 'checkRelation',
    method: 'post',
    path: '/profile/{mvUid}/relation/owns',
    summary: 'Check whether a relation belongs to a person',
    body: RelationQuery,
    reply: [200, RelationOwnership],
    handle: async ({ params: { mvUid }, body }, { caller, profiles }) => ({
      owns: await profiles.relations.hasRelation(caller, mvUid, relationNumberOf(body.relationId)),
    }),
  }),
  defineOperation({
    ...relationDefaults,
    id: 'getRelation',
    method: 'get',
    path: relationPath,
    summary: 'Get a relation',
    reply: [200, Relation, 'versioned'],
    handle: async ({ params: { mvUid, relationId } }, { caller, profiles }) => {
      const relation = await profiles.relations.get(caller, mvUid, relationNumberOf(relationId))
      return replyWith(toRelation(relation), { version: relation.version })
    },
  }),
  defineOperation({
    ...relationDefaults,
    id: 'updateRelation',
    method: 'put',
    path: relationPath,
    summary: 'Replace a relation',
    body: RelationUpdate,
    reply: [200, Relation, 'versioned'],
    errors: ['IdMismatch', 'RuleViolated'],
    handle: async ({ params, body: { id, ...body } }, { caller, profiles, ifMatch }) => {
      const number = relationNumberOf(params.relationId)
      requireSameId('id', id && relationNumberOf(id), number)
      const storedRelation = await profiles.relations.update(caller, params.mvUid, number, body, ifMatch)
      return replyWith(toRelation(storedRelation), { version: storedRelation.version })
    },
  }),
  defineOperation({
    ...relationDefaults,
    id: 'deleteRelation',
    method: 'delete',
    path: relationPath,
    summary: 'Delete a relation with its addresses and contacts',
    reply: [204],
    handle: ({ params: { mvUid, relationId } }, { caller, profiles, ifMatch }) =>
      profiles.removeRelation(caller, mvUid, relationNumberOf(relationId), ifMatch),
  }),
]
