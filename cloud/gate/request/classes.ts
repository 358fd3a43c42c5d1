import { classDefinitions } from '../../class-definitions.ts'

type Field = NonNullable<(typeof classDefinitions)[number]['fields']>[string]

const fieldsOf = new Map(
  classDefinitions.map(({ className, fields = {} }) => [className, new Map(Object.entries(fields))]),
)

/** The classes that clients reach. */
export const classNames = ['_User', ...[...fieldsOf.keys()].filter((name) => !name.startsWith('_'))]

/** What every class has. */
const ofParse = new Map<string, Field['type']>([
  ['objectId', 'String'],
  ['createdAt', 'Date'],
  ['updatedAt', 'Date'],
  ['ACL', 'Object'],
])

/** What accounts have of Parse's making. */
const ofAccounts = new Map<string, Field['type']>([
  ['username', 'String'],
  ['email', 'String'],
  ['password', 'String'],
  ['emailVerified', 'Boolean'],
])

/** Tells the classes that clients reach. */
export type Serves = (className: unknown) => className is string

/** Accounts, and the classes that are defined; in the open test environment those that clients make. */
export function servedClasses(open: boolean): Serves {
  const isMine = (name: string): boolean =>
    open ? /^[A-Za-z]\w{0,63}$/.test(name) && !(name in Object.prototype) : fieldsOf.has(name)
  return (name): name is string =>
    typeof name === 'string' && (name === '_User' || (!name.startsWith('_') && isMine(name)))
}

/** The type of a property of a class; undefined for what no definition names, and for parts of a property. */
export const typeOfField = (className: string, field: string): Field['type'] | undefined =>
  ofParse.get(field) ??
  (className === '_User' ? ofAccounts.get(field) : undefined) ??
  fieldsOf.get(className)?.get(field)?.type
