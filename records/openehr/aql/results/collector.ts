import type { Evaluation } from '../evaluation/evaluate.ts'
import type { Row } from '../evaluation/joins.ts'
import type { Query } from '../language/ast.ts'
import { keyOf } from '../terms/terms.ts'
import type { Budget } from './budget.ts'
import { grouped } from './groups.ts'
import { type Collector, cellOf, comparing, type Made, sizeOf, type Window } from './made.ts'

/** @param query checked */
export function collector(query: Query, evaluation: Evaluation, window: Window, budget: Budget): Collector {
  const isGrouped = query.columns.some(({ expression }) => expression.kind === 'aggregate')
  if (isGrouped) return grouped(query, evaluation, window, budget)
  const made = rowMaker(evaluation)
  const isNew = query.distinct ? once(budget) : () => true
  return query.orderBy.length > 0
    ? ordered(query, made, isNew, window, budget)
    : plain(made, isNew, window, budget)
}

type Maker = (row: Row, ehrId: string) => Made

const rowMaker =
  ({ columns, orderBy }: Evaluation): Maker =>
  (row, ehrId) => ({
    cells: columns.map((of) => cellOf(of(row))),
    keys: orderBy.map((of) => keyOf(of(row))),
    from: [{ ehrId, records: recordsOf(row) }],
  })

const recordsOf = ({ bound }: Row): string[] => [
  ...new Set(bound.flatMap((node) => (node?.record === undefined ? [] : [node.record]))),
]

/** Whether a row has not been there yet. */
function once(budget: Budget): (made: Made) => boolean {
  const known = new Set<string>()
  return (made) => {
    const key = made.cells.join('\n')
    if (known.has(key)) return false
    budget.spend(2 * key.length + 50)
    known.add(key)
    return true
  }
}

function plain(made: Maker, isNew: (made: Made) => boolean, window: Window, budget: Budget): Collector {
  let seen = 0
  let more = false
  const { offset, limit } = window
  return {
    add(row, ehrId) {
      const one = made(row, ehrId)
      if (!isNew(one)) return []
      seen++
      if (seen <= offset) return []
      more = seen > offset + limit
      if (more) return []
      budget.spend(sizeOf(one))
      return [one]
    },
    end: () => [],
    isFull: () => more,
    hasMore: () => more,
  }
}

/** Keeps no more than twice what is asked for. */
function ordered(
  query: Query,
  made: Maker,
  isNew: (made: Made) => boolean,
  { offset, limit }: Window,
  budget: Budget,
): Collector {
  const compare = comparing(query)
  const wanted = offset + limit + 1
  let kept: Made[] = []
  let more = false
  const trim = (): void => {
    kept.sort(compare)
    for (const one of kept.slice(wanted)) budget.release(sizeOf(one))
    kept = kept.slice(0, wanted)
  }
  return {
    add(row, ehrId) {
      const one = made(row, ehrId)
      if (!isNew(one)) return []
      budget.spend(sizeOf(one))
      kept.push(one)
      if (kept.length >= 2 * wanted) trim()
      return []
    },
    end() {
      trim()
      more = kept.length > offset + limit
      return kept.slice(offset, offset + limit)
    },
    isFull: () => false,
    hasMore: () => more,
  }
}
