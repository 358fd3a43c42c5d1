import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import type { EhrRecordKey, RecordFilter } from '../../records/ehr-records/ehr-records.ts'
import type { ClassKind, PlainOperation } from '../../records/ehr-records/kind.ts'
import { ruleViolationsBesideSchema } from '../../records/ehr-records/validation/record-validation.ts'
import type { Page, PageRequest } from '../../records/store/reading/pages.ts'
import type { RecordHistoryEntry } from '../../records/store/store.ts'
import { defineChange, Restoration } from '../../schemas/change.ts'
import { idField, withArticle } from '../../schemas/common.ts'
import type { ErrorName } from '../../schemas/errors.ts'
import { fieldNamesByPathName, markedFieldNames, pathNameOf } from '../../schemas/forms/fields.ts'
import { pickClientFields } from '../reply/client-fields.ts'
import { etagWithOthers } from '../reply/etag.ts'
import { type ReplyWithHead, replyWith } from '../reply/reply.ts'
import type { Context } from './context.ts'
import { defineListOperation, mapPage } from './list-operation.ts'
import { type OperationDescription as AboutOperation, defineOperation, type Operation } from './operation.ts'
import { createRecordIdSchema, requireSameId } from './path-parameters.ts'
import type { PlainRecords, RepresentedRecord, Services } from './services.ts'

interface RecordOperationsOptions {
  /** Clause of the specification that requires the operations. */
  source: string
  /** Operations that the specification does not list; history and restore always belong to them. */
  extra?: readonly PlainOperation[]
  /** Operations that the kind defines itself. */
  without?: readonly PlainOperation[]
  /** Name of the path parameter for a single record. */
  parameter: string
  descriptions?: Partial<Record<PlainOperation, string>>
  /** For kinds that are addressed by another value than the id: its schema, and the lookup. */
  alternateKey?: { schema: TSchema; keyOf(params: object, services: Services): Promise<EhrRecordKey> }
}

type Representation = Record<string, unknown>

interface RecordPaths {
  all: string
  one: string
  /** Schema of the parameter for a single record. */
  params: TProperties
}

const singleRecordPath = ({ one, params }: RecordPaths, more = '') => ({ path: `${one}${more}`, params })

/** Shared inputs for creating the operations of a kind: paths, lookup and representation. */
interface RecordOperationsContext {
  kind: ClassKind
  /** Paths of the list and of a single record. */
  paths: RecordPaths
  /** For sentences: `an event`. */
  one: string
  access: { read: 'ehr:read' | 'plan:read'; write: 'ehr:write' | 'plan:write' }
  recordStoreOf(services: Services): PlainRecords
  keyOf(params: object, services: Services): EhrRecordKey | Promise<EhrRecordKey>
  describe(operation: PlainOperation): { source: string; description?: string; extra?: true }
  represent(record: object): Representation
  replyWithVersion(
    record: RepresentedRecord,
    location?: string,
  ): ReplyWithHead<Representation, { version: number }>
}

/**
 * Defines the operations of a kind below `/…/{ehrId}/…`: list, add, get, replace, delete, history and
 * restore.
 *
 *     defineRecordOperations(Event, '/med/{ehrId}/event', { source, parameter: 'eventId' })
 */
