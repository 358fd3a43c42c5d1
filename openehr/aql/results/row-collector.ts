import { isRmObject } from '../../rm/canonical-json.ts'
import type { Evaluation } from '../evaluation/evaluation.ts'
import type { PatternMatch } from '../evaluation/matches/match-enumerator.ts'
import type { QueryTree } from '../language/ast.ts'
import { compareSortKeys, sortKeyOf, type Term } from '../terms/terms.ts'
import { createGroupingCollector } from './grouped-rows.ts'
import type { MemoryBudget } from './memory-budget.ts'
import {
  createRowComparator,
  type ResultRow,
  type RowCollector,
  type RowWindow,
  rowSizeBytes,
  toCellJson,
} from './row.ts'

/** @param query checked */
export function createRowCollector(
  query: QueryTree,
  evaluation: Evaluation,
  window: RowWindow,
  budget: MemoryBudget,
): RowCollector {
  const isGrouped = query.columns.some(({ expression }) => expression.kind === 'aggregate')
  if (isGrouped) return createGroupingCollector(query, evaluation, window, budget)
  const makeRow = createRowMaker(evaluation, budget)
  const times = query.distinct ? distinctOnly(budget) : everyTime
  return query.orderBy.length > 0
    ? createOrderedCollector(query, makeRow, times, window, budget)
    : createPlainCollector(makeRow, times, window, budget)
}

type RowMaker = (row: PatternMatch, ehrId: string) => Generator<undefined, ResultRow>

function createRowMaker({ columns, orderBy, steps }: Evaluation, budget: MemoryBudget): RowMaker {
  const jsonByObject = new WeakMap<object, string>()
  /** Writes an object that occurs in many rows only once. */
  const cell = (term: Term): string => {
    const { value } = term
    if (!isRmObject(value)) return toCellJson(term)
    const text = jsonByObject.get(value) ?? toCellJson(term)
    jsonByObject.set(value, text)
    return text
  }
  return function* make(row, ehrId) {
    const cells: string[] = []
    let reservedBytes = 0
    for (const getter of columns) {
      const text = cell(getter(row))
      budget.reserve(2 * text.length)
      reservedBytes += 2 * text.length
      cells.push(text)
      if (steps.isLow()) yield* steps.pause()
    }
    const keys: ResultRow['keys'] = []
    for (const getter of orderBy) {
      keys.push(sortKeyOf(getter(row)))
      if (steps.isLow()) yield* steps.pause()
    }
    budget.release(reservedBytes)
    return { cells, keys, sources: [{ ehrId, records: [...row.records()] }] }
  }
}

/** The multiplicity of a row in the result. */
type RowRepetition = (resultRow: ResultRow, row: PatternMatch) => number

const everyTime: RowRepetition = (_, { count }) => count

/** Once, unless an equal row has been added before. */
function distinctOnly(budget: MemoryBudget): RowRepetition {
  const keys = new Set<string>()
  return ({ cells }) => {
    const key = cells.join('\n')
    if (keys.has(key)) return 0
    budget.reserve(2 * key.length + 50)
    keys.add(key)
    return 1
  }
}

function createPlainCollector(
  make: RowMaker,
  timesOf: RowRepetition,
  { offset, limit }: RowWindow,
  budget: MemoryBudget,
): RowCollector {
  let rowCount = 0
  return {
    *add(row, ehrId) {
      if (timesOf === everyTime && rowCount + row.count <= offset) {
        rowCount += row.count
        return []
      }
      const resultRow = yield* make(row, ehrId)
      const first = Math.max(rowCount, offset)
      rowCount += timesOf(resultRow, row)
      const times = Math.max(0, Math.min(rowCount, offset + limit) - first)
      budget.reserve(times * rowSizeBytes(resultRow))
      return new Array<ResultRow>(times).fill(resultRow)
    },
    end: () => [],
    isFull: () => rowCount > offset + limit,
    isSettled: () => false,
    hasMore: () => rowCount > offset + limit,
  }
}

/** Keeps at most twice the number of requested rows. */
function createOrderedCollector(
  query: QueryTree,
  make: RowMaker,
  timesOf: RowRepetition,
  { offset, limit }: RowWindow,
  budget: MemoryBudget,
): RowCollector {
  const compare = createRowComparator(query)
  const neededCount = offset + limit + 1
  let first: ResultRow[] = []
  let more = false
  const trim = (): void => {
    first.sort(compare)
    for (const one of first.slice(neededCount)) budget.release(rowSizeBytes(one))
    first = first.slice(0, neededCount)
  }
  return {
    *add(row, ehrId, rank = 0) {
      const resultRow = { ...(yield* make(row, ehrId)), rank }
      const times = Math.min(timesOf(resultRow, row), neededCount)
      budget.reserve(times * rowSizeBytes(resultRow))
      for (let i = 0; i < times; i++) first.push(resultRow)
      if (first.length >= 2 * neededCount) trim()
      return []
    },
    end() {
      trim()
      more = first.length > offset + limit
      return first.slice(offset, offset + limit)
    },
    isFull: () => false,
    isSettled(bound) {
      trim()
      const last = first[neededCount - 1]
      if (!last) return false
      const order = compareSortKeys(last.keys[0], bound) * (query.orderBy[0]?.descending ? -1 : 1)
      return query.orderBy.length > 1 ? order < 0 : order <= 0
    },
    hasMore: () => more,
  }
}
