/** aggregate: the planner runs the head of a pipeline; the other stages follow one by one. */
import { Binary, type Document, Long } from 'bson'
import { checkPipeline, compilePipeline } from '../../language/aggregation/pipeline.ts'
import type {
  CompiledPipeline,
  Documents,
  ForeignCollection,
  StageEnvironment,
} from '../../language/aggregation/stage.ts'
import { compileFilter } from '../../language/filters/matcher.ts'
import { type Collection, checkNamespace } from '../../storage/collections/catalog.ts'
import type { MatchedRecord } from '../../storage/collections/records.ts'
import type { View } from '../../storage/disk/overlay.ts'
import { isCountOperand, KeyGroups, keyGroupingOf } from '../../storage/queries/keys/key-groups.ts'
import {
  findUnreadFields,
  pageOf,
  planUnwind,
  readUnwoundDocuments,
  readUnwoundPage,
} from '../../storage/queries/keys/unwind.ts'
import { findRecords, prepareQuery, type Query } from '../../storage/queries/query.ts'
import { checkSize, encode, isNumeric, isObject, isTruthy, toNumber } from '../../values/bson-values.ts'
import { fail } from '../../values/errors.ts'
import { collationOf } from '../../values/options/collation.ts'
import { PAUSE, type Step } from '../../values/steps.ts'
import { type Command, type CommandContext, cursorReply } from '../context.ts'
import { batchSizeOf } from '../index-commands.ts'
import { explainCommand } from './explain.ts'
import { splitPipeline } from './pipeline-head.ts'
import { countMatches, createDropCheck, DEFAULT_BATCH_SIZE, encodeMatches } from './reads.ts'

/** Results may exceed the limit of stored documents by this size. */
const MAX_EXTRA_RESULT_BYTES = 16 * 1024

export const aggregate: Command = {
  transactional: true,
  options: 'pipeline explain allowDiskUse cursor hint collation let bypassDocumentValidation',
  async run(context) {
    const { command, engine, db, owner, timer } = context
    const pipeline = checkPipeline(replaceCurrentOp(context, command.pipeline))
    if (context.inTransaction) checkInTransaction(command.pipeline)
    if (isNumeric(command.aggregate) && toNumber(command.aggregate) !== 1)
      fail(2, "Invalid command format: the 'aggregate' field must specify a collection name or 1")
    if (command.explain !== undefined && typeof command.explain !== 'boolean')
      fail(14, "BSON field 'aggregate.explain' is the wrong type, expected type 'bool'")
    const size = batchSizeOf(command.cursor, 'aggregate', DEFAULT_BATCH_SIZE)
    if (typeof command.aggregate === 'string' && pipeline[0]?.$documents !== undefined)
      fail(73, "'$documents' is only valid with {aggregate: 1}")
    if (isNumeric(command.aggregate) && pipeline[0]?.$documents === undefined)
      fail(
        73,
        `{aggregate: 1} is not valid for '${Object.keys(pipeline[0] ?? {})[0] ?? 'an empty pipeline'}'; a collection is required.`,
      )
    if (isTruthy(command.explain)) {
      compilePipeline(splitPipeline(pipeline).rest, environmentOf(context))
      return explainCommand(context, command, 'aggregate', 'queryPlanner')
    }
    if (!isObject(command.cursor))
      fail(9, "The 'cursor' option is required, except for aggregate with the explain argument")
    const name = isNumeric(command.aggregate) ? '$cmd.aggregate' : checkNamespace(db, command.aggregate)
    const isDropped = createDropCheck(context, context.find(name))
    const documentsOf = await runAggregation(context, pipeline)
    return cursorReply(
      await engine.cursors.start(
        { ns: `${db}.${name}`, documents: documentsOf, timer, owner, isDropped },
        size,
      ),
      'firstBatch',
    )
  },
}