export function defineRecordOperations(
  kind: ClassKind,
  path: string,
  options: RecordOperationsOptions,
): Operation[] {
  const { source, parameter, descriptions = {}, without = [], extra = [], alternateKey } = options
  const ofEhr = kind.parentType === 'EHR'
  const represent = createRepresent(kind, path)
  const operationsContext: RecordOperationsContext = {
    kind,
    paths: {
      all: path,
      one: `${path}/{${parameter}}`,
      params: {
        [parameter]: alternateKey?.schema ?? createRecordIdSchema(`Id of the ${kind.noun}`, kind.example),
      },
    },
    one: withArticle(kind.noun),
    access: { read: ofEhr ? 'ehr:read' : 'plan:read', write: ofEhr ? 'ehr:write' : 'plan:write' },
    recordStoreOf: ({ recordsOf }) => recordsOf(kind),
    keyOf:
      alternateKey?.keyOf ??
      ((params) => ({ id: textParameterOf(params, parameter), ehrId: textParameterOf(params, 'ehrId') })),
    describe: (operation) => ({
      source,
      ...(descriptions[operation] !== undefined && { description: descriptions[operation] }),
      ...((extra.includes(operation) || OPERATIONS_BEYOND_SPECIFICATION.includes(operation)) && {
        extra: true,
      }),
    }),
    represent,
    replyWithVersion: (record, location) => replyWith(represent(record), replyHeadOf(record, location)),
  }
  return (Object.keys(PLAIN_OPERATIONS) as PlainOperation[])
    .filter((operation) => !without.includes(operation))
    .map((operation) => ({ ...PLAIN_OPERATIONS[operation](operationsContext), kind: kind.name }))
}

/** Links of a representation; shown if the resource of the kind has them. */
function representationLinks({ id, ehrId, carePlanId }: Representation, path: string) {
  const collection = path.replace('{ehrId}', String(ehrId))
  const self = `${collection}/${id}`
  const plan = carePlanId === undefined ? {} : { carePlan: `/ehr/${ehrId}/careplan/${carePlanId}` }
  return { self, collection, history: `${self}/history`, ...plan }
}

/** Included records are part of the ETag. */
const replyHeadOf = ({ version, others }: RepresentedRecord, location: string | undefined) => ({
  version,
  ...(location !== undefined && { location }),
  ...(others && { headers: { etag: etagWithOthers(version, others) } }),
})

/** Creates the function that converts records to representations, with the path names of the fields. */
export function createRepresent({ fields, resource }: Pick<ClassKind, 'fields' | 'resource'>, path: string) {
  const { properties } = resource
  const names = fieldNamesByPathName(fields)
  return (record: object): Representation => {
    const { id = null, updatedAt = null } = record as Representation
    const representation: Representation = pickClientFields(properties, record, names)
    if ('compositionId' in properties) representation.compositionId ??= id
    if ('lastUpdated' in properties) representation.lastUpdated = updatedAt
    if ('links' in properties) representation.links = representationLinks(record as Representation, path)
    return representation
  }
}

/** Options of an operation on versions, independent of the parent of the record. */
interface VersionOperationOptions
  extends Pick<
    AboutOperation<'ehr:read' | 'ehr:write' | 'plan:read' | 'plan:write'>,
    'id' | 'source' | 'access'
  > {
  path: string
  params?: TProperties
  description?: string
  extra?: true
  /** For sentences: `an event`. */
  one: string
}

interface HistoryOptions extends VersionOperationOptions {
  item: TObject
  read(
    params: object,
    page: PageRequest,
    context: Context<'plan:read'>,
  ): Promise<Page<RecordHistoryEntry<object>>>
  /** Keeps the names that clients know and converts them to path names. */
  namesForClients(names: readonly string[]): string[]
  represent(former: object): Representation
}

export const defineHistoryOperation = ({
  one,
  read,
  namesForClients,
  represent,
  ...definition
}: HistoryOptions): Operation =>
  defineListOperation({
    description: 'Returns the versions with author, time and former content, newest first.',
    ...definition,
    summary: `List the changes of ${one}`,
    handle: async ({ params, page }, context) => {
      const { items, ...rest } = await read(params, page, context)
      const { caller, profiles } = context
      const itemsWithAuthors = await profiles.persons.nameAuthors(
        caller,
        textParameterOf(params, 'ehrId'),
        items,
      )
      return mapPage({ ...rest, items: itemsWithAuthors }, ({ before, changed, ...change }) => ({
        ...change,
        changed: namesForClients(changed),
        before: before && represent(before),
      }))
    },
  })

