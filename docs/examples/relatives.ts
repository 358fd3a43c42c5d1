import { defineListOperation, mapPage } from '../../path-api/operation/list-operation.ts'
import { defineOperation } from '../../path-api/operation/operation.ts'
import { requireSameId } from '../../path-api/operation/path-parameters.ts'
import { pickClientFields } from '../../path-api/reply/client-fields.ts'
import { replyWith } from '../../path-api/reply/reply.ts'
import { relationIdOf, relationNumberOf } from '../../records/profiles/relations/relations.ts'
import { Relation, RelationCreate, RelationUpdate, relationFields } from '../../schemas/profiles/relation.ts'

// path-api/resources/relatives.ts, and a line in path-api/operation-table.ts
const common = {
  source: 'Endpoints, Profile (persons)', // the clause of the specification
  extra: true, // if the specification has no such operation
  access: 'person', // a row of path-api/operation/access.ts
} as const

const path = '/profile/{mvUid}/relative'

const relativeOf = (stored: Omit<Relation, 'id'> & { relationId: number }): Relation => ({
  id: relationIdOf(stored.relationId),
  ...pickClientFields(relationFields, stored),
})

export const relatives = [
  defineListOperation({
    ...common,
    id: 'listRelatives', // verbNoun
    path, // parameters: path-api/operation/path-parameters.ts, or `params` for your own
    summary: 'List the relatives of a person',
    item: Relation,
    handle: async ({ params, page }, { caller, profiles }) =>
      mapPage(await profiles.relations.list(caller, params.mvUid, page), relativeOf),
  }),
  defineOperation({
    ...common,
    id: 'addRelative',
    method: 'post',
    path,
    summary: 'Create a relative of a person',
    body: RelationCreate, // or formBody(Schema), or rawBody('image/png')
    limits: { bytes: 64 * 1024 }, // of the body; the default is 1 MB and 32 levels (`depth`)
    reply: [201, Relation, 'versioned'], // 'versioned': needs a version, sends an ETag
    errors: ['RuleViolated', 'Conflict'], // of schemas/errors.ts, beyond those implied by the shape
    handle: async ({ params: { mvUid }, body }, { caller, profiles, newId }) => {
      const { version, ...added } = await profiles.relations.create(caller, mvUid, body, newId())
      const relative = relativeOf(added)
      return replyWith(relative, { version, location: `/profile/${mvUid}/relative/${relative.id}` })
    },
  }),
  defineOperation({
    ...common,
    id: 'updateRelative',
    method: 'put',
    path: '/profile/{mvUid}/relative/{relationId}',
    summary: 'Replace a relative of a person',
    ifMatch: 'required', // 428 without it
    body: RelationUpdate,
    reply: [200, Relation, 'versioned'],
    errors: ['IdMismatch', 'RuleViolated'],
    handle: async ({ params, body: { id, ...body } }, { caller, profiles, ifMatch }) => {
      const number = relationNumberOf(params.relationId)
      requireSameId('id', id && relationNumberOf(id), number)
      const { version, ...updated } = await profiles.relations.update(
        caller,
        params.mvUid,
        number,
        body,
        ifMatch,
      )
      return replyWith(relativeOf(updated), { version })
    },
  }),
]