/** @throws 263 for a stage that transactions do not allow, also within other stages */
const checkInTransaction = (pipeline: unknown): void => {
  for (const stage of Array.isArray(pipeline) ? pipeline : []) {
    for (const name of ['$unionWith', '$currentOp'])
      if (name in stage)
        fail(263, `Operation not permitted in transaction :: caused by :: Aggregation stage ${name}`)
    checkInTransaction(stage.$lookup?.pipeline)
    for (const nested of Object.values(stage.$facet ?? {})) checkInTransaction(nested)
  }
}

/** Replaces `$currentOp` by the only operations it shows: transactions that wait for their clients. */
const replaceCurrentOp = ({ engine, db, command }: CommandContext, pipeline: unknown): unknown => {
  if (db !== 'admin' || !Array.isArray(pipeline) || !isObject(pipeline[0]?.$currentOp)) return pipeline
  const { level = 'local' } = command.readConcern ?? {}
  if (level !== 'local') fail(72, `$currentOp does not support read concern ${level}`)
  const now = Date.now()
  const sessions = engine.transactions.open().flatMap(({ id, connectionId, idleSince }) =>
    idleSince === undefined
      ? []
      : {
          type: 'idleSession',
          appName: engine.applications.get(connectionId),
          lsid: { id: new Binary(Buffer.from(id.session, 'hex'), Binary.SUBTYPE_UUID) },
          transaction: {
            parameters: { txnNumber: Long.fromBigInt(id.number), autocommit: false },
            timeInactiveMicros: Long.fromNumber((now - idleSince) * 1000),
          },
        },
  )
  return [{ $documents: { $literal: sessions } }, ...pipeline.slice(1)]
}

/** Recognises `[{$group: {_id: 1, n: {$sum: 1}}}]`, by which drivers count. Returns the name of the sum. */
const countField = (rest: Document[]): [id: unknown, field: string] | undefined => {
  const group = rest.length === 1 ? rest[0]?.$group : undefined
  if (!isObject(group)) return undefined
  const [id, sum, ...others] = Object.entries(group)
  if (id?.[0] !== '_id' || !(id[1] === null || isNumeric(id[1])) || !sum || others.length > 0)
    return undefined
  const plain = !/^\$|\./.test(sum[0]) && isObject(sum[1]) && Object.keys(sum[1]).length === 1
  return plain && isCountOperand(sum[1].$sum) ? [id[1], sum[0]] : undefined
}

const runAggregation = async (
  context: CommandContext,
  pipeline: Document[],
): Promise<Iterable<Step<Buffer>>> => {
  const { command, timer, view } = context
  const { query: head, rest } = splitPipeline(pipeline)
  const { collation, hint, let: variables } = command
  const frugal = command.allowDiskUse === false
  const query: Query = { ...head, collation, hint, variables, timer, limitsSortMemory: frugal }
  const countGroup = countField(rest)
  const collection = collectionOf(context)
  if (countGroup) {
    const n = await countMatches(context, command.aggregate, query)
    return n > 0 ? [encode({ _id: countGroup[0], [countGroup[1]]: n })] : []
  }
  if (rest.length === 0) return encodeMatches(findRecords(view, collection, query))
  const environment = environmentOf(context)
  const stages = compilePipeline(rest, environment)
  const run = { view, query, rest, stages, environment }
  const byKeys = collection && (unwindByKeys(collection, run) ?? groupByKeys(collection, run))
  return byKeys ?? encodeResults(stages(documents(findRecords(view, collection, query))))
}

/** A pipeline after its head. */
interface Run {
  view: View
  query: Query
  rest: Document[]
  /** The compiled `rest`. */
  stages: CompiledPipeline
  environment: StageEnvironment
}

