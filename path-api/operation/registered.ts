import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import type { ClassKind, PlainOperation } from '../../records/registered/kind.ts'
import type { Key, Range } from '../../records/registered/registered.ts'
import { brokenBeside } from '../../records/registered/rules.ts'
import type { Page, PageOf } from '../../records/store/reading/listing.ts'
import type { PastChange } from '../../records/store/store.ts'
import { changeOf, Restoration } from '../../schemas/change.ts'
import { articled, id } from '../../schemas/common.ts'
import type { ErrorName } from '../../schemas/errors.ts'
import { namesByPath, pathName } from '../../schemas/forms/fields.ts'
import { type Answer, answer } from '../answer/answer.ts'
import { taggedWith } from '../answer/etag.ts'
import { fieldsOf } from '../answer/representation.ts'
import type { Context } from './context.ts'
import { list, pageAs } from './list.ts'
import { type About as AboutOperation, type Operation, operation } from './operation.ts'
import { recordId, requireSameId } from './parameters.ts'
import type { PlainRecords, SavedRecord, Services } from './services.ts'

interface About {
  /** The clause of the specification that asks for them. */
  source: string
  /** Of these the specification says nothing. History and restoring never are in it. */
  extra?: readonly PlainOperation[]
  /** Those that the kind has in its own way. */
  without?: readonly PlainOperation[]
  /** The name of the path's parameter for one record. */
  parameter: string
  descriptions?: Partial<Record<PlainOperation, string>>
  /** Of a kind that is not named by its id: what names it, and how it is found. */
  named?: { schema: TSchema; keyOf(params: object, services: Services): Promise<Key> }
}

type Representation = Record<string, unknown>

interface Paths {
  all: string
  one: string
  /** The schema of the parameter that names one record. */
  params: TProperties
}

const inPath = ({ one, params }: Paths, more = '') => ({ path: `${one}${more}`, params })

/** A kind's operations in the making: where they are, and how a record is found and represented. */
interface Made {
  kind: ClassKind
  /** Below an EHR, and of one record there. */
  paths: Paths
  /** In a sentence: `an event`. */
  one: string
  access: { read: 'ehr:read' | 'plan:read'; write: 'ehr:write' | 'plan:write' }
  records(services: Services): PlainRecords
  keyOf(params: object, services: Services): Key | Promise<Key>
  about(what: PlainOperation): { source: string; description?: string; extra?: true }
  represented(record: object): Representation
  versioned(record: SavedRecord, location?: string): Answer<Representation, { version: number }>
}

/**
 * The operations of a kind below `/…/{ehrId}/…`: list, add, get, replace, delete, history and restore.
 *
 *     registered(Event, '/med/{ehrId}/event', { source, parameter: 'eventId' })
 */
export function registered(kind: ClassKind, path: string, about: About): Operation[] {
  const { source, parameter, descriptions = {}, without = [], extra = [], named } = about
  const ofEhr = kind.registeredIn === 'EHR'
  const represent = represented(kind, path)
  const made: Made = {
    kind,
    paths: {
      all: path,
      one: `${path}/{${parameter}}`,
      params: { [parameter]: named?.schema ?? recordId(`Id of the ${kind.noun}`, kind.example) },
    },
    one: articled(kind.noun),
    access: { read: ofEhr ? 'ehr:read' : 'plan:read', write: ofEhr ? 'ehr:write' : 'plan:write' },
    records: ({ recordsOf }) => recordsOf(kind),
    keyOf: named?.keyOf ?? ((params) => ({ id: textIn(params, parameter), ehrId: textIn(params, 'ehrId') })),
    about: (what) => ({
      source,
      ...(descriptions[what] !== undefined && { description: descriptions[what] }),
      ...((extra.includes(what) || BEYOND.includes(what)) && { extra: true }),
    }),
    represented: represent,
    versioned: (record, location) => answer(represent(record), headOf(record, location)),
  }
  return (Object.keys(plain) as PlainOperation[])
    .filter((what) => !without.includes(what))
    .map((what) => ({ ...plain[what](made), kind: kind.name }))
}

