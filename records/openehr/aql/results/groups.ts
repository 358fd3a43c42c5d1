import type { Evaluation } from '../evaluation/evaluate.ts'
import type { Aggregate, Query } from '../language/ast.ts'
import { keyOf, type Term } from '../terms/terms.ts'
import { type Tally, tally } from './aggregates.ts'
import type { Budget } from './budget.ts'
import { type Collector, cellOf, comparing, type Made, type Window } from './made.ts'

interface Group {
  /** What the columns say that make the group; nothing of those that are aggregates. */
  cells: (string | undefined)[]
  keys: Made['keys']
  tallies: (Tally | undefined)[]
}

type Columns = readonly (Aggregate | undefined)[]

const EHR_BYTES = 100

/** Rows that agree in all that is no aggregate are one; where all are aggregates, there is one whatever there is. */
export function grouped(query: Query, evaluation: Evaluation, window: Window, budget: Budget): Collector {
  const columns: Columns = query.columns.map(({ expression }) =>
    expression.kind === 'aggregate' ? expression : undefined,
  )
  const groups = new Map<string, Group>()
  const ehrIds = new Set<string>()
  let more = false
  const groupOf = (terms: readonly Term[]): Group => {
    const cells = terms.map((term, i) => (columns[i] ? undefined : cellOf(term)))
    const key = cells.filter((cell) => cell !== undefined).join('\n')
    const known = groups.get(key)
    if (known) return known
    budget.spend(2 * key.length + 200 * columns.length)
    const made = newGroup(columns, cells, terms.map(keyOf), budget)
    groups.set(key, made)
    return made
  }
  if (columns.every((one) => one !== undefined)) groups.set('', newGroup(columns, [], [], budget))
  return {
    add(row, ehrId) {
      const terms = evaluation.columns.map((of) => of(row))
      for (const [i, one] of groupOf(terms).tallies.entries()) one?.add(terms[i] as Term, row.times)
      if (!ehrIds.has(ehrId)) budget.spend(EHR_BYTES)
      ehrIds.add(ehrId)
      return []
    },
    end() {
      const from = [...ehrIds].map((ehrId) => ({ ehrId, records: [] }))
      const made = [...groups.values()].map((group) => madeOf(query, group, from)).sort(comparing(query))
      const { offset, limit } = window
      more = made.length > offset + limit
      return made.slice(offset, offset + limit)
    },
    isFull: () => false,
    hasMore: () => more,
  }
}

function newGroup(columns: Columns, cells: Group['cells'], keys: Group['keys'], budget: Budget): Group {
  return { cells, keys, tallies: columns.map((one) => one && tally(one, budget)) }
}

/** What a group is made of is not kept: each may be of all EHRs. */
function madeOf({ orderBy }: Query, { cells, keys, tallies }: Group, from: Made['from']): Made {
  const results = tallies.map((one) => one?.result())
  return {
    cells: results.map((result, i) => result?.cell ?? (cells[i] as string)),
    keys: orderBy.map(({ column = 0 }) => results[column]?.key ?? keys[column]),
    from,
  }
}
