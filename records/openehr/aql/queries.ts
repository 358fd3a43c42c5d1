import { ServiceError } from '../../../schemas/errors.ts'
import type { MeasurementKind } from '../../measurements/measurement.ts'
import { refuseViolations } from '../../registered/refusals/refusals.ts'
import { EVERY_EHR } from '../../store/audit/scopes.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { accessesOf, attemptOf } from '../../store/resource.ts'
import type { Records } from '../../store/writing/transaction.ts'
import { Composition } from '../composition-record.ts'
import type { FactsFilling } from '../compositions/facts-filling.ts'
import { placeOf, TextFault } from '../formats/text-fault.ts'
import { checked, MOST_ROWS, type Parameters, pathsIn } from './checker.ts'
import { evaluation } from './evaluation/evaluate.ts'
import type { Forest } from './evaluation/forest.ts'
import { both, type Filter } from './filters.ts'
import type { Query } from './language/ast.ts'
import { tokensOf } from './language/lexer.ts'
import { parseQuery } from './language/parser.ts'
import { Pace } from './pace.ts'
import { type Plan, planOf } from './planner.ts'
import { countOf, searchOf } from './reading/compositions.ts'
import { countedIn, countOfArchetype } from './reading/counts.ts'
import { EhrsRead } from './reading/ehrs-read.ts'
import { forests } from './reading/forests.ts'
import { countOfSearch, searchesOf } from './reading/measured.ts'
import { Budget } from './results/budget.ts'
import { collector } from './results/collector.ts'
import type { Made, Window } from './results/made.ts'

/** A query as a client asks it. */
export interface QueryRequest {
  q: string
  parameters: Parameters
  offset?: number | undefined
  fetch?: number | undefined
}

interface ResultColumn {
  name: string
  path?: string
}

/** What a query comes to, as far as it is known before there are rows. */
export interface Result {
  columns: ResultColumn[]
  window: Window
  /** Some rows after the other, each as the JSON of its cells; the audit has been told of them. */
  rows(): AsyncGenerator<string[][]>
  /** Whether there are more rows behind those; known at the end. */
  hasMore(): boolean
}

/** How a query would be answered. */
export interface Explanation {
  plan: Plan
  /** What compositions are narrowed by. */
  conditions: Filter
  /** By which index compositions are found; undefined: none are read. */
  index: string | undefined
  /** How many compositions would be read, counted up to a limit. */
  candidates: number
  /** The measurements that would be read, too: of which kind, by which index, and how many, counted up to a limit. */
  measurements: { name: string; index: string; candidates: number }[]
  evaluated: string[]
}

/** Who may query all EHRs. */
const ANALYST = 'analyst'

/** Rows that are given out at once. */
const BATCH = 1000

/** With more EHRs than this, an answer is one entry of the audit, which stands for all of them. */
const MOST_ENTRIES = 100

/** Queries over the compositions and the EHRs that a caller may read, in AQL. */
export class Queries {
  readonly #records: Records
  readonly #kinds: readonly MeasurementKind[]
  readonly #facts: Pick<FactsFilling, 'isDone'>

  /**
   * @param kinds the measurements that are compositions, too
   * @param facts whether all compositions have theirs
   */
  constructor(
    records: Records,
    kinds: readonly MeasurementKind[],
    facts: Pick<FactsFilling, 'isDone'> = { isDone: true },
  ) {
    this.#records = records
    this.#kinds = kinds
    this.#facts = facts
  }

