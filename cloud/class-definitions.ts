import type { TObject, TSchema } from '@sinclair/typebox'
import { CLASS_NAMES, classKindOf, classKinds } from '../records/kinds.ts'
import { UserFields } from '../schemas/accounts/user.ts'
import { SYSTEM_FIELD_NAMES } from '../schemas/common.ts'

interface ParseField {
  type: 'String' | 'Number' | 'Boolean' | 'Date' | 'Array' | 'Object'
  defaultValue?: unknown
}

type ClassOperation = 'find' | 'get' | 'count' | 'create' | 'update' | 'delete'

interface ClassDefinition {
  className: string
  fields?: Record<string, ParseField>
  /** Lists every operation, because Parse makes an unlisted one public. */
  classLevelPermissions: Record<ClassOperation | 'addField', Record<string, boolean>> & {
    protectedFields: Record<string, string[]>
  }
}

const SCALAR_TYPES: Record<string, ParseField['type']> = {
  string: 'String',
  number: 'Number',
  integer: 'Number',
  boolean: 'Boolean',
  array: 'Array',
}

function toParseField(schema: TSchema): ParseField {
  const isDate = schema.properties?.__type !== undefined
  const type = isDate ? 'Date' : (SCALAR_TYPES[schema.type] ?? 'Object')
  return { type, ...(schema.default !== undefined && { defaultValue: schema.default }) }
}

/** Parse fields of a schema. Parse itself adds objectId, createdAt and updatedAt. */
const toParseFields = (schema: TObject): Record<string, ParseField> =>
  Object.fromEntries(
    Object.entries(schema.properties)
      .filter(([name]) => name === 'version' || !(SYSTEM_FIELD_NAMES as string[]).includes(name))
      .map(([name, property]) => [name, toParseField(property)]),
  )

const AUTHENTICATED_USERS = { requiresAuthentication: true }

const createPermissions = (permissions: Partial<Record<ClassOperation, Record<string, boolean>>>) => ({
  find: {},
  get: {},
  count: {},
  create: {},
  update: {},
  delete: {},
  addField: {},
  protectedFields: { '*': [] },
  ...permissions,
})

/** Users with a session may call every operation; the permissions of each object decide about the result. */
const createUserPermissions = () =>
  createPermissions({
    find: AUTHENTICATED_USERS,
    get: AUTHENTICATED_USERS,
    count: AUTHENTICATED_USERS,
    create: AUTHENTICATED_USERS,
    update: AUTHENTICATED_USERS,
    delete: AUTHENTICATED_USERS,
  })

/** Like createUserPermissions, for classes that only the service writes. */
const createReaderPermissions = () =>
  createPermissions({ find: AUTHENTICATED_USERS, get: AUTHENTICATED_USERS, count: AUTHENTICATED_USERS })

/** All classes with their permissions; classes of health data follow from their schemas. */
export const classDefinitions: ClassDefinition[] = [
  ...CLASS_NAMES.map((className) => ({
    className,
    fields: toParseFields(classKinds[className].stored),
    classLevelPermissions: classKindOf(className).readOnly
      ? createReaderPermissions()
      : createUserPermissions(),
  })),
  {
    className: '_User',
    fields: toParseFields(UserFields),
    classLevelPermissions: { ...createUserPermissions(), create: { '*': true } },
  },
  // Only the service reads and writes these classes.
  ...['_Session', '_Role', '_Installation', '_Product'].map((className) => ({
    className,
    classLevelPermissions: createPermissions({}),
  })),
]