interface RestoreOptions extends VersionOperationOptions {
  reply: TObject
  errors?: readonly ErrorName[]
  restore(
    params: object,
    version: number,
    context: Context<'plan:write'>,
  ): Promise<ReplyWithHead<Representation, { version: number | string }>>
}

export const defineRestoreOperation = ({
  one,
  reply,
  errors = [],
  restore,
  ...definition
}: RestoreOptions): Operation =>
  defineOperation({
    ...definition,
    method: 'post',
    summary: `Restore a former version of ${one}, as a new version`,
    body: Restoration,
    reply: [200, reply, 'versioned'],
    errors: ['RuleViolated', 'PreconditionFailed', ...errors],
    handle: ({ params, body: { version } }, context) => restore(params, version, context),
  })

/** The specification does not list these operations. */
const OPERATIONS_BEYOND_SPECIFICATION: readonly PlainOperation[] = ['history', 'restore']

export const pluralize = (noun: string): string =>
  noun.endsWith('sis') ? `${noun.slice(0, -2)}es` : `${noun}${/[sx]$/.test(noun) ? 'es' : 's'}`

const textParameterOf = (params: object, name: string): string =>
  (params as Record<string, string>)[name] ?? ''

const PLAIN_OPERATIONS: Record<PlainOperation, (context: RecordOperationsContext) => Operation> = {
  list: ({ kind, paths, recordStoreOf, describe, represent }) =>
    defineListOperation({
      ...describe('list'),
      id: `list${pluralize(kind.name)}`,
      path: paths.all,
      summary: `List the ${pluralize(kind.noun)} of an EHR`,
      access: 'ehr:read',
      query: createRangeParameters(kind),
      order: kind.lists.ofEhr?.order ?? 'desc',
      item: kind.resource,
      handle: async ({ params, query, page }, context) => {
        const list = await recordStoreOf(context).list(
          context.caller,
          textParameterOf(params, 'ehrId'),
          query as RecordFilter,
          page,
        )
        return mapPage(list, represent)
      },
    }),
  add: ({ kind, paths, one, access, recordStoreOf, describe, replyWithVersion }) =>
    defineOperation({
      ...describe('add'),
      id: `add${kind.name}`,
      method: 'post',
      path: paths.all,
      summary: `Create ${one}`,
      access: access.write,
      body: kind.body,
      furtherViolations: (body, bySchema) => ruleViolationsBesideSchema(kind, body, bySchema),
      reply: [201, kind.resource, 'versioned'],
      errors: ['RuleViolated', 'Conflict'],
      handle: async ({ params, body }, context) => {
        const ehrId = textParameterOf(params, 'ehrId')
        const record = await recordStoreOf(context).create(context.caller, { ehrId }, body, context.newId())
        const location = `${paths.all.replace('{ehrId}', ehrId)}/${record.id}`
        return replyWithVersion(record, location)
      },
    }),
  get: ({ kind, paths, one, access, recordStoreOf, keyOf, describe, replyWithVersion }) =>
    defineOperation({
      ...describe('get'),
      id: `get${kind.name}`,
      method: 'get',
      ...singleRecordPath(paths),
      summary: `Get ${one}`,
      access: access.read,
      reply: [200, kind.resource, 'versioned'],
      handle: async ({ params }, context) =>
        replyWithVersion(await recordStoreOf(context).get(context.caller, await keyOf(params, context))),
    }),
  replace: ({ kind, paths, one, access, recordStoreOf, keyOf, describe, replyWithVersion }) =>
    defineOperation({
      ...describe('replace'),
      id: `update${kind.name}`,
      method: 'put',
      ...singleRecordPath(paths),
      summary: `Replace ${one}`,
      access: access.write,
      body: kind.replacement,
      furtherViolations: (body, bySchema) => ruleViolationsBesideSchema(kind, body, bySchema),
      reply: [200, kind.resource, 'versioned'],
      errors: ['IdMismatch', 'RuleViolated', ...conflictErrorsOf(kind)],
      handle: async ({ params, body }, context) => {
        const { id, ...rest } = body as Representation
        const key = await keyOf(params, context)
        requireSameId('id', id as string | undefined, key.id)
        const { caller, ifMatch } = context
        return replyWithVersion(
          await recordStoreOf(context).replace(caller, key, rest, { expected: ifMatch }),
        )
      },
    }),
  delete: ({ kind, paths, one, access, recordStoreOf, keyOf, describe }) =>
    defineOperation({
      ...describe('delete'),
      id: `delete${kind.name}`,
      method: 'delete',
      ...singleRecordPath(paths),
      summary: `Delete ${one}`,
      access: access.write,
      reply: [204],
      errors: kind.refuseChange ? ['Conflict'] : [],
      handle: async ({ params }, context) => {
        const { caller, ifMatch } = context
        await recordStoreOf(context).remove(caller, await keyOf(params, context), { expected: ifMatch })
      },
    }),
  history: ({ kind, paths, one, access, recordStoreOf, keyOf, describe, represent }) =>
    defineHistoryOperation({
      ...describe('history'),
      id: `list${kind.name}Changes`,
      ...singleRecordPath(paths, '/history'),
      one,
      access: access.read,
      item: defineChange(kind.name, kind.noun, kind.resource),
      read: async (params, page, context) =>
        recordStoreOf(context).history(context.caller, await keyOf(params, context), page),
      namesForClients: (names) =>
        names
          .filter((name) => !followsFromOthers(kind, name))
          .map((name) => pathNameOf(kind.fields, name))
          .filter((name) => name in kind.resource.properties),
      represent,
    }),
  restore: ({ kind, paths, one, access, recordStoreOf, keyOf, describe, replyWithVersion }) =>
    defineRestoreOperation({
      ...describe('restore'),
      id: `restore${kind.name}`,
      ...singleRecordPath(paths, '/restore'),
      one,
      access: access.write,
      reply: kind.resource,
      errors: restoreErrorsOf(kind),
      restore: async (params, version, context) => {
        const { caller, ifMatch } = context
        return replyWithVersion(
          await recordStoreOf(context).restore(caller, await keyOf(params, context), version, {
            expected: ifMatch,
          }),
        )
      },
    }),
}

