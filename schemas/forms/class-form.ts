import { OptionalKind, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { closedObject, dateObjectField, systemFields } from '../common.ts'
import { ClosingStatusEnum } from '../enums.ts'
import { isDateOrDateTime, markedFieldNames, omitMarkedFields } from './fields.ts'

/** Class forms of a record; days and times are Parse Dates. */
export interface ClassForms {
  /** Stored form: defines the Parse fields, and an updated object must fit it. */
  stored: TObject
  /** Body of a creation. */
  create: TObject
  /** Properties that an update may change. */
  update: TObject
}

interface ClassFormsOptions {
  name: string
  description: string
  /** Ids of the parents, with the names of the class family. */
  parentIds: TProperties
  fields: TProperties
  /** Complete examples in the form of the fields; default: the examples of the fields. */
  examples?: readonly object[] | undefined
}

export function createClassForms({
  name,
  description,
  parentIds,
  fields,
  examples,
}: ClassFormsOptions): ClassForms {
  const datedFields = mapMarkedFields(fields, (schema) =>
    isDateOrDateTime(schema) ? toDateObjectField(schema) : schema,
  )
  const follows = markedFieldNames(fields, 'derived', 'internal')
  const storedFields = mapMarkedFields(datedFields, (schema, field) =>
    follows.includes(field) ? Type.Optional(schema) : schema,
  )
  const create = {
    ...parentIds,
    ...omitMarkedFields(datedFields, 'closing', 'status', 'derived', 'internal'),
  }
  const update = {
    ...Type.Partial(Type.Object(omitMarkedFields(datedFields, 'fixed', 'status', 'derived', 'internal')))
      .properties,
    ...Object.fromEntries(
      markedFieldNames(fields, 'status').map((field) => [field, Type.Optional(ClosingStatusEnum)]),
    ),
  }
  const parentExamples = Object.fromEntries(
    Object.entries(parentIds).map(([id, { examples }]) => [id, examples?.[0]]),
  )
  const exampleBodies = (examples ?? []).map((example) => toClassForm(fields, example))
  return {
    stored: closedObject(name, description, { ...systemFields, ...parentIds, ...storedFields }),
    create: Type.Object(create, {
      ...schemaOptions(`${name}Create`, description),
      ...(exampleBodies.length > 0 && {
        examples: exampleBodies.map((one) => ({ ...parentExamples, ...one })),
      }),
    }),
    update: Type.Object(update, {
      ...schemaOptions(`${name}Update`, `Changes of this object: ${description}`),
      ...(exampleBodies.length > 0 && { examples: exampleBodies.map((one) => pickDeclared(update, one)) }),
    }),
  }
}

const pickDeclared = (properties: TProperties, values: object) =>
  Object.fromEntries(Object.entries(values).filter(([name]) => Object.hasOwn(properties, name)))

const schemaOptions = ($id: string, description: string) => ({
  $id,
  description,
  additionalProperties: false,
})

function toDateObjectField(schema: TSchema): TSchema {
  const { description = '', examples } = schema
  const as = { ...dateObjectField(description), ...(examples && { examples: examples.map(toDateObject) }) }
  return OptionalKind in schema ? Type.Optional(as) : as
}

const mapMarkedFields = (fields: TProperties, map: (schema: TSchema, name: string) => TSchema): TProperties =>
  Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => [name, copyMarks(schema, map(schema, name))]),
  )

/** Copies the marks of a field, which apply to every form. */
const copyMarks = (from: TSchema, to: TSchema): TSchema => {
  const marks = Object.getOwnPropertySymbols(from).filter((symbol) => !(symbol in to))
  return Object.assign({ ...to }, ...marks.map((symbol) => ({ [symbol]: from[symbol as never] })))
}

/** Converts a day or time to a Parse Date. */
export const toDateObject = (text: unknown) => ({
  __type: 'Date',
  iso: typeof text === 'string' && text.length === 10 ? `${text}T00:00:00.000Z` : text,
})

/** Converts values to class form; unset values are omitted. */
export const toClassForm = (fields: TProperties, values: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([name, value]) => Object.hasOwn(fields, name) && value !== undefined && value !== null)
      .map(([name, value]) => [
        name,
        isDateOrDateTime(fields[name] as TSchema) ? toDateObject(value) : value,
      ]),
  )

/** Converts values from class form: each valid Parse Date becomes ISO text. */
export const fromClassForm = (fields: TProperties, values: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const field = Object.hasOwn(fields, name) ? fields[name] : undefined
      const iso: unknown =
        field && isDateOrDateTime(field) ? (value as { iso?: unknown } | null)?.iso : undefined
      return [name, typeof iso === 'string' ? iso : value]
    }),
  )

const isTextList = (value: object): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')

/**
 * Converts a stored object of our classes to class form as Parse Server does, in a third of its time. Both leave the
 * permissions as they are stored.
 * @returns undefined if the object has values that are stored in a form of their own
 */
export function storedToClassForm(document: object): Record<string, unknown> | undefined {
  const form: [name: string, value: unknown][] = []
  // Parse Server's documents have no inherited properties, and a list of entries would take as long as the loop.
  for (const name in document) {
    const value = (document as Record<string, unknown>)[name]
    if (name === '_id') form.push(['objectId', value])
    else if (name === '_created_at') form.push(['createdAt', (value as Date).toISOString()])
    else if (name === '_updated_at') form.push(['updatedAt', (value as Date).toISOString()])
    else if (name.startsWith('_') && name !== '_rperm' && name !== '_wperm') return undefined
    else if (typeof value !== 'object' || value === null) form.push([name, value])
    else if (value instanceof Date) form.push([name, { __type: 'Date', iso: value.toISOString() }])
    else if (isTextList(value)) form.push([name, [...value]])
    else return undefined
  }
  // Parse Server copies the object. An object that got many properties one by one is copied ten times as slowly.
  return Object.fromEntries(form)
}

/** Rights in class form, by user id or `role:<name>`. */
export type Acl = Record<string, { read?: boolean; write?: boolean }>

/** Converts the readers and writers of an object to an ACL. */
export function toAcl({ read, write }: { read: readonly string[]; write: readonly string[] }): Acl {
  const acl: Acl = {}
  for (const who of read) acl[who] = { read: true }
  for (const who of write) acl[who] = { ...acl[who], write: true }
  return acl
}

/**
 * An ACL without the ids of other users, as a user gets it: the only one may be the subject of an anonymous care plan.
 */
export const withoutOtherUsers = (acl: Acl, userId: string): Acl =>
  Object.fromEntries(Object.entries(acl).filter(([who]) => who === userId || who.startsWith('role:')))

/** The readers and writers that an ACL names. */
export function fromAcl(acl: Acl): { read: string[]; write: string[] } {
  const namesWith = (right: 'read' | 'write') => Object.keys(acl).filter((who) => acl[who]?.[right])
  return { read: namesWith('read'), write: namesWith('write') }
}
