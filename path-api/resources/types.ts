import { type TObject, Type } from '@sinclair/typebox'
import type { TypeFamily } from '../../records/types/known-types.ts'
import type { TypeBody } from '../../records/types/type-rules.ts'
import type { StoredType } from '../../records/types/types.ts'
import { articled } from '../../schemas/common.ts'
import { DataType, DeviceType, EventType, typeName } from '../../schemas/data-types.ts'
import { type Answer, answer } from '../answer/answer.ts'
import { fieldsOf } from '../answer/representation.ts'
import { list, pageAs } from '../operation/list.ts'
import { type Operation, operation } from '../operation/operation.ts'
import { requireSameId } from '../operation/parameters.ts'

interface Family {
  family: TypeFamily
  /** In the operations' ids: `addDataType`. */
  name: string
  /** In a sentence: `data type`. */
  noun: string
  forms: { body: TObject; resource: TObject }
  example: string
}

const source = 'Endpoints, Data'
const LIMITS = { bytes: 128 * 1024 }

const version = Type.Optional(
  Type.Integer({
    minimum: 1,
    description: 'An earlier version: data name the one by which they were checked',
  }),
)

type Shown = Record<string, unknown>

/** Those of one family in the making. */
interface Made extends Family {
  path: `/data/type/${TypeFamily}`
  one: `/data/type/${TypeFamily}/{type}`
  params: { type: ReturnType<typeof typeName> }
  representation(type: StoredType): Shown
  versioned(type: StoredType, location?: string): Answer<Shown, { version: number }>
}

const listing = ({ family, name, noun, path, forms, representation }: Made) =>
  list({
    id: `list${name}s`,
    path,
    summary: `List the ${noun}s`,
    source,
    access: 'user',
    item: forms.resource,
    handle: async ({ page }, { caller, types }) =>
      pageAs(await types[family].list(caller, page), representation),
  })

const adding = ({ family, name, noun, path, forms, versioned }: Made) =>
  operation({
    id: `add${name}`,
    method: 'post',
    path,
    summary: `Add ${articled(noun)}`,
    source,
    access: 'modeller',
    body: forms.body,
    limits: LIMITS,
    reply: [201, forms.resource, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ body }, { caller, types, again }) => {
      const added = await types[family].add(caller, body as TypeBody, again)
      return versioned(added, `${path}/${added.type}`)
    },
  })

const showing = ({ family, name, noun, one, params, forms, versioned }: Made) =>
  operation({
    id: `get${name}`,
    method: 'get',
    path: one,
    params,
    query: { version },
    summary: `Show ${articled(noun)}`,
    source,
    access: 'user',
    reply: [200, forms.resource, 'versioned'],
    handle: async ({ params: { type }, query }, { caller, types }) =>
      versioned(await types[family].get(caller, type, query.version)),
  })

const replacing = ({ family, name, noun, one, params, forms, versioned }: Made) =>
  operation({
    id: `update${name}`,
    method: 'put',
    path: one,
    params,
    summary: `Make a new version of ${articled(noun)}`,
    description: 'Data keep the version by which they were checked.',
    source,
    extra: true,
    access: 'modeller',
    body: forms.body,
    limits: LIMITS,
    reply: [200, forms.resource, 'versioned'],
    errors: ['IdMismatch', 'RuleViolated'],
    handle: async ({ params: { type }, body }, { caller, types, expected }) => {
      const sent = body as TypeBody
      requireSameId('type', sent.type, type)
      return versioned(await types[family].replace(caller, type, sent, expected))
    },
  })

const deleting = ({ family, name, noun, one, params }: Made) =>
  operation({
    id: `delete${name}`,
    method: 'delete',
    path: one,
    params,
    summary: `Delete ${articled(noun)}`,
    description:
      'One of which data have been stored is not deleted but retired: PUT it with `retired: true`.',
    source,
    access: 'modeller',
    reply: [204],
    errors: ['Conflict'],
    handle: ({ params: { type } }, { caller, types, expected }) =>
      types[family].remove(caller, type, expected),
  })

function operationsOf(about: Family): Operation[] {
  const { family, noun, forms, example } = about
  const path: Made['path'] = `/data/type/${family}`
  const representation = (type: StoredType): Shown => {
    const { schema } = type as { schema?: string }
    const read = schema === undefined ? type : { ...type, schema: JSON.parse(schema) }
    return fieldsOf(forms.resource.properties, read)
  }
  const made: Made = {
    ...about,
    ...{ path, one: `${path}/{type}`, representation },
    params: { type: typeName(`the ${noun}`, example) },
    versioned: (type, location) =>
      answer(representation(type), { version: type.version, ...(location && { location }) }),
  }
  return [listing, adding, showing, replacing, deleting].map((make) => make(made))
}

const families: readonly Family[] = [
  { family: 'data', name: 'DataType', noun: 'data type', forms: DataType, example: 'steps' },
  { family: 'event', name: 'EventType', noun: 'event type', forms: EventType, example: 'fall' },
  { family: 'device', name: 'DeviceType', noun: 'device type', forms: DeviceType, example: 'watch' },
]

export const types = families.flatMap(operationsOf)