/** The history names what people have changed, not what the service has calculated from it. */
const followsFromOthers = ({ fields, rules }: ClassKind, name: string): boolean =>
  markedFieldNames(fields, 'derived', 'internal').includes(name) && !rules.fixedDerived?.includes(name)

/** A replacement can conflict with the natural key of another record, or with data that it depends on. */
const conflictErrorsOf = ({ naturalKey, refuseChange }: ClassKind) =>
  naturalKey || refuseChange ? (['Conflict'] as const) : []

/** The plan or the goal of a deleted record may be deleted, too. */
const restoreErrorsOf = (kind: ClassKind) =>
  'carePlanId' in kind.schema.properties ? (['Conflict'] as const) : conflictErrorsOf(kind)

/** Filter parameters of the list operation. */
export function createRangeParameters({ parentType, lists, fields, filters = {} }: ClassKind) {
  const sortField = lists.ofEhr?.sort ?? 'createdAt'
  const format = fields[sortField]?.format ?? 'date-time'
  const bound = (description: string) => Type.Optional(Type.String({ format, description }))
  return {
    from: bound(`Start of the period: only records whose ${sortField} is this or later`),
    to: bound(`End of the period (exclusive): only records whose ${sortField} is earlier`),
    ...(parentType !== 'EHR' && {
      carePlanId: Type.Optional(idField('the care plan in which the records are registered')),
    }),
    ...Object.fromEntries(Object.entries(filters).map(([name, { schema }]) => [name, Type.Optional(schema)])),
  }
}