/** Where an answer leads to; shown where the kind's resource has them. */
function linksOf({ id, ehrId, carePlanId }: Representation, path: string) {
  const collection = path.replace('{ehrId}', String(ehrId))
  const self = `${collection}/${id}`
  const plan = carePlanId === undefined ? {} : { carePlan: `/ehr/${ehrId}/careplan/${carePlanId}` }
  return { self, collection, history: `${self}/history`, ...plan }
}

/** What is included of other records is part of the ETag. */
const headOf = ({ version, others }: SavedRecord, location: string | undefined) => ({
  version,
  ...(location !== undefined && { location }),
  ...(others && { headers: { etag: taggedWith(version, others) } }),
})

/** A record as clients see it; its fields go by further names in some kinds. */
export function represented({ fields, resource }: Pick<ClassKind, 'fields' | 'resource'>, path: string) {
  const { properties } = resource
  const names = namesByPath(fields)
  return (record: object): Representation => {
    const { id = null, updatedAt = null } = record as Representation
    const representation: Representation = fieldsOf(properties, record, names)
    if ('compositionId' in properties) representation.compositionId ??= id
    if ('lastUpdated' in properties) representation.lastUpdated = updatedAt
    if ('links' in properties) representation.links = linksOf(record as Representation, path)
    return representation
  }
}

/** What an operation on the versions of a record says, wherever the record is registered. */
interface Versions
  extends Pick<
    AboutOperation<'ehr:read' | 'ehr:write' | 'plan:read' | 'plan:write'>,
    'id' | 'source' | 'access'
  > {
  path: string
  params?: TProperties
  description?: string
  extra?: true
  /** In a sentence: `an event`. */
  one: string
}

interface Changes extends Versions {
  item: TObject
  read(params: object, page: PageOf, context: Context<'plan:read'>): Promise<Page<PastChange<object>>>
  /** Of the names of what was changed, those that clients know, as they know them. */
  namesForClients(changed: readonly string[]): string[]
  represented(former: object): Representation
}

/** The history of a record. */
export const listOfChanges = ({ one, read, namesForClients, represented, ...about }: Changes): Operation =>
  list({
    description: 'Who made which version and when, with what was there before; newest first.',
    ...about,
    summary: `List the changes of ${one}`,
    handle: async ({ params, page }, context) =>
      pageAs(await read(params, page, context), ({ before, changed, announced = false, ...change }) => ({
        ...{ ...change, announced, changed: namesForClients(changed) },
        before: before && represented(before),
      })),
  })

interface WayBack extends Versions {
  reply: TObject
  errors?: readonly ErrorName[]
  restore(
    params: object,
    version: number,
    context: Context<'plan:write'>,
  ): Promise<Answer<Representation, { version: number }>>
}

/** Restores a former version of a record. */
export const restoration = ({ one, reply, errors = [], restore, ...about }: WayBack): Operation =>
  operation({
    ...about,
    method: 'post',
    summary: `Restore a former version of ${one}, as a new version`,
    body: Restoration,
    reply: [200, reply, 'versioned'],
    errors: ['RuleViolated', 'PreconditionFailed', ...errors],
    handle: ({ params, body: { version } }, context) => restore(params, version, context),
  })

/** Of these no clause of the specification speaks. */
const BEYOND: readonly PlainOperation[] = ['history', 'restore']

export const plural = (noun: string): string =>
  noun.endsWith('sis') ? `${noun.slice(0, -2)}es` : `${noun}${/[sx]$/.test(noun) ? 'es' : 's'}`

const textIn = (params: object, name: string): string => (params as Record<string, string>)[name] ?? ''

