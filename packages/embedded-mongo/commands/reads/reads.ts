/** find, getMore, killCursors, count, distinct. */
import { calculateObjectSize, type Document, type Long } from 'bson'
import { compileProjection, type ProjectionOptions, wholeFields } from '../../language/results/projection.ts'
import type { Collection } from '../../storage/collections/catalog.ts'
import { countRecords, type MatchedRecord } from '../../storage/collections/records.ts'
import type { View } from '../../storage/disk/overlay.ts'
import { createCoveringReader, readCoveredRows } from '../../storage/queries/keys/covered.ts'
import type { Plan } from '../../storage/queries/planner.ts'
import {
  countKeys,
  findRecords,
  type PreparedQuery,
  prepareQuery,
  type Query,
} from '../../storage/queries/query.ts'
import {
  bsonType,
  encode,
  isNullish,
  isNumeric,
  isObject,
  isTruthy,
  MAX_DOCUMENT_BYTES,
  toNumber,
  valuesAtPath,
} from '../../values/bson-values.ts'
import { compare, ValueSet } from '../../values/compare.ts'
import { fail } from '../../values/errors.ts'
import { readInteger, toWholeNumber } from '../../values/numbers.ts'
import { collationOf } from '../../values/options/collation.ts'
import { keepFields } from '../../values/raw-documents.ts'
import { forEachItem, PAUSE, type Step } from '../../values/steps.ts'
import { type Command, type CommandContext, cursorReply, targetCollection } from '../context.ts'

export const DEFAULT_BATCH_SIZE = 101

const filterOf = (filter: unknown): Document =>
  isNullish(filter)
    ? {}
    : isObject(filter)
      ? filter
      : fail(14, "BSON field 'filter' is the wrong type, expected type 'object'")

/** The part of a command that selects documents; count and distinct have no variables. */
const queryOf = ({ command, timer }: CommandContext, filter: unknown): Query => ({
  filter: filterOf(filter),
  sort: command.sort,
  skip: readInteger(command.skip, 'skip', 0),
  limit: readInteger(command.limit, 'limit', 0),
  collation: command.collation,
  hint: command.hint,
  variables: command.let,
  limitsSortMemory: command.allowDiskUse === false,
  timer,
})

const refuseTailable = ({ tailable, awaitData }: Document): void => {
  if (isTruthy(tailable) || isTruthy(awaitData))
    fail(115, 'tailable cursors are not supported by this engine')
}

const findCommand: Command = {
  transactional: true,
  options:
    'filter sort projection hint skip limit batchSize singleBatch allowDiskUse max min returnKey showRecordId tailable awaitData oplogReplay noCursorTimeout allowPartialResults collation let',
  async run(context) {
    const { engine, command, view, owner, timer } = context
    refuseTailable(command)
    if (command.filter === null)
      fail(14, "BSON field 'find.filter' is the wrong type, expected type 'object'")
    for (const name of ['min', 'max', 'returnKey', 'showRecordId'])
      if (isTruthy(command[name])) fail(115, `find option ${name} is not supported by this engine`)
    const { ns, collection } = targetCollection(context, 'find')
    const query = queryOf(context, command.filter)
    const options = projectionOptions(context, collection, query)
    const project = compileRowEncoder(command.projection, options)
    const batchSize =
      command.batchSize === undefined
        ? DEFAULT_BATCH_SIZE
        : readInteger(command.batchSize, 'batchSize', DEFAULT_BATCH_SIZE)
    const preparedQuery = collection && prepareQuery(collection, query)
    const reader = preparedQuery && createCoveringReader(preparedQuery.plan, command.projection)
    const documents = reader
      ? readCoveredRows(view, collection as Collection, query, {
          ...preparedQuery,
          reader,
          rowOf: createRowReader(preparedQuery, project),
        })
      : encodeMatches(findRecords(view, collection, query, preparedQuery), project)
    const source = { ns, documents, timer, owner, isDropped: createDropCheck(context, collection) }
    // A batch that can hold the whole limit asks for one more document. So it learns that none are left, and
    // opens no cursor.
    const { limit = 0 } = query
    const size = limit > 0 && batchSize >= limit ? limit + 1 : batchSize
    return cursorReply(await engine.cursors.start(source, size, isTruthy(command.singleBatch)), 'firstBatch')
  },
}

/** The row of a document whose key is ambiguous. */
export const createRowReader =
  ({ test }: PreparedQuery, project: EncodeRow = ({ bytes }) => bytes) =>
  (match: MatchedRecord): Buffer | undefined =>
    test(match.document) ? project(match) : undefined

type EncodeRow = (match: MatchedRecord) => Buffer

/** Encodes a row: copies the document's fields, unless the projection computes something. */
const compileRowEncoder = (spec: unknown, options: ProjectionOptions): EncodeRow | undefined => {
  const project = compileProjection(spec, options)
  if (!project) return undefined
  const wholeFieldProjection = wholeFields(spec)
  if (!wholeFieldProjection) return ({ document }) => encode(project(document))
  const names = wholeFieldProjection.names.map((name) => Buffer.from(name))
  return ({ bytes }) => keepFields(bytes, names, wholeFieldProjection.isExclusion)
}

export function* encodeMatches(
  matches: Iterable<Step<MatchedRecord>>,
  project: EncodeRow = ({ bytes }) => bytes,
): Iterable<Step<Buffer>> {
  for (const match of matches) yield match === PAUSE ? PAUSE : project(match)
}

/** The parts of a query on which its projection depends. */
export const projectionOptions = (
  { command }: CommandContext,
  collection: Collection | undefined,
  { filter }: Query,
): ProjectionOptions => ({
  filter,
  collation: collationOf(command.collation ?? collection?.options.collation),
  variables: command.let,
})

