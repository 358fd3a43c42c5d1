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
import { closed, id } from '../common.ts'
import { nullable } from '../nullable.ts'
import { type Marked, pathName, toPath, type Without, without } from './fields.ts'

type OrNull<P> = {
  [K in keyof P]: P[K] extends TOptional<infer S extends TSchema> ? TUnsafe<Static<S> | null> : P[K]
}

/** As a reply shows them: all are there, null for what is not set. */
export const responseForm = <P extends TProperties>(properties: P) =>
  mapOptional(properties, nullable) as OrNull<P>

type MayBeNull<P extends TProperties> = {
  [K in keyof P]: P[K] extends TOptional<TSchema> ? TOptional<TUnsafe<Static<P[K]> | null>> : P[K]
}

/** As a body gives them: null stands for what is left out. */
export const bodyForm = <P extends TProperties>(properties: P) =>
  mapOptional(properties, (schema) => Type.Optional(nullable(schema))) as MayBeNull<P>

const required = (schema: TSchema): TSchema => {
  const { [OptionalKind]: _, ...rest } = schema as TSchema & { [OptionalKind]?: string }
  return rest as TSchema
}

const mapped = (properties: TProperties, map: (schema: TSchema, name: string) => TSchema): TProperties =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, map(schema, name)]))

const mapOptional = (properties: TProperties, map: (schema: TSchema) => TSchema): TProperties =>
  mapped(properties, (schema) => {
    const plain = required(schema)
    return OptionalKind in schema ? map(plain) : schema
  })

type InResponses<P extends TProperties> = OrNull<Without<P, 'internal'>>
type Given<P extends TProperties> = MayBeNull<Without<P, 'closing' | 'status' | 'derived' | 'internal'>>
type Replaced<P extends TProperties> = {
  [K in keyof Without<P, 'derived' | 'internal'>]: P[K] extends Marked<'fixed' | 'status'>
    ? TOptional<TUnsafe<Static<P[K]> | null>>
    : MayBeNull<P>[K]
} & { id: TOptional<ReturnType<typeof id>> }

/** A record as the path family's clients write and read it. */
export interface PathForms<L, P extends TProperties> {
  /** As a reply shows it: what is not set is null. */
  resource: TObject<
    { id: ReturnType<typeof id>; version: ReturnType<typeof version> } & OrNull<L> & InResponses<P>
  >
  /** What creates it. */
  body: TObject<Given<P>>
  /** What replaces it: what is left out is removed. */
  replacement: TObject<Replaced<P>>
}

const version = () => Type.Integer({ minimum: 1, description: 'Counts the writes; in quotes it is the ETag' })

interface About<L extends TProperties, P extends TProperties> {
  name: string
  /** In a sentence: `care plan`. */
  noun: string
  description: string
  /** Where it is registered. */
  place: L
  /** What a client may write of it and the service adds; of the place, what its paths do not say. */
  fields: P
  example: string
  requiredInPath?: readonly string[]
  /** Whole ones, where those of the fields do not fit together. */
  examples?: readonly object[]
}

export function pathForms<L extends TProperties, P extends TProperties>({
  name,
  noun,
  description,
  place,
  fields: own,
  example,
  requiredInPath = [],
  examples,
}: About<L, P>): PathForms<L, P> {
  const inPath = toPath(own)
  const fields = { ...inPath(own), ...ofAnyType(own) }
  const ownId = { ...id(`the ${noun}`), examples: [example] }
  const inBody: TProperties = mapped(fields, (schema, field) =>
    requiredInPath.includes(field) ? required(schema) : schema,
  )
  const given = without(inBody, 'closing', 'status', 'derived', 'internal')
  const writable = bodyForm(without(inBody, 'derived', 'internal'))
  const resource = {
    ...{ id: ownId, version: version() },
    ...responseForm(place),
    ...responseForm(without(fields, 'internal') as TProperties),
  }
  const replacement = {
    ...writable,
    ...mapped(staying(fields), stays),
    id: Type.Optional({ ...ownId, description: `Id of the ${noun}: the one in the path` }),
  }
  const plan = 'carePlanId' in fields && { carePlanId: fields.carePlanId?.examples?.[0] }
  const exampleBodies = examples && { examples: examples.map((example) => ({ ...inPath(example), ...plan })) }
  const replaces = `A complete ${noun}: what is left out is removed`
  return {
    resource: closed(`${name}Resource`, description, resource),
    body: { ...closed(`${name}Body`, `A new ${noun}`, bodyForm(given)), ...exampleBodies },
    replacement: { ...closed(`${name}Replacement`, replaces, replacement), ...exampleBodies },
  } as unknown as PathForms<L, P>
}

/** The names that several fields share: a value under one may be of any of their types. */
function ofAnyType(own: TProperties): TProperties {
  const names = Object.keys(own).map((name) => pathName(own, name))
  const shared = new Set(names.filter((name, i) => names.indexOf(name) < i))
  return Object.fromEntries(
    [...shared].map((name) => {
      const { description = '', examples } = own[name] as TSchema
      return [name, Type.Optional(Type.Unknown({ description, examples }))]
    }),
  )
}

/** What a replacement need not repeat. */
function staying(fields: TProperties): TProperties {
  const free = without(fields, 'fixed', 'status')
  return Object.fromEntries(Object.entries(fields).filter(([field]) => !(field in free)))
}

const stays = (schema: TSchema): TSchema =>
  Type.Optional(nullable({ ...schema, description: `${schema.description}. Left out, it stays as it is` }))
