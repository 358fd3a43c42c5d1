import type { Evaluation } from '../evaluation/evaluate.ts'
import type { Found } from '../evaluation/ways/listing.ts'
import type { Query } from '../language/ast.ts'
import { isObject, keyOf, type Term } from '../terms/terms.ts'
import type { Budget } from './budget.ts'
import { grouped } from './groups.ts'
import { type Collector, cellOf, comparing, type Made, sizeOf, type Window } from './made.ts'

/** @param query checked */
export function collector(query: Query, evaluation: Evaluation, window: Window, budget: Budget): Collector {
  const isGrouped = query.columns.some(({ expression }) => expression.kind === 'aggregate')
  if (isGrouped) return grouped(query, evaluation, window, budget)
  const made = rowMaker(evaluation)
  const times = query.distinct ? once(budget) : asOften
  return query.orderBy.length > 0
    ? ordered(query, made, times, window, budget)
    : plain(made, times, window, budget)
}

type Maker = (row: Found, ehrId: string) => Made

function rowMaker({ columns, orderBy }: Evaluation): Maker {
  const known = new WeakMap<object, string>()
  /** An object that is combined with many others is written once. */
  const cell = (term: Term): string => {
    const { value } = term
    if (!isObject(value)) return cellOf(term)
    const text = known.get(value) ?? cellOf(term)
    known.set(value, text)
    return text
  }
  return (row, ehrId) => ({
    cells: columns.map((of) => cell(of(row))),
    keys: orderBy.map((of) => keyOf(of(row))),
    from: [{ ehrId, records: [...row.records()] }],
  })
}

/** How often a row is there that has been made. */
type Times = (made: Made, row: Found) => number

const asOften: Times = (_, { times }) => times

/** Once, when it has not been there yet. */
function once(budget: Budget): Times {
  const known = new Set<string>()
  return ({ cells }) => {
    const key = cells.join('\n')
    if (known.has(key)) return 0
    budget.spend(2 * key.length + 50)
    known.add(key)
    return 1
  }
}

const repeated = (made: Made, times: number): Made[] => new Array<Made>(times).fill(made)

function plain(make: Maker, timesOf: Times, { offset, limit }: Window, budget: Budget): Collector {
  let seen = 0
  return {
    add(row, ehrId) {
      if (timesOf === asOften && seen + row.times <= offset) {
        seen += row.times
        return []
      }
      const made = make(row, ehrId)
      const first = Math.max(seen, offset)
      seen += timesOf(made, row)
      const wanted = Math.max(0, Math.min(seen, offset + limit) - first)
      budget.spend(wanted * sizeOf(made))
      return repeated(made, wanted)
    },
    end: () => [],
    isFull: () => seen > offset + limit,
    hasMore: () => seen > offset + limit,
  }
}

/** Keeps no more than twice what is asked for. */
function ordered(
  query: Query,
  make: Maker,
  timesOf: Times,
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
      const made = make(row, ehrId)
      const times = Math.min(timesOf(made, row), wanted)
      budget.spend(times * sizeOf(made))
      kept.push(...repeated(made, times))
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