/** Returns a check whether a collection that existed at the start has been dropped. */
export const createDropCheck = ({ engine }: CommandContext, collection: Collection | undefined) =>
  collection && (() => engine.catalog.find(collection.ns)?.uuid !== collection.uuid)

const getMore: Command = {
  transactional: true,
  options: 'collection batchSize',
  async run({ engine, db, command, owner }) {
    if (bsonType(command.getMore) !== 'Long')
      fail(14, "BSON field 'getMore.getMore' is the wrong type, expected type 'long'")
    if (command.maxTimeMS !== undefined)
      fail(2, 'cannot set maxTimeMS on getMore command for a non-awaitData cursor')
    const size = readInteger(command.batchSize, 'batchSize', 0)
    const batch = await engine.cursors.next(
      command.getMore as Long,
      `${db}.${command.collection}`,
      size,
      owner,
    )
    return cursorReply(batch, 'nextBatch')
  },
}

const killCursors: Command = {
  transactional: true,
  options: 'cursors',
  run({ engine, command }) {
    if (typeof command.killCursors !== 'string') fail(73, 'collection name has invalid type')
    const cursorIds: unknown[] = Array.isArray(command.cursors)
      ? command.cursors.filter((id) => id !== null)
      : fail(14, "BSON field 'cursors' must be an array")
    if (!cursorIds.every((id) => bsonType(id) === 'Long'))
      fail(14, "BSON field 'killCursors.cursors' must contain longs only")
    const ids = cursorIds as Long[]
    const cursorsKilled = ids.filter((id) => engine.cursors.kill(id))
    const cursorsNotFound = ids.filter((id) => !cursorsKilled.includes(id))
    return { cursorsKilled, cursorsNotFound, cursorsAlive: [], cursorsUnknown: [], ok: 1 }
  },
}

/** The plan of a count that needs only the number of keys; undefined: documents must be read. */
export const planKeyCount = (view: View, collection: Collection, query: Query): Plan | undefined => {
  const { plan } = prepareQuery(collection, query)
  const isAmbiguous = plan.ambiguous?.some(({ low, high }) => view.count(low, high) > 0)
  return plan.covered && !isAmbiguous ? plan : undefined
}

/** Whether a query asks for all documents, whose number is stored. */
export const selectsAll = ({ filter, hint }: Query): boolean =>
  Object.keys(filter).length === 0 && isNullish(hint)

/** The number of documents that a query finds; the stored count if it asks for all. */
export const countMatches = async (context: CommandContext, name: string, query: Query): Promise<number> => {
  const { view, timer } = context
  const collection = context.find(name)
  const { skip = 0, limit = 0 } = query
  const countsAll = collection && selectsAll(query)
  const plan = collection && !countsAll ? planKeyCount(view, collection, query) : undefined
  if (!countsAll && !plan) {
    let matchCount = 0
    await forEachItem(findRecords(view, collection, query), timer, () => {
      matchCount++
    })
    return matchCount
  }
  const total = plan
    ? await countKeys(view, collection as Collection, plan, timer)
    : countRecords(view, collection as Collection)
  const rest = Math.max(0, total - skip)
  return limit ? Math.min(rest, limit) : rest
}

/** A negative limit counts like its absolute value. */
const countLimit = (value: unknown): unknown => {
  if (value === undefined) return 0
  if (value === null) return fail(2, 'the limit of count must be a number')
  if (!isNumeric(value)) return fail(14, "BSON field 'count.limit' is the wrong type, expected a number")
  if (toWholeNumber(value) === undefined) return fail(9, 'the limit of count must be a whole number')
  return toNumber(value) > -(2 ** 63) ? value : fail(2, 'the limit of count is out of range')
}

const count: Command = {
  options: 'query limit skip hint collation fields',
  async run(context) {
    const { command } = context
    targetCollection(context, 'count')
    const limit = Math.abs(toNumber(countLimit(command.limit)))
    const query = {
      ...queryOf({ ...context, command: { ...command, limit, let: undefined } }, command.query),
      sort: undefined,
    }
    return { n: await countMatches(context, command.count, query), ok: 1 }
  },
}

const distinct: Command = {
  transactional: true,
  options: 'key query collation hint',
  async run(context) {
    const { command, view, timer } = context
    const { collection } = targetCollection(context, 'distinct')
    if (typeof command.key !== 'string')
      return fail(14, "BSON field 'distinct.key' is the wrong type, expected type 'string'")
    if (command.key.includes('\0')) fail(31032, 'the key of distinct may not contain a null byte')
    const parts = command.key.split('.')
    const collation = collationOf(command.collation ?? collection?.options.collation)
    const values = new ValueSet([], collation)
    const commandQuery = { ...queryOf(context, command.query), sort: undefined, variables: undefined }
    // An index of another collation would change which of several equal values comes first, so the hint is
    // ignored.
    const hintedIndex =
      collection && !isNullish(commandQuery.hint)
        ? prepareQuery(collection, commandQuery).plan.index
        : undefined
    const query =
      hintedIndex && hintedIndex.collation !== collation
        ? { ...commandQuery, hint: { $natural: 1 } }
        : commandQuery
    const matches = findRecords(view, collection, query)
    let bytes = 0
    await forEachItem(matches, timer, ({ document }) => {
      for (const value of valuesAtPath(document, parts).flat(1))
        if (value !== undefined && values.add(value)) bytes += calculateObjectSize({ value })
      if (bytes > MAX_DOCUMENT_BYTES) fail(17217, 'distinct too big, 16mb cap')
    })
    return { values: values.values.sort((a, b) => compare(a, b, collation)), ok: 1 }
  },
}

export const reads: Record<string, Command> = { find: findCommand, getMore, killCursors, count, distinct }
