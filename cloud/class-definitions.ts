import type { TObject, TSchema } from '@sinclair/typebox'
import { CLASS_NAMES, classes, classKind } from '../records/kinds.ts'
import { KEPT } from '../schemas/common.ts'
import { UserFields } from '../schemas/user.ts'

interface Field {
  type: 'String' | 'Number' | 'Boolean' | 'Date' | 'Array' | 'Object'
  defaultValue?: unknown
}

type Operation = 'find' | 'get' | 'count' | 'create' | 'update' | 'delete'

interface ClassDefinition {
  className: string
  fields?: Record<string, Field>
  /** Every operation is listed: Parse makes public what is left out. */
  classLevelPermissions: Record<Operation | 'addField', Record<string, boolean>> & {
    protectedFields: Record<string, string[]>
  }
}

const SCALARS: Record<string, Field['type']> = {
  string: 'String',
  number: 'Number',
  integer: 'Number',
  boolean: 'Boolean',
  array: 'Array',
}

function fieldOf(schema: TSchema): Field {
  const isDate = schema.properties?.__type !== undefined
  const type = isDate ? 'Date' : (SCALARS[schema.type] ?? 'Object')
  return { type, ...(schema.default !== undefined && { defaultValue: schema.default }) }
}

/** The Parse fields of a schema; objectId, createdAt and updatedAt are Parse's own. */
const fieldsOf = (schema: TObject): Record<string, Field> =>
  Object.fromEntries(
    Object.entries(schema.properties)
      .filter(([name]) => name === 'version' || !(KEPT as string[]).includes(name))
      .map(([name, property]) => [name, fieldOf(property)]),
  )

const users = { requiresAuthentication: true }

const permissions = (allowed: Partial<Record<Operation, Record<string, boolean>>>) => ({
  find: {},
  get: {},
  count: {},
  create: {},
  update: {},
  delete: {},
  addField: {},
  protectedFields: { '*': [] },
  ...allowed,
})

/** Users with a session may ask for anything; the permissions of each object decide what they get. */
const forUsers = () =>
  permissions({ find: users, get: users, count: users, create: users, update: users, delete: users })

/** The same, of what only the service writes. */
const forReaders = () => permissions({ find: users, get: users, count: users })

/** Every class of the database, with who may do what to it; the classes of health data come from their schemas. */
export const classDefinitions: ClassDefinition[] = [
  ...CLASS_NAMES.map((className) => ({
    className,
    fields: fieldsOf(classes[className].stored),
    classLevelPermissions: classKind(className).readOnly ? forReaders() : forUsers(),
  })),
  {
    className: '_User',
    fields: fieldsOf(UserFields),
    classLevelPermissions: { ...forUsers(), create: { '*': true } },
  },
  // Nothing but the service itself reads or writes these.
  ...['_Session', '_Role', '_Installation', '_Product'].map((className) => ({
    className,
    classLevelPermissions: permissions({}),
  })),
]
