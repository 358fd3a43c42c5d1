import { classDefinitions } from '../../class-definitions.ts'

type ParseField = NonNullable<(typeof classDefinitions)[number]['fields']>[string]

const FIELDS_BY_CLASS = new Map(
  classDefinitions.map(({ className, fields = {} }) => [className, new Map(Object.entries(fields))]),
)

/** Classes that clients can use. */
export const SERVED_CLASS_NAMES = [
  '_User',
  ...[...FIELDS_BY_CLASS.keys()].filter((name) => !name.startsWith('_')),
]

/** Fields of every class. */
const PARSE_FIELDS = new Map<string, ParseField['type']>([
  ['objectId', 'String'],
  ['createdAt', 'Date'],
  ['updatedAt', 'Date'],
  ['ACL', 'Object'],
])

/** Parse's own fields of accounts. */
const ACCOUNT_FIELDS = new Map<string, ParseField['type']>([
  ['username', 'String'],
  ['email', 'String'],
  ['password', 'String'],
  ['emailVerified', 'Boolean'],
])

/** Type guard for classes that clients can use. */
export type IsServedClass = (className: unknown) => className is string

/**
 * Accepts accounts and the defined classes; in the open test environment also classes that clients create.
 */
export function createServedClassCheck(open: boolean): IsServedClass {
  const isMine = (name: string): boolean =>
    open ? /^[A-Za-z]\w{0,63}$/.test(name) && !(name in Object.prototype) : FIELDS_BY_CLASS.has(name)
  return (name): name is string =>
    typeof name === 'string' && (name === '_User' || (!name.startsWith('_') && isMine(name)))
}

/** Type of a property; undefined for unknown properties and for parts of a property. */
export const fieldTypeOf = (className: string, field: string): ParseField['type'] | undefined =>
  PARSE_FIELDS.get(field) ??
  (className === '_User' ? ACCOUNT_FIELDS.get(field) : undefined) ??
  FIELDS_BY_CLASS.get(className)?.get(field)?.type
