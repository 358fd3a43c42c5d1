import { Composition } from '../../records/compositions/composition-record.ts'
import { requireNoViolations } from '../../records/ehr-records/refusals/refusals.ts'
import type { MeasurementKind } from '../../records/measurements/measurement.ts'
import { EVERY_EHR } from '../../records/store/audit/scopes.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import { accessesByEhr, accessWithoutRecords } from '../../records/store/resource.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { lineAndColumnOf, TextSyntaxError } from '../formats/text-syntax-error.ts'
import { checkQuery, MAX_ROWS, pathsOfQuery, type QueryParameters } from './check-query.ts'
import { allOf, type DatabaseFilter } from './database-filters.ts'
import type { EhrTree } from './evaluation/ehr-tree.ts'
import { createEvaluation } from './evaluation/evaluation.ts'
import type { QueryTree } from './language/ast.ts'
import { parseQuery } from './language/parse-query.ts'
import { tokenize } from './language/tokenizer.ts'
import { planQuery, type QueryPlan } from './planner.ts'
import { MemoryBudget } from './results/memory-budget.ts'
import type { ResultRow, RowWindow } from './results/row.ts'
import { createRowCollector } from './results/row-collector.ts'
import { countArchetypeByIndex, countedArchetype } from './scan/archetype-count.ts'
import { countCompositions, planCompositionSearch } from './scan/composition-scan.ts'
import { EhrScan } from './scan/ehr-scan.ts'
import { scanEhrTrees } from './scan/ehr-tree-scan.ts'
import { countMeasurements, planMeasurementSearches } from './scan/measurement-scan.ts'
import { TimeSlice } from './time-slice.ts'

/** A query as a client sends it. */
export interface QueryRequest {
  q: string
  parameters: QueryParameters
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
  /** The measurements that would be read: kind, index, and their number, counted up to a limit. */
  measurements: { name: string; index: string; candidates: number }[]
  evaluated: string[]
}

/** The role that may query all EHRs. */
const ANALYST_ROLE = 'analyst'

/** Number of rows in one batch. */
const ROWS_PER_BATCH = 1000

/** With more EHRs than this, one audit entry with a scope covers all of them. */
const MAX_AUDITED_EHRS = 100

/** AQL queries over the compositions and EHRs that a caller may read. */
export class Queries {
  readonly #records: StoreContext
  readonly #kinds: readonly MeasurementKind[]
  readonly #haveFacts: () => boolean

  /**
   * @param kinds measurements that are shown as compositions
   * @param haveFacts whether the backfill has extracted the facts of all compositions
   */
  constructor(
    records: StoreContext,
    kinds: readonly MeasurementKind[],
    haveFacts: () => boolean = () => true,
  ) {
    this.#records = records
    this.#kinds = kinds
    this.#haveFacts = haveFacts
  }

