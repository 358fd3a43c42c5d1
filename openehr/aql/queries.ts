import { Composition } from '../../records/compositions/composition-record.ts'
import { requireNoViolations } from '../../records/ehr-records/refusals/refusals.ts'
import { queryAccesses, type SearchedEhrs } from '../../records/ehrs/rights/query-accesses.ts'
import { TimeSlice } from '../../records/limits/time-slice.ts'
import { createSharedRead } from '../../records/store/batching/batched-lookup.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import { ServiceError } from '../../schemas/errors.ts'
import type { CompositionView } from '../composition-views/composition-view.ts'
import { lineAndColumnOf, TextSyntaxError } from '../formats/text-syntax-error.ts'
import { checkQuery, MAX_ROWS, pathsOfQuery, type QueryParameters } from './check-query.ts'
import { createEvaluation } from './evaluation/evaluation.ts'
import { rowsOfGroups } from './facts/groups/fact-group-rows.ts'
import { groupByFacts } from './facts/groups/group-by-facts.ts'
import { evaluateInOrder } from './facts/order/evaluate-in-order.ts'
import { KnownStructures } from './facts/structures.ts'
import type { QueryTree } from './language/ast.ts'
import { limitToEhr } from './language/within-ehr.ts'
import { allOf, type DatabaseFilter } from './plan/database-filters.ts'
import { type FactGrouping, recogniseFactGrouping } from './plan/fact-grouping.ts'
import { planQuery, type QueryPlan } from './plan/planner.ts'
import { parseQueryOnce, withoutValues } from './query-texts.ts'
import { evaluateRows } from './results/evaluate-rows.ts'
import { MemoryBudget } from './results/memory-budget.ts'
import { type ResultRow, type RowWindow, sourcesOf } from './results/row.ts'
import { createRowCollector } from './results/row-collector.ts'
import { countArchetypeByIndex, countedArchetype } from './scan/archetype-count.ts'
import { countCompositions, planCompositionSearch } from './scan/composition-scan.ts'
import { EhrScan, findWithheldEhrs } from './scan/ehr-scan.ts'
import { scanEhrTrees } from './scan/ehr-tree-scan.ts'
import { countShownRecords, planViewSearches } from './scan/view-scan.ts'
import { AQL_TIMEOUT_MS, TIMEOUT_ADVICE } from './timeout.ts'

/** A query as a client sends it. */
export interface QueryRequest {
  q: string
  parameters: QueryParameters
  /** The only EHR to search. */
  ehrId?: string | undefined
  offset?: number | undefined
  fetch?: number | undefined
}

interface ResultColumn {
  name: string
  path?: string
}

/** The result of a query, as far as it is known before the rows are. */
export interface QueryResult {
  columns: ResultColumn[]
  window: RowWindow
  /** Batches of rows, each row as the JSON of its cells; a batch is audited before it is returned. */
  rows(): AsyncGenerator<string[][]>
  /** Whether there are more rows than returned; known at the end. */
  hasMore(): boolean
}

/** The query plan in the form for clients. */
export interface QueryExplanation {
  plan: QueryPlan
  /** The database filter for compositions. */
  conditions: DatabaseFilter
  /** The index that finds the compositions; undefined: none are read. */
  index: string | undefined
  /** The number of compositions that would be read, counted up to a limit. */
  candidates: number
  /** The records of views that would be read: kind, index, and their number, counted up to a limit. */
  measurements: { name: string; index: string; candidates: number }[]
  evaluated: string[]
}

type EvaluationInput = Omit<Parameters<typeof evaluateInOrder>[0], 'order' | 'structures'>

/** The role that may query all EHRs. */
const ANALYST_ROLE = 'analyst'

/** AQL queries over the compositions and EHRs that a caller may read. */
export class Queries {
  readonly #context: StoreContext
  readonly #views: readonly CompositionView[]
  readonly #haveFacts: () => boolean
  readonly #structures: KnownStructures
  readonly #findWithheld: () => Promise<ReadonlySet<string>>

  /**
   * @param views records that are shown as compositions
   * @param haveFacts whether the backfill has extracted the facts of all compositions
   */
  constructor(
    context: StoreContext,
    views: readonly CompositionView[],
    haveFacts: () => boolean = () => true,
  ) {
    this.#context = context
    this.#views = views
    this.#haveFacts = haveFacts
    this.#structures = new KnownStructures(context.db)
    this.#findWithheld = createSharedRead(() => findWithheldEhrs(context.db))
  }

