import { type TObject, Type } from '@sinclair/typebox'
import type { StoredType } from '../../../records/types/type-definitions.ts'
import type { TypeFamily } from '../../../records/types/type-registry.ts'
import type { TypeBody } from '../../../records/types/type-rules.ts'
import { withArticle } from '../../../schemas/common.ts'
import { DataType, DeviceType, EventType, typeNameField } from '../../../schemas/types/data-types.ts'
import { defineListOperation, mapPage } from '../../operation/list-operation.ts'
import { defineOperation, type Operation } from '../../operation/operation.ts'
import { requireSameId } from '../../operation/path-parameters.ts'
import { pickClientFields } from '../../reply/client-fields.ts'
import { etagOf } from '../../reply/etag.ts'
import { type ReplyWithHead, replyWith } from '../../reply/reply.ts'

interface TypeFamilyOptions {
  family: TypeFamily
  /** Part of the operation ids: `addDataType`. */
  name: string
  /** For sentences: `data type`. */
  noun: string
  forms: { body: TObject; resource: TObject }
  example: string
}

const typesSource = 'Endpoints, Data'
const TYPE_BODY_LIMITS = { bytes: 128 * 1024 }

const versionParameter = Type.Optional(
  Type.Integer({
    minimum: 1,
    description: 'Number of an earlier version; stored data names the version that validated it',
  }),
)

type TypeRepresentation = Record<string, unknown>

/** Shared inputs for creating the operations of one type family. */
interface TypeOperationsContext extends TypeFamilyOptions {
  path: `/data/type/${TypeFamily}`
  one: `/data/type/${TypeFamily}/{type}`
  params: { type: ReturnType<typeof typeNameField> }
  representation(type: StoredType): TypeRepresentation
  replyWithType(type: StoredType, location?: string): ReplyWithHead<TypeRepresentation, { version: number }>
}

const listTypes = ({ family, name, noun, path, forms, representation }: TypeOperationsContext) =>
  defineListOperation({
    id: `list${name}s`,
    path,
    summary: `List the ${noun}s`,
    source: typesSource,
    access: 'user',
    item: forms.resource,
    handle: async ({ page }, { caller, types }) =>
      mapPage(await types[family].list(caller, page), representation),
  })

const addType = ({ family, name, noun, path, forms, replyWithType }: TypeOperationsContext) =>
  defineOperation({
    id: `add${name}`,
    method: 'post',
    path,
    summary: `Create ${withArticle(noun)}`,
    source: typesSource,
    access: 'modeller',
    body: forms.body,
    limits: TYPE_BODY_LIMITS,
    reply: [201, forms.resource, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ body }, { caller, types, isRetry }) => {
      const storedType = await types[family].add(caller, body as TypeBody, isRetry)
      return replyWithType(storedType, `${path}/${storedType.type}`)
    },
  })

const getType = ({ family, name, noun, one, params, forms, replyWithType }: TypeOperationsContext) =>
  defineOperation({
    id: `get${name}`,
    method: 'get',
    path: one,
    params,
    query: { version: versionParameter },
    summary: `Get ${withArticle(noun)}`,
    source: typesSource,
    access: 'user',
    reply: [200, forms.resource, 'versioned'],
    handle: async ({ params: { type }, query }, { caller, types }) =>
      replyWithType(await types[family].get(caller, type, query.version)),
  })

const replaceType = ({ family, name, noun, one, params, forms, replyWithType }: TypeOperationsContext) =>
  defineOperation({
    id: `update${name}`,
    method: 'put',
    path: one,
    params,
    summary: `Replace ${withArticle(noun)}`,
    description: 'Creates a new version of the type. Stored data keeps the version that validated it.',
    source: typesSource,
    extra: true,
    access: 'modeller',
    body: forms.body,
    limits: TYPE_BODY_LIMITS,
    reply: [200, forms.resource, 'versioned'],
    errors: ['IdMismatch', 'RuleViolated'],
    handle: async ({ params: { type }, body }, { caller, types, ifMatch }) => {
      const typeBody = body as TypeBody
      requireSameId('type', typeBody.type, type)
      return replyWithType(await types[family].replace(caller, type, typeBody, ifMatch))
    },
  })

const deleteType = ({ family, name, noun, one, params }: TypeOperationsContext) =>
  defineOperation({
    id: `delete${name}`,
    method: 'delete',
    path: one,
    params,
    summary: `Delete ${withArticle(noun)}`,
    description: 'A type with stored data cannot be deleted; retire it by a PUT with `retired: true`.',
    source: typesSource,
    access: 'modeller',
    reply: [204],
    errors: ['Conflict'],
    handle: ({ params: { type } }, { caller, types, ifMatch }) => types[family].remove(caller, type, ifMatch),
  })

function typeFamilyOperations(options: TypeFamilyOptions): Operation[] {
  const { family, noun, forms, example } = options
  const path: TypeOperationsContext['path'] = `/data/type/${family}`
  const representation = (type: StoredType): TypeRepresentation => {
    const { schema } = type as { schema?: string }
    const read = schema === undefined ? type : { ...type, schema: JSON.parse(schema) }
    return pickClientFields(forms.resource.properties, read)
  }
  const operationsContext: TypeOperationsContext = {
    ...options,
    path,
    one: `${path}/{type}`,
    representation,
    params: { type: typeNameField(`the ${noun}`, example) },
    replyWithType: (type, location) =>
      replyWith(representation(type), {
        version: type.version,
        ...(location && { location }),
        // The mark makes no version, but the answer shows it.
        ...(type.used && { headers: { etag: etagOf(`${type.version}.used`) } }),
      }),
  }
  return [listTypes, addType, getType, replaceType, deleteType].map((make) => make(operationsContext))
}

const TYPE_FAMILIES: readonly TypeFamilyOptions[] = [
  { family: 'data', name: 'DataType', noun: 'data type', forms: DataType, example: 'steps' },
  { family: 'event', name: 'EventType', noun: 'event type', forms: EventType, example: 'fall' },
  { family: 'device', name: 'DeviceType', noun: 'device type', forms: DeviceType, example: 'watch' },
]

export const typeOperations = TYPE_FAMILIES.flatMap(typeFamilyOperations)