  /**
   * @param isAbandoned whether the client no longer waits for the response
   * @throws InvalidInput with line and column for an invalid query; RuleViolated for LIMIT together with
   * fetch
   */
  run(caller: Caller, request: QueryRequest, isAbandoned: () => boolean): QueryResult {
    const query = parseAndCheckQuery(request)
    const window = rowWindow(query, request)
    const evaluated = createEvaluation(query, this.#records.clock())
    const collected = createRowCollector(query, evaluated, window, new MemoryBudget())
    const plan = this.#planQuery(query)
    const found = scanEhrTrees({
      ...{ db: this.#records.db, kinds: this.#kinds },
      ...{ caller: withAnalystRights(caller), plan, needsEhr: needsEhr(query) },
    })
    const evaluating = () => evaluateRows({ found, evaluated, collected, pace: new TimeSlice(isAbandoned) })
    const counted = this.#haveFacts() ? countedArchetype(query) : undefined
    const made =
      counted === undefined ? evaluating() : this.#countByIndex(caller, counted, window, { evaluating, plan })
    return {
      columns: resultColumns(query),
      window,
      rows: () => this.#auditRows(caller, request, made),
      hasMore: collected.hasMore,
    }
  }

  #planQuery(query: QueryTree): QueryPlan {
    const plan = planQuery(query)
    return this.#haveFacts() ? plan : { ...plan, facts: undefined }
  }

  /** Counts by indexes alone, for callers who query all EHRs. */
  async *#countByIndex(
    caller: Caller,
    archetypeId: string,
    { offset, limit }: RowWindow,
    { evaluating, plan }: { evaluating: () => AsyncGenerator<ResultRow[]>; plan: QueryPlan },
  ): AsyncGenerator<ResultRow[]> {
    const { db } = this.#records
    const reader = withAnalystRights(caller)
    const isOne = reader.unrestricted && offset === 0 && limit > 0
    const withheld = isOne && (await new EhrScan(db, reader, plan).withheld())
    const count = withheld && (await countArchetypeByIndex(db, this.#kinds, archetypeId, withheld))
    if (typeof count !== 'number') yield* evaluating()
    else yield [{ cells: [String(count)], keys: [], from: [{ ehrId: EVERY_EHR, records: [] }] }]
  }

  async explain(caller: Caller, request: QueryRequest): Promise<QueryExplanation> {
    const query = parseAndCheckQuery(request)
    rowWindow(query, request)
    const plan = this.#planQuery(query)
    const reader = withAnalystRights(caller)
    const { db } = this.#records
    const ids = plan.compositions ? await new EhrScan(db, reader, plan).ids() : []
    const search = plan.compositions ? planCompositionSearch(plan, reader, ids) : undefined
    const searches = planMeasurementSearches({ caller: reader, plan, kinds: this.#kinds }, ids)
    const measurements = searches.map(async (one) => ({
      ...{ name: one.kind.name, index: one.index, candidates: await countMeasurements(db, one) },
    }))
    return {
      plan,
      conditions: allOf([plan.candidates, plan.facts]) ?? {},
      index: search?.index,
      candidates: search && ids?.length !== 0 ? await countCompositions(db, search) : 0,
      measurements: await Promise.all(measurements),
      evaluated: inMemorySteps(query),
    }
  }

  /** Returns the rows in batches, and audits each batch first. */
  async *#auditRows(
    caller: Caller,
    request: QueryRequest,
    found: AsyncGenerator<ResultRow[]>,
  ): AsyncGenerator<string[][]> {
    const what = { action: 'query', asked: `aql: ${withoutValues(request.q)}` } as const
    let isEmpty = true
    for await (const made of found) {
      if (made.length === 0) continue
      isEmpty = false
      await this.#auditBatch(caller, what, made)
      yield made.map(({ cells }) => cells)
    }
    if (isEmpty)
      await this.#records.audit.record(
        ...accessWithoutRecords(Composition, caller, { ...what, outcome: 'done' }, {}),
      )
  }

  async #auditBatch(
    caller: Caller,
    what: { action: 'query'; asked: string },
    made: ResultRow[],
  ): Promise<void> {
    const { audit } = this.#records
    const sources = new Map<string, Set<string>>()
    // All groups share one set of sources, so each set is added only once.
    for (const from of new Set(made.map((one) => one.from)))
      for (const { ehrId, records } of from) {
        const known = sources.get(ehrId) ?? new Set()
        for (const id of records) known.add(id)
        sources.set(ehrId, known)
      }
    const all = [...sources].flatMap(([ehrId, ids]) => {
      const records = [...ids].map((id) => ({ id, ehrId }))
      return accessesByEhr(Composition, caller, what, records.length > 0 ? records : [{ id: ehrId, ehrId }])
    })
    if (all.length <= MAX_AUDITED_EHRS) return audit.record(...all)
    const [first] = all
    if (first) await audit.record({ ...first, ehrId: await audit.saveScope([...sources.keys()]), ids: [] })
  }
}

/** An analyst may read all EHRs, but only in queries. */
const withAnalystRights = (caller: Caller): Caller =>
  caller.roles.includes(ANALYST_ROLE) ? { ...caller, unrestricted: true } : caller

/** Maximum length of a query; longer ones come from programs that should ask for less. */
const MAX_QUERY_LENGTH = 64 * 1024

/** @throws InvalidInput */
export function parseAndCheckQuery({ q, parameters }: Pick<QueryRequest, 'q' | 'parameters'>): QueryTree {
  if (q.length > MAX_QUERY_LENGTH)
    throw new ServiceError('InvalidInput', {
      detail: 'The query is longer than 64 KB.',
      violations: [{ path: 'q', code: 'maxLength', message: 'is longer than 64 KB' }],
    })
  try {
    return checkQuery(parseQuery(q), parameters)
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
  return parts.flatMap(([name, is]) => (is ? [name] : []))
}

/** The query without its values, for the audit. */
const withoutValues = (q: string): string =>
  tokenize(q)
    .map(({ kind, text }) =>
      kind === 'string' || kind === 'number' ? '?' : kind === 'parameter' ? `$${text}` : text,
    )
    .join(' ')
    .trim()

interface EvaluationRun {
  found: AsyncGenerator<EhrTree>
  evaluated: ReturnType<typeof createEvaluation>
  collected: ReturnType<typeof createRowCollector>
  pace: TimeSlice
}

/** Evaluates one EHR tree after the other, and yields to other requests in between. */
async function* evaluateRows({
  found,
  evaluated,
  collected,
  pace,
}: EvaluationRun): AsyncGenerator<ResultRow[]> {
  let made: ResultRow[] = []
  for await (const forest of found) {
    if (pace.isOver()) await pace.yieldToOthers()
    for (const row of evaluated.rows(forest)) {
      if (row) made.push(...collected.add(row, forest.ehrId))
      else if (pace.isOver()) await pace.yieldToOthers()
      if (collected.isFull()) break
    }
    if (collected.isFull()) break
    if (made.length >= ROWS_PER_BATCH) {
      yield made
      made = []
    }
  }
  yield [...made, ...collected.end()]
}
