/** explain: the plan of a command, and the keys and documents that running it examines. */
import { createHash } from 'node:crypto'
import type { Document } from 'bson'
import { typeName } from '../../language/expressions/operators/operands.ts'
import type { Collection } from '../../storage/collections/catalog.ts'
import type { Index } from '../../storage/collections/indexes.ts'
import { createCoveringReader, readCoveredRows } from '../../storage/queries/keys/covered.ts'
import type { Plan } from '../../storage/queries/planner.ts'
import { type ExaminedCounts, findRecords, prepareQuery, type Query } from '../../storage/queries/query.ts'
import { isObject, isTruthy } from '../../values/bson-values.ts'
import { fail } from '../../values/errors.ts'
import { readInteger } from '../../values/numbers.ts'
import { headOf, type Run } from '../../values/raw-documents.ts'
import { forEachItem, type Step } from '../../values/steps.ts'
import { type Command, type CommandContext, targetCollection } from '../context.ts'
import { MONGODB_VERSION } from '../diagnostics.ts'
import { splitPipeline } from './pipeline-head.ts'
import { countMatches, createRowReader, planKeyCount, selectsAll } from './reads.ts'

const explainable = 'find aggregate count distinct update delete findAndModify findandmodify'.split(' ')

/** The part of a command that is planned. */
const plannedQueryOf = (command: Document, name: string): Query => {
  const { hint, collation } = command
  if (name === 'aggregate') return { ...splitPipeline(command.pipeline).query, collation, hint }
  const { filter, query, q, sort, skip, limit } = (command.updates ?? command.deletes)?.[0] ?? command
  return {
    filter: filter ?? query ?? q ?? {},
    sort,
    collation,
    hint,
    skip: readInteger(skip, 'skip', 0),
    limit: readInteger(limit, 'limit', 0),
  }
}

export const explain: Command = {
  options: 'verbosity',
  run(context) {
    const inner = context.command.explain
    const name = isObject(inner) ? (Object.keys(inner)[0] ?? '') : ''
    if (!explainable.includes(name)) return fail(59, `Explain failed due to unknown command: ${name}`)
    return explainCommand(context, inner, name, context.command.verbosity)
  },
}

const scanStage = ({ index, reverse, branches, merged }: Plan, isCovered = false): Document => {
  const direction = reverse ? 'backward' : 'forward'
  if (branches) return { stage: 'OR', inputStages: branches.map((branch) => scanStage(branch)) }
  if (!index) return { stage: 'COLLSCAN', direction }
  const scan = { stage: 'IXSCAN', ...describeIndex(index), direction }
  const stage = isCovered ? 'PROJECTION_COVERED' : 'FETCH'
  return { stage, inputStage: merged ? { stage: 'SORT_MERGE', inputStage: scan } : scan }
}

const describeIndex = ({ name: indexName, multikey: isMultiKey, spec }: Index): Document => ({
  keyPattern: spec.key,
  indexName,
  isMultiKey,
  isUnique: isTruthy(spec.unique),
  isSparse: isTruthy(spec.sparse),
  isPartial: spec.partialFilterExpression !== undefined,
})

/** A count without reading documents: its source, and how many keys it reads. */
const countScan = (
  { view }: CommandContext,
  collection: Collection,
  query: Query,
): { stage: Document; keys: number } | undefined => {
  if (selectsAll(query)) return { stage: { stage: 'RECORD_STORE_FAST_COUNT' }, keys: 0 }
  const plan = planKeyCount(view, collection, query)
  if (!plan) return undefined
  const { index, bounds } = plan
  if (!index) return { stage: { stage: 'EOF' }, keys: 0 }
  const keys = bounds.reduce((sum, { low, high }) => sum + view.count(low, high), 0)
  return { stage: { stage: 'COUNT_SCAN', ...describeIndex(index) }, keys }
}

/** The field names of a value without its constants: equal for queries that differ only in constants. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shapeOf)
  if (!isObject(value)) return typeName(value)
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]))
}

/** The fields of every explanation besides the plan. */
const describeRequest = (
  { engine: { address }, db }: CommandContext,
  command: Document,
  query: Document,
): Document => {
  const [host, port] = address.split(':')
  const { lsid: _lsid, let: _let, ...commandFields } = command
  return {
    explainVersion: '1',
    command: { ...commandFields, $db: db },
    serverInfo: { host, port: Number(port), version: MONGODB_VERSION },
    serverParameters: {},
    queryShapeHash: createHash('sha256')
      .update(JSON.stringify(shapeOf(query)))
      .digest('hex')
      .toUpperCase(),
  }
}

const describeExamined = ({ keys, documents }: ExaminedCounts, nReturned: number): Document => ({
  nReturned,
  totalKeysExamined: keys,
  totalDocsExamined: documents,
})

/**
 * Plans the query. Unless only the plan is wanted, it also runs the query and counts the keys and documents
 * examined.
 */
export const explainCommand = async (
  context: CommandContext,
  inner: Document,
  name: string,
  verbosity: unknown,
): Promise<Document> => {
  const { ns, collection } = targetCollection({ ...context, command: inner }, name)
  const plannedQuery = plannedQueryOf(inner, name)
  const description = describeRequest(context, inner, {
    filter: plannedQuery.filter,
    sort: plannedQuery.sort,
  })
  if (!collection)
    return { queryPlanner: { namespace: ns, winningPlan: { stage: 'EOF' } }, ...description, ok: 1 }
  const query = { ...plannedQuery, timer: context.timer }
  const keyCount = name === 'count' ? countScan(context, collection, query) : undefined
  if (keyCount) {
    const winningPlan = { stage: 'COUNT', inputStage: keyCount.stage }
    const queryPlanner = { namespace: ns, parsedQuery: query.filter, winningPlan, rejectedPlans: [] }
    if (verbosity === 'queryPlanner') return { queryPlanner, ...description, ok: 1 }
    const nCounted = await countMatches(context, inner.count, query)
    const executionStats = {
      ...describeExamined({ keys: keyCount.keys, documents: 0 }, 0),
      executionStages: { stage: 'COUNT', nCounted },
    }
    return { queryPlanner, executionStats, ...description, ok: 1 }
  }
  const preparedQuery = prepareQuery(collection, query)
  const reader = name === 'find' ? createCoveringReader(preparedQuery.plan, inner.projection) : undefined
  const scan = scanStage(preparedQuery.plan, reader !== undefined)
  const winningPlan = preparedQuery.plan.ordered
    ? scan
    : { stage: 'SORT', sortPattern: query.sort, inputStage: scan }
  const queryPlanner = { namespace: ns, parsedQuery: query.filter, winningPlan, rejectedPlans: [] }
  if (verbosity === 'queryPlanner') return { queryPlanner, ...description, ok: 1 }
  const counts: ExaminedCounts = { keys: 0, documents: 0 }
  let nReturned = 0
  const rowOf = createRowReader(preparedQuery, undefined)
  const results: Iterable<Step<unknown>> = reader
    ? readCoveredRows(context.view, collection, query, { ...preparedQuery, reader, rowOf }, counts)
    : findRecords(context.view, collection, query, preparedQuery, counts)
  await forEachItem(results, context.timer, (one) => {
    nReturned += reader ? headOf(one as Run).count : 1
  })
  return { queryPlanner, executionStats: describeExamined(counts, nReturned), ...description, ok: 1 }
}