  /**
   * @param isAbandoned whether the client no longer waits for the response
   * @throws InvalidInput with line and column for an invalid query; RuleViolated for LIMIT together with
   * fetch
   */
  run(caller: Caller, request: QueryRequest, isAbandoned: () => boolean): QueryResult {
    const query = parseAndCheckQuery(request)
    const window = rowWindow(query, request)
    const evaluation = createEvaluation(query, this.#context.clock())
    const collector = createRowCollector(query, evaluation, window, new MemoryBudget())
    const plan = this.#planQuery(query)
    const reader = withAnalystRights(caller)
    const ehrs = new EhrScan(this.#context.db, reader, plan, this.#findWithheld)
    const reading = {
      db: this.#context.db,
      views: this.#views,
      caller: reader,
      plan,
      ehrs,
      needsEhr: needsEhr(query),
    }
    const { admission } = caller
    const timeSlice = new TimeSlice({
      admission,
      isAbandoned,
      timeoutMs: AQL_TIMEOUT_MS,
      advice: TIMEOUT_ADVICE,
    })
    const neededCount = window.offset + window.limit + 1
    const evaluate = () => this.#evaluate({ reading, query, evaluation, collector, timeSlice, neededCount })
    const archetype = this.#haveFacts() ? countedArchetype(query) : undefined
    const grouping = this.#haveFacts() ? recogniseFactGrouping(query) : undefined
    const page = { hasMore: false }
    const groupingInput = { reading, query, grouping, structures: this.#structures }
    const group = () => this.#group(groupingInput, window, { evaluate, page })
    const rowBatches =
      archetype === undefined
        ? group()
        : this.#countByIndex(reader, archetype, window, { evaluate: group, ehrs })
    return {
      columns: resultColumns(query),
      window,
      rows: () => this.#auditRows(caller, request, ehrs, rowBatches),
      hasMore: () => page.hasMore || collector.hasMore(),
    }
  }

  /** Groups the values in the database if the facts of compositions decide about all rows. */
  async *#group(
    {
      grouping,
      ...input
    }: Omit<Parameters<typeof groupByFacts>[0], 'grouping'> & {
      grouping: FactGrouping | undefined
    },
    window: RowWindow,
    { evaluate, page }: { evaluate: () => AsyncGenerator<ResultRow[]>; page: { hasMore: boolean } },
  ): AsyncGenerator<ResultRow[]> {
    const groups = grouping && (await groupByFacts({ ...input, grouping }))
    if (!grouping || !groups) return yield* evaluate()
    const { rows, hasMore } = rowsOfGroups(input.query, grouping, groups, window)
    page.hasMore = hasMore
    yield rows
  }

  #planQuery(query: QueryTree): QueryPlan {
    const plan = planQuery(query)
    return this.#haveFacts() ? plan : { ...plan, facts: undefined, order: undefined }
  }

  /** Evaluates records in the order of the result if the database can return them so, otherwise all. */
  async *#evaluate(input: EvaluationInput): AsyncGenerator<ResultRow[]> {
    const { order } = input.reading.plan
    const inOrder = order && (await evaluateInOrder({ ...input, order, structures: this.#structures }))
    const { reading, ...rest } = input
    yield* inOrder ?? evaluateRows({ ...rest, trees: scanEhrTrees(reading) })
  }

  /** Counts by indexes alone, for callers who query all EHRs. */
  async *#countByIndex(
    reader: Caller,
    archetypeId: string,
    { offset, limit }: RowWindow,
    { evaluate, ehrs }: { evaluate: () => AsyncGenerator<ResultRow[]>; ehrs: EhrScan },
  ): AsyncGenerator<ResultRow[]> {
    const { db } = this.#context
    const isOne = reader.unrestricted && offset === 0 && limit > 0
    const withheldIds = isOne && (await ehrs.withheldIds())
    const count = withheldIds && (await countArchetypeByIndex(db, this.#views, archetypeId, withheldIds))
    if (typeof count !== 'number') yield* evaluate()
    else yield [{ cells: [String(count)], keys: [], sources: [] }]
  }

  async explain(caller: Caller, request: QueryRequest): Promise<QueryExplanation> {
    const query = parseAndCheckQuery(request)
    rowWindow(query, request)
    const plan = this.#planQuery(query)
    const reader = withAnalystRights(caller)
    const { db, audit } = this.#context
    const ehrs = new EhrScan(db, reader, plan, this.#findWithheld)
    const withheldIds = [...(await ehrs.withheldIds())]
    const ids = plan.compositions ? await ehrs.ids() : []
    const excludeWithheld = <S extends { filter: DatabaseFilter }>(search: S): S =>
      withheldIds.length === 0
        ? search
        : { ...search, filter: { $and: [search.filter, { ehrId: { $nin: withheldIds } }] } }
    const search = plan.compositions ? excludeWithheld(planCompositionSearch(plan, reader, ids)) : undefined
    const searches = planViewSearches({ caller: reader, plan, views: this.#views }, ids)
    const measurements = searches.map(async (one) => ({
      name: one.view.kind.name,
      index: one.index.name,
      candidates: await countShownRecords(db, excludeWithheld(one)),
    }))
    const access = { type: Composition.collection, asked: `aql explain: ${withoutValues(request.q)}` }
    await audit.record(...(await queryAccesses(audit, caller, access, await ehrs.findSearchedEhrs())))
    return {
      plan,
      conditions: allOf([plan.candidates, plan.facts]) ?? {},
      index: search?.index,
      candidates: search && ids?.length !== 0 ? await countCompositions(db, search) : 0,
      measurements: await Promise.all(measurements),
      evaluated: inMemorySteps(query),
    }
  }

  /** Returns the rows in batches, and audits each batch first, the first one with all EHRs of the query. */
  async *#auditRows(
    caller: Caller,
    request: QueryRequest,
    ehrs: EhrScan,
    rows: AsyncGenerator<ResultRow[]>,
  ): AsyncGenerator<string[][]> {
    const { audit } = this.#context
    const access = { type: Composition.collection, asked: `aql: ${withoutValues(request.q)}` }
    // Runs at the same time as the first batch of rows, which waits for it.
    const searchedEhrs = ehrs.findSearchedEhrs()
    searchedEhrs.catch(() => {})
    let isReported = false
    const report = async (rows: readonly ResultRow[]): Promise<void> => {
      const auditedEhrs = isReported ? NO_EHRS : await searchedEhrs
      const accesses = await queryAccesses(audit, caller, access, auditedEhrs, sourcesOf(rows))
      isReported = true
      await audit.record(...accesses)
    }
    try {
      for await (const batch of rows) {
        if (batch.length === 0) continue
        await report(batch)
        yield batch.map(({ cells }) => cells)
      }
    } finally {
      // Without rows, and for a query that ends with an error.
      if (!isReported) await report([])
    }
  }
}

const NO_EHRS: SearchedEhrs = { searched: [], denied: [] }

/** An analyst may read all EHRs, but only in queries. */
const withAnalystRights = (caller: Caller): Caller =>
  caller.roles.includes(ANALYST_ROLE) ? { ...caller, unrestricted: true } : caller

/** Maximum length of a query; longer ones come from programs that should ask for less. */
const MAX_QUERY_LENGTH = 64 * 1024

/** @throws InvalidInput */
export function parseAndCheckQuery({
  q,
  parameters,
  ehrId,
}: Pick<QueryRequest, 'q' | 'parameters' | 'ehrId'>): QueryTree {
  if (q.length > MAX_QUERY_LENGTH)
    throw new ServiceError('InvalidInput', {
      detail: 'The query is longer than 64 KB.',
      violations: [{ path: 'q', code: 'maxLength', message: 'is longer than 64 KB' }],
    })
  try {
    return checkQuery(limitToEhr(parseQueryOnce(q), ehrId), parameters)
  } catch (error) {
    if (!(error instanceof TextSyntaxError)) throw error
    const { line, column } = lineAndColumnOf(q, error.offset)
    const message = `is not a valid query: line ${line}, column ${column}: ${error.message}`
    throw new ServiceError('InvalidInput', {
      violations: [{ path: 'q', code: 'aql', message, line, column }],
    })
  }
}

/** @throws RuleViolated */
function rowWindow({ limit, offset = 0 }: QueryTree, request: QueryRequest): RowWindow {
  if (limit === undefined) return { offset: request.offset ?? 0, limit: request.fetch ?? MAX_ROWS }
  const message = 'must be left out because the query has a LIMIT'
  if (request.fetch !== undefined) requireNoViolations([{ path: 'fetch', code: 'limit', message }])
  if (request.offset) requireNoViolations([{ path: 'offset', code: 'limit', message }])
  return { offset, limit }
}

/** Whether the query needs more of an EHR than its id. */
function needsEhr(query: QueryTree): boolean {
  const { rmType, variable, predicate } = query.from
  if (rmType !== 'EHR') return false
  const isMore = pathsOfQuery(query).some(
    (path) => path.variable === variable && path.parts[0]?.attribute !== 'ehr_id',
  )
  return isMore || /"attribute":"(?!ehr_id"|value")/.test(JSON.stringify(predicate ?? ''))
}

function resultColumns({ columns }: QueryTree): ResultColumn[] {
  return columns.map(({ expression, text, alias }, i) => ({
    name: alias ?? `#${i}`,
    ...(expression.kind === 'path' && { path: text }),
  }))
}

/** The steps that no index does. */
const inMemorySteps = ({ from, where, orderBy, distinct, columns }: QueryTree): string[] => {
  const parts: [string, boolean][] = [
    ['CONTAINS', from.contains !== undefined],
    ['WHERE', where !== undefined],
    ['aggregates', columns.some(({ expression }) => expression.kind === 'aggregate')],
    ['DISTINCT', distinct],
    ['ORDER BY', orderBy.length > 0],
  ]
  return parts.flatMap(([name, isNeeded]) => (isNeeded ? [name] : []))
}
