import type { Evaluation } from '../evaluation/evaluation.ts'
import type { AggregateCall, QueryTree } from '../language/ast.ts'
import { sortKeyOf, type Term } from '../terms/terms.ts'
import { type Aggregator, createAggregator } from './aggregates.ts'
import type { MemoryBudget } from './memory-budget.ts'
import { createRowComparator, type ResultRow, type RowCollector, type RowWindow, toCellJson } from './row.ts'

interface RowGroup {
  /** The values of the grouping columns; undefined for aggregates. */
  cells: (string | undefined)[]
  keys: ResultRow['keys']
  tallies: (Aggregator | undefined)[]
}

type AggregateColumns = readonly (AggregateCall | undefined)[]

const EHR_ID_BYTES = 100

/**
 * Groups rows by all columns that are not aggregates. If all columns are aggregates, there is always exactly
 * one row.
 */
export function createGroupingCollector(
  query: QueryTree,
  evaluation: Evaluation,
  window: RowWindow,
  budget: MemoryBudget,
): RowCollector {
  const columns: AggregateColumns = query.columns.map(({ expression }) =>
    expression.kind === 'aggregate' ? expression : undefined,
  )
  const groups = new Map<string, RowGroup>()
  const ehrIds = new Set<string>()
  let more = false
  const groupOf = (terms: readonly Term[]): RowGroup => {
    const cells = terms.map((term, i) => (columns[i] ? undefined : toCellJson(term)))
    const key = cells.filter((cell) => cell !== undefined).join('\n')
    const existingGroup = groups.get(key)
    if (existingGroup) return existingGroup
    budget.reserve(2 * key.length + 200 * columns.length)
    const group = createGroup(columns, cells, terms.map(sortKeyOf), budget)
    groups.set(key, group)
    return group
  }
  if (columns.every((one) => one !== undefined)) groups.set('', createGroup(columns, [], [], budget))
  return {
    *add(row, ehrId) {
      const terms: Term[] = []
      for (const getter of evaluation.columns) {
        terms.push(getter(row))
        if (evaluation.steps.isLow()) yield* evaluation.steps.pause()
      }
      for (const [i, one] of groupOf(terms).tallies.entries()) one?.add(terms[i] as Term, row.count)
      if (!ehrIds.has(ehrId)) budget.reserve(EHR_ID_BYTES)
      ehrIds.add(ehrId)
      return []
    },
    end() {
      const sources = [...ehrIds].map((ehrId) => ({ ehrId, records: [] }))
      const allGroups = [...groups.values()]
        .map((group) => groupToRow(query, group, sources))
        .sort(createRowComparator(query))
      const { offset, limit } = window
      more = allGroups.length > offset + limit
      return allGroups.slice(offset, offset + limit)
    },
    isFull: () => false,
    isSettled: () => false,
    hasMore: () => more,
  }
}

function createGroup(
  columns: AggregateColumns,
  cells: RowGroup['cells'],
  keys: RowGroup['keys'],
  budget: MemoryBudget,
): RowGroup {
  return { cells, keys, tallies: columns.map((one) => one && createAggregator(one, budget)) }
}

/** A group does not keep its sources, because each may come from all EHRs. */
function groupToRow(
  { orderBy }: QueryTree,
  { cells, keys, tallies }: RowGroup,
  sources: ResultRow['sources'],
): ResultRow {
  const results = tallies.map((one) => one?.result())
  return {
    cells: results.map((result, i) => result?.cell ?? (cells[i] as string)),
    keys: orderBy.map(({ column = 0 }) => results[column]?.key ?? keys[column]),
    sources,
  }
}
