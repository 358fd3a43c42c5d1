import type { AggregateCall } from '../language/ast.ts'
import { compareSortKeys, numberOfTerm, type SortKey, sortKeyOf, type Term } from '../terms/terms.ts'
import type { MemoryBudget } from './memory-budget.ts'
import { toCellJson } from './row.ts'

/** Computes one value from all rows of a group. */
export interface Aggregator {
  /** @param times number of rows with this term */
  add(term: Term, times: number): void
  result(): { cell: string; key: SortKey }
}

export function createAggregator({ name, distinct }: AggregateCall, budget: MemoryBudget): Aggregator {
  if (name === 'COUNT') return distinct ? countDistinct(budget) : countAll()
  return name === 'MIN' || name === 'MAX' ? minOrMax(name === 'MIN' ? -1 : 1) : sumOrAverage(name === 'AVG')
}

const hasValue = ({ value }: Term): boolean => value !== undefined && value !== null

const numericResult = (value: number | undefined) => ({ cell: JSON.stringify(value ?? null), key: value })

function countAll(): Aggregator {
  let count = 0
  return {
    add(term, times) {
      if (hasValue(term)) count += times
    },
    result: () => numericResult(count),
  }
}

function countDistinct(budget: MemoryBudget): Aggregator {
  const keys = new Set<string>()
  return {
    add(term) {
      if (!hasValue(term)) return
      const cell = toCellJson(term)
      if (keys.has(cell)) return
      budget.reserve(2 * cell.length + 50)
      keys.add(cell)
    },
    result: () => numericResult(keys.size),
  }
}

/** Returns the whole value, not only the magnitude that it compares. */
function minOrMax(direction: 1 | -1): Aggregator {
  let best: { cell: string; key: SortKey } | undefined
  return {
    add(term) {
      if (!hasValue(term)) return
      const key = sortKeyOf(term)
      if (best === undefined || compareSortKeys(key, best.key) * direction > 0)
        best = { cell: toCellJson(term), key }
    },
    result: () => best ?? numericResult(undefined),
  }
}

function sumOrAverage(average: boolean): Aggregator {
  let total = 0
  let compensation = 0
  let count = 0
  return {
    add(term, times) {
      const number = numberOfTerm(term)
      if (number === undefined) return
      const value = number * times
      const sum = total + value
      // As in the database, rounding errors are added up, too: so the order of the values does not matter.
      compensation += Math.abs(total) >= Math.abs(value) ? total - sum + value : value - sum + total
      total = sum
      count += times
    },
    result() {
      const sum = total + compensation
      return numericResult(count === 0 ? undefined : average ? sum / count : sum)
    },
  }
}
