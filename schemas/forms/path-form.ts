import {
  OptionalKind,
  type Static,
  type TObject,
  type TOptional,
  type TProperties,
  type TSchema,
  type TUnsafe,
  Type,
} from '@sinclair/typebox'
import { closedObject, idField } from '../common.ts'
import {
  createPathNamer,
  type FieldsWithoutMarks,
  type MarkedField,
  omitMarkedFields,
  pathNameOf,
} from './fields.ts'
import { nullable } from './nullable.ts'

type NullableFields<P> = {
  [K in keyof P]: P[K] extends TOptional<infer S extends TSchema> ? TUnsafe<Static<S> | null> : P[K]
}

/** Reply form: all properties are present, unset ones are null. */
export const responseForm = <P extends TProperties>(properties: P) =>
  mapOptionalSchemas(properties, nullable) as NullableFields<P>

type OptionalNullableFields<P extends TProperties> = {
  [K in keyof P]: P[K] extends TOptional<TSchema> ? TOptional<TUnsafe<Static<P[K]> | null>> : P[K]
}

/** Body form: optional properties may be omitted or null. */
export const bodyForm = <P extends TProperties>(properties: P) =>
  mapOptionalSchemas(properties, (schema) => Type.Optional(nullable(schema))) as OptionalNullableFields<P>

const withoutOptional = (schema: TSchema): TSchema => {
  const { [OptionalKind]: _, ...rest } = schema as TSchema & { [OptionalKind]?: string }
  return rest as TSchema
}

const mapSchemas = (properties: TProperties, map: (schema: TSchema, name: string) => TSchema): TProperties =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, map(schema, name)]))

const mapOptionalSchemas = (properties: TProperties, map: (schema: TSchema) => TSchema): TProperties =>
  mapSchemas(properties, (schema) => {
    const plain = withoutOptional(schema)
    return OptionalKind in schema ? map(plain) : schema
  })

type ResponseFields<P extends TProperties> = NullableFields<FieldsWithoutMarks<P, 'internal'>>
type CreationFields<P extends TProperties> = OptionalNullableFields<
  FieldsWithoutMarks<P, 'closing' | 'status' | 'derived' | 'internal'>
>
type ReplacementFields<P extends TProperties> = {
  [K in keyof FieldsWithoutMarks<P, 'derived' | 'internal'>]: P[K] extends MarkedField<'fixed' | 'status'>
    ? TOptional<TUnsafe<Static<P[K]> | null>>
    : OptionalNullableFields<P>[K]
} & { id: TOptional<ReturnType<typeof idField>> }

/** Path forms of a record. */
export interface PathForms<L, P extends TProperties> {
  /** Reply form: unset fields are null. */
  resource: TObject<
    { id: ReturnType<typeof idField>; version: ReturnType<typeof resourceVersionField> } & NullableFields<L> &
      ResponseFields<P>
  >
  /** Body of a creation. */
  body: TObject<CreationFields<P>>
  /** Body of a replacement: omitted fields are removed. */
  replacement: TObject<ReplacementFields<P>>
}

const resourceVersionField = () =>
  Type.Integer({
    minimum: 1,
    description: 'Version number, incremented by every write; the ETag is this number in quotes',
  })

interface PathFormsOptions<L extends TProperties, P extends TProperties> {
  name: string
  /** For sentences: `care plan`. */
  noun: string
  description: string
  /** Ids of the parents. */
  parentIds: L
  /** Fields written by clients or the service, and parent ids that the path does not contain. */
  fields: P
  example: string
  requiredInPath?: readonly string[]
  /** Complete examples; needed if the examples of the fields do not fit together. */
  examples?: readonly object[]
}

export function createPathForms<L extends TProperties, P extends TProperties>({
  name,
  noun,
  description,
  parentIds,
  fields: ownFields,
  example,
  requiredInPath = [],
  examples,
}: PathFormsOptions<L, P>): PathForms<L, P> {
  const inPath = createPathNamer(ownFields)
  const fields = { ...inPath(ownFields), ...mergeSharedPathNames(ownFields) }
  const ownId = { ...idField(`the ${noun}`), examples: [example] }
  const requireInPath = (form: (schema: TSchema) => TSchema): TProperties =>
    mapSchemas(fields, (schema, field) =>
      requiredInPath.includes(field) ? form(withoutOptional(schema)) : schema,
    )
  const inBody = requireInPath((schema) => schema)
  const clientFields = omitMarkedFields(inBody, 'closing', 'status', 'derived', 'internal')
  // The class family may have stored no value, which GET then shows as null and PUT takes.
  const writable = bodyForm(omitMarkedFields(requireInPath(nullable), 'derived', 'internal'))
  const resource = {
    id: ownId,
    version: resourceVersionField(),
    ...responseForm(parentIds),
    ...responseForm(omitMarkedFields(fields, 'internal') as TProperties),
  }
  const replacement = {
    ...writable,
    ...mapSchemas(toReplacementFields(fields), keepWhenLeftOut),
    id: Type.Optional({ ...ownId, description: `Id of the ${noun}, as in the path` }),
  }
  const plan = 'carePlanId' in fields && { carePlanId: fields.carePlanId?.examples?.[0] }
  const exampleBodies = examples && { examples: examples.map((example) => ({ ...inPath(example), ...plan })) }
  const replaces = `A complete ${noun}; omitted optional fields are removed`
  return {
    resource: closedObject(`${name}Resource`, description, resource),
    body: { ...closedObject(`${name}Body`, `A new ${noun}`, bodyForm(clientFields)), ...exampleBodies },
    replacement: { ...closedObject(`${name}Replacement`, replaces, replacement), ...exampleBodies },
  } as unknown as PathForms<L, P>
}

/** Merges fields that share a path name: its value may have any of their types. */
function mergeSharedPathNames(fields: TProperties): TProperties {
  const names = Object.keys(fields).map((name) => pathNameOf(fields, name))
  const sharedNames = new Set(names.filter((name, i) => names.indexOf(name) < i))
  return Object.fromEntries(
    [...sharedNames].map((name) => {
      const { description = '', examples } = fields[name] as TSchema
      return [name, Type.Optional(Type.Unknown({ description, examples }))]
    }),
  )
}

/** Fields that a replacement may omit without removing them. */
function toReplacementFields(fields: TProperties): TProperties {
  const free = omitMarkedFields(fields, 'fixed', 'status')
  return Object.fromEntries(Object.entries(fields).filter(([field]) => !(field in free)))
}

const keepWhenLeftOut = (schema: TSchema): TSchema =>
  Type.Optional(nullable({ ...schema, description: `${schema.description}. If omitted, it stays unchanged` }))
