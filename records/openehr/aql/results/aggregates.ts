import type { Aggregate } from '../language/ast.ts'
import { compareKeys, type Key, keyOf, numberIn, type Term } from '../terms/terms.ts'
import type { Budget } from './budget.ts'
import { cellOf } from './made.ts'

/** What of a group becomes one value. */
export interface Tally {
  /** @param times how often it is there */
  add(term: Term, times: number): void
  result(): { cell: string; key: Key }
}

export function tally({ name, distinct }: Aggregate, budget: Budget): Tally {
  if (name === 'COUNT') return distinct ? countOfDifferent(budget) : count()
  return name === 'MIN' || name === 'MAX' ? extreme(name === 'MIN' ? -1 : 1) : sum(name === 'AVG')
}

const isThere = ({ value }: Term): boolean => value !== undefined && value !== null

const numeric = (value: number | undefined) => ({ cell: JSON.stringify(value ?? null), key: value })

function count(): Tally {
  let found = 0
  return {
    add(term, times) {
      if (isThere(term)) found += times
    },
    result: () => numeric(found),
  }
}

function countOfDifferent(budget: Budget): Tally {
  const found = new Set<string>()
  return {
    add(term) {
      if (!isThere(term)) return
      const cell = cellOf(term)
      if (found.has(cell)) return
      budget.spend(2 * cell.length + 50)
      found.add(cell)
    },
    result: () => numeric(found.size),
  }
}

/** The whole value, not only the magnitude that decides. */
function extreme(direction: 1 | -1): Tally {
  let best: { cell: string; key: Key } | undefined
  return {
    add(term) {
      if (!isThere(term)) return
      const key = keyOf(term)
      if (best === undefined || compareKeys(key, best.key) * direction > 0) best = { cell: cellOf(term), key }
    },
    result: () => best ?? numeric(undefined),
  }
}

function sum(average: boolean): Tally {
  let [total, added] = [0, 0]
  return {
    add(term, times) {
      const value = numberIn(term)
      if (value === undefined) return
      total += value * times
      added += times
    },
    result: () => numeric(added === 0 ? undefined : average ? total / added : total),
  }
}