/** Runs a pipeline that begins with `$unwind` and `$match`, if the keys of an index answer them. */
const unwindByKeys = (
  collection: Collection,
  { view, query, rest, stages, environment }: Run,
): Iterable<Step<Buffer>> | undefined => {
  const { filter, sort, skip, limit, variables } = query
  if (sort !== undefined || skip !== undefined || limit !== undefined) return undefined
  const { collation, timer } = environment
  const unwind = planUnwind(collection, { filter, collation, hint: query.hint }, rest)
  if (!unwind) return undefined
  const { index, bounds, certain } = unwind
  const following = rest.slice(unwind.stages)
  const page = certain ? pageOf(following) : undefined
  if (page) return readUnwoundPage(view, collection, unwind, { page, timer })
  const unwindDocuments = () => {
    const test = compileFilter(filter, { collation, variables })
    const reading = { test, unread: findUnreadFields(unwind, filter, following), timer }
    return stages(readUnwoundDocuments(view, collection, unwind, reading), unwind.stages)
  }
  const grouping = certain ? keyGroupingOf(index, following[0]?.$group) : undefined
  if (!grouping) return encodeResults(unwindDocuments())
  const keyGroups = new KeyGroups(index, grouping).read(view, bounds, timer)
  return encodeResults(
    groups(keyGroups, (groupResults) => stages(groupResults, unwind.stages + 1), unwindDocuments),
  )
}

/** Runs a pipeline that begins with `$group`, if the keys of an index answer it. */
const groupByKeys = (
  collection: Collection,
  { view, query, rest, stages, environment }: Run,
): Iterable<Step<Buffer>> | undefined => {
  if (!rest[0]?.$group || query.skip !== undefined || query.limit !== undefined) return undefined
  const { index, bounds, covered, ambiguous = [] } = prepareQuery(collection, query).plan
  if (!index || !covered || ambiguous.length > 0) return undefined
  const grouping = index.multikey && bounds.length > 1 ? undefined : keyGroupingOf(index, rest[0]?.$group)
  if (!grouping || index.unique) return undefined
  const groupDocuments = () => stages(documents(findRecords(view, collection, query)))
  const keyGroups = new KeyGroups(index, grouping).read(view, bounds, environment.timer)
  return encodeResults(groups(keyGroups, (groupResults) => stages(groupResults, 1), groupDocuments))
}

/** @param readDocuments the results if the keys do not suffice after all */
function* groups(
  read: ReturnType<KeyGroups['read']>,
  following: (groups: Documents) => Documents,
  readDocuments: () => Documents,
): Documents {
  const keyGroups = yield* read
  yield* keyGroups ? following(keyGroups) : readDocuments()
}

const collectionOf = ({ command, find }: CommandContext): Collection | undefined =>
  typeof command.aggregate === 'string' ? find(command.aggregate) : undefined

const environmentOf = (context: CommandContext): StageEnvironment => {
  const { command, timer } = context
  return {
    collation: collationOf(command.collation ?? collectionOf(context)?.options.collation),
    variables: command.let,
    timer,
    foreign: (name) => openForeignCollection(context, name),
  }
}

function* documents(matches: Iterable<Step<MatchedRecord>>): Documents {
  for (const match of matches) yield match === PAUSE ? PAUSE : match.document
}

function* encodeResults(results: Documents): Iterable<Step<Buffer>> {
  for (const document of results)
    yield document === PAUSE ? PAUSE : checkSize(encode(document), MAX_EXTRA_RESULT_BYTES)
}

/** Access to another collection of the same database. */
const openForeignCollection = (context: CommandContext, name: string): ForeignCollection => {
  const { view, timer, command } = context
  const collection = context.find(name)
  const { collation } = command
  return {
    find: (filter) => documents(findRecords(view, collection, { filter, collation, timer })),
    begin(pipeline, variables) {
      const { query, rest } = splitPipeline(pipeline)
      return {
        found: documents(findRecords(view, collection, { ...query, collation, variables, timer })),
        stages: pipeline.length - rest.length,
      }
    },
    hasIndex: (field) =>
      collection !== undefined &&
      prepareQuery(collection, { filter: { [field]: '' }, collation }).plan.index !== undefined,
  }
}