const plain: Record<PlainOperation, (made: Made) => Operation> = {
  list: ({ kind, paths, records, about, represented }) =>
    list({
      ...about('list'),
      id: `list${plural(kind.name)}`,
      path: paths.all,
      summary: `List the ${plural(kind.noun)} of an EHR`,
      access: 'ehr:read',
      query: rangeOf(kind),
      order: kind.lists.ofEhr?.order ?? 'desc',
      item: kind.resource,
      handle: async ({ params, query, page }, context) => {
        const found = await records(context).list(
          context.caller,
          textIn(params, 'ehrId'),
          query as Range,
          page,
        )
        return pageAs(found, represented)
      },
    }),
  add: ({ kind, paths, one, access, records, about, versioned }) =>
    operation({
      ...about('add'),
      id: `add${kind.name}`,
      method: 'post',
      path: paths.all,
      summary: `Add ${one}`,
      access: access.write,
      body: kind.body,
      brokenBeside: (body, bySchema) => brokenBeside(kind, body, bySchema),
      reply: [201, kind.resource, 'versioned'],
      errors: ['RuleViolated', 'Conflict'],
      handle: async ({ params, body }, context) => {
        const ehrId = textIn(params, 'ehrId')
        const record = await records(context).create(context.caller, { ehrId }, body, context.newId())
        const location = `${paths.all.replace('{ehrId}', ehrId)}/${record.id}`
        return versioned(record, location)
      },
    }),
  get: ({ kind, paths, one, access, records, keyOf, about, versioned }) =>
    operation({
      ...about('get'),
      id: `get${kind.name}`,
      method: 'get',
      ...inPath(paths),
      summary: `Show ${one}`,
      access: access.read,
      reply: [200, kind.resource, 'versioned'],
      handle: async ({ params }, context) =>
        versioned(await records(context).get(context.caller, await keyOf(params, context))),
    }),
  replace: ({ kind, paths, one, access, records, keyOf, about, versioned }) =>
    operation({
      ...about('replace'),
      id: `update${kind.name}`,
      method: 'put',
      ...inPath(paths),
      summary: `Replace ${one}`,
      access: access.write,
      body: kind.replacement,
      brokenBeside: (body, bySchema) => brokenBeside(kind, body, bySchema),
      reply: [200, kind.resource, 'versioned'],
      errors: ['IdMismatch', 'RuleViolated', ...conflict(kind)],
      handle: async ({ params, body }, context) => {
        const { id, ...rest } = body as Representation
        const key = await keyOf(params, context)
        if (id !== undefined) requireSameId('id', String(id), key.id)
        const { caller, expected } = context
        return versioned(await records(context).replace(caller, key, rest, { expected }))
      },
    }),
  delete: ({ kind, paths, one, access, records, keyOf, about }) =>
    operation({
      ...about('delete'),
      id: `delete${kind.name}`,
      method: 'delete',
      ...inPath(paths),
      summary: `Delete ${one}`,
      access: access.write,
      reply: [204],
      errors: kind.refuseChange ? ['Conflict'] : [],
      handle: async ({ params }, context) => {
        const { caller, expected } = context
        await records(context).remove(caller, await keyOf(params, context), { expected })
      },
    }),
  history: ({ kind, paths, one, access, records, keyOf, about, represented }) =>
    listOfChanges({
      ...about('history'),
      id: `list${kind.name}Changes`,
      ...inPath(paths, '/history'),
      one,
      access: access.read,
      item: changeOf(kind.name, kind.noun, kind.resource),
      read: async (params, page, context) =>
        records(context).history(context.caller, await keyOf(params, context), page),
      namesForClients: (changed) =>
        changed.map((name) => pathName(kind.fields, name)).filter((name) => name in kind.resource.properties),
      represented,
    }),
  restore: ({ kind, paths, one, access, records, keyOf, about, versioned }) =>
    restoration({
      ...about('restore'),
      id: `restore${kind.name}`,
      ...inPath(paths, '/restore'),
      one,
      access: access.write,
      reply: kind.resource,
      errors: conflict(kind),
      restore: async (params, version, context) => {
        const { caller, expected } = context
        return versioned(
          await records(context).restore(caller, await keyOf(params, context), version, { expected }),
        )
      },
    }),
}

/** What a change may make the same as another one, and what may be changed with something else alone. */
const conflict = ({ known, refuseChange }: ClassKind) =>
  known || refuseChange ? (['Conflict'] as const) : []

/** By what the plain list is narrowed. */
export function rangeOf({ registeredIn, lists, fields, filters = {} }: ClassKind) {
  const sorted = lists.ofEhr?.sort ?? 'createdAt'
  const format = fields[sorted]?.format ?? 'date-time'
  const bound = (description: string) => Type.Optional(Type.String({ format, description }))
  return {
    from: bound(`Only those whose ${sorted} is this or later`),
    to: bound(`Only those whose ${sorted} is earlier`),
    ...(registeredIn !== 'EHR' && {
      carePlanId: Type.Optional(id('the care plan that they are registered in')),
    }),
    ...Object.fromEntries(Object.entries(filters).map(([name, { schema }]) => [name, Type.Optional(schema)])),
  }
}