  /**
   * @param isAbandoned whether nobody waits for the answer any more
   * @throws InvalidInput with line and column for what is no query; RuleViolated for LIMIT beside fetch
   */
  ask(caller: Caller, request: QueryRequest, isAbandoned: () => boolean): Result {
    const query = queryIn(request)
    const window = windowOf(query, request)
    const evaluated = evaluation(query, this.#records.clock())
    const collected = collector(query, evaluated, window, new Budget())
    const plan = this.#planOf(query)
    const found = forests({
      ...{ db: this.#records.db, kinds: this.#kinds },
      ...{ caller: readerOf(caller), plan, needsEhr: needsEhr(query) },
    })
    const evaluating = () => collectedRows({ found, evaluated, collected, pace: new Pace(isAbandoned) })
    const counted = this.#facts.isDone ? countedIn(query) : undefined
    const made =
      counted === undefined ? evaluating() : this.#counted(caller, counted, window, { evaluating, plan })
    return {
      columns: columnsOf(query),
      window,
      rows: () => this.#reported(caller, request, made),
      hasMore: collected.hasMore,
    }
  }

  #planOf(query: Query): Plan {
    const plan = planOf(query)
    return this.#facts.isDone ? plan : { ...plan, facts: undefined }
  }

  /** What indexes count, for those who query all EHRs. */
  async *#counted(
    caller: Caller,
    archetypeId: string,
    { offset, limit }: Window,
    { evaluating, plan }: { evaluating: () => AsyncGenerator<Made[]>; plan: Plan },
  ): AsyncGenerator<Made[]> {
    const { db } = this.#records
    const reader = readerOf(caller)
    const isOne = reader.unrestricted && offset === 0 && limit > 0
    const withheld = isOne && (await new EhrsRead(db, reader, plan).withheld())
    const count = withheld && (await countOfArchetype(db, this.#kinds, archetypeId, withheld))
    if (typeof count !== 'number') yield* evaluating()
    else yield [{ cells: [String(count)], keys: [], from: [{ ehrId: EVERY_EHR, records: [] }] }]
  }

  async explain(caller: Caller, request: QueryRequest): Promise<Explanation> {
    const query = queryIn(request)
    windowOf(query, request)
    const plan = this.#planOf(query)
    const reader = readerOf(caller)
    const { db } = this.#records
    const ids = plan.compositions ? await new EhrsRead(db, reader, plan).ids() : []
    const search = plan.compositions ? searchOf(plan, reader, ids) : undefined
    const searches = searchesOf({ caller: reader, plan, kinds: this.#kinds }, ids)
    const measurements = searches.map(async (one) => ({
      ...{ name: one.kind.name, index: one.index, candidates: await countOfSearch(db, one) },
    }))
    return {
      plan,
      conditions: both([plan.candidates, plan.facts]) ?? {},
      index: search?.index,
      candidates: search && ids?.length !== 0 ? await countOf(db, search) : 0,
      measurements: await Promise.all(measurements),
      evaluated: partsOf(query),
    }
  }

  /** The rows, some at a time, of which the audit knows. */
  async *#reported(
    caller: Caller,
    request: QueryRequest,
    found: AsyncGenerator<Made[]>,
  ): AsyncGenerator<string[][]> {
    const what = { action: 'query', asked: `aql: ${shapeOf(request.q)}` } as const
    let isEmpty = true
    for await (const made of found) {
      if (made.length === 0) continue
      isEmpty = false
      await this.#report(caller, what, made)
      yield made.map(({ cells }) => cells)
    }
    if (isEmpty)
      await this.#records.audit.record(...attemptOf(Composition, caller, { ...what, outcome: 'done' }, {}))
  }

  async #report(caller: Caller, what: { action: 'query'; asked: string }, made: Made[]): Promise<void> {
    const { audit } = this.#records
    const sources = new Map<string, Set<string>>()
    // What is of a group of rows is of all groups.
    for (const from of new Set(made.map((one) => one.from)))
      for (const { ehrId, records } of from) {
        const known = sources.get(ehrId) ?? new Set()
        for (const id of records) known.add(id)
        sources.set(ehrId, known)
      }
    const all = [...sources].flatMap(([ehrId, ids]) => {
      const records = [...ids].map((id) => ({ id, ehrId }))
      return accessesOf(Composition, caller, what, records.length > 0 ? records : [{ id: ehrId, ehrId }])
    })
    if (all.length <= MOST_ENTRIES) return audit.record(...all)
    const [first] = all
    if (first) await audit.record({ ...first, ehrId: await audit.scopeOf([...sources.keys()]), ids: [] })
  }
}

/** An analyst reads all EHRs, in queries only. */
const readerOf = (caller: Caller): Caller =>
  caller.roles.includes(ANALYST) ? { ...caller, unrestricted: true } : caller

/** @throws InvalidInput */
export function queryIn({ q, parameters }: Pick<QueryRequest, 'q' | 'parameters'>): Query {
  try {
    return checked(parseQuery(q), parameters)
  } catch (error) {
    if (!(error instanceof TextFault)) throw error
    const { line, column } = placeOf(q, error.offset)
    const message = `is no query: line ${line}, column ${column}: ${error.message}`
    throw new ServiceError('InvalidInput', {
      violations: [{ path: 'q', code: 'aql', message, line, column }],
    })
  }
}

/** @throws RuleViolated */
function windowOf({ limit, offset = 0 }: Query, request: QueryRequest): Window {
  if (limit === undefined) return { offset: request.offset ?? 0, limit: request.fetch ?? MOST_ROWS }
  const message = 'must be left out, as the query has a LIMIT'
  if (request.fetch !== undefined) refuseViolations([{ path: 'fetch', code: 'limit', message }])
  if (request.offset) refuseViolations([{ path: 'offset', code: 'limit', message }])
  return { offset, limit }
}

/** Whether more of an EHR is asked for than its id. */
function needsEhr(query: Query): boolean {
  const { rmType, variable, predicate } = query.from
  if (rmType !== 'EHR') return false
  const isMore = pathsIn(query).some(
    (path) => path.variable === variable && path.parts[0]?.attribute !== 'ehr_id',
  )
  return isMore || /"attribute":"(?!ehr_id"|value")/.test(JSON.stringify(predicate ?? ''))
}

function columnsOf({ columns }: Query): ResultColumn[] {
  return columns.map(({ expression, text, alias }, i) => ({
    name: alias ?? `#${i}`,
    ...(expression.kind === 'path' && { path: text }),
  }))
}

/** What is done beside what the index does. */
const partsOf = ({ from, where, orderBy, distinct, columns }: Query): string[] => {
  const parts: [string, boolean][] = [
    ['CONTAINS', from.contains !== undefined],
    ['WHERE', where !== undefined],
    ['aggregates', columns.some(({ expression }) => expression.kind === 'aggregate')],
    ['DISTINCT', distinct],
    ['ORDER BY', orderBy.length > 0],
  ]
  return parts.flatMap(([name, is]) => (is ? [name] : []))
}

/** What was asked, without any value in it. */
const shapeOf = (q: string): string =>
  tokensOf(q)
    .map(({ kind, text }) =>
      kind === 'string' || kind === 'number' ? '?' : kind === 'parameter' ? `$${text}` : text,
    )
    .join(' ')
    .trim()

interface Work {
  found: AsyncGenerator<Forest>
  evaluated: ReturnType<typeof evaluation>
  collected: ReturnType<typeof collector>
  pace: Pace
}

/** Evaluates one forest after the other, and gives way to others in between. */
async function* collectedRows({ found, evaluated, collected, pace }: Work): AsyncGenerator<Made[]> {
  let made: Made[] = []
  for await (const forest of found) {
    if (pace.isDue()) await pace.giveWay()
    for (const row of evaluated.rows(forest)) {
      if (row) made.push(...collected.add(row, forest.ehrId))
      else if (pace.isDue()) await pace.giveWay()
      if (collected.isFull()) break
    }
    if (collected.isFull()) break
    if (made.length >= BATCH) {
      yield made
      made = []
    }
  }
  yield [...made, ...collected.end()]
}
