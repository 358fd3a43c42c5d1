/** mingo, loaded when an expression or a pipeline first needs it: it would be more than half of a start. */
import { createRequire } from 'node:module'

const load = createRequire(import.meta.url)

const loadAll = () => ({
  ...(load('mingo/core') as typeof import('mingo/core')),
  ...(load('mingo/aggregator') as typeof import('mingo/aggregator')),
  accumulators: load('mingo/operators/accumulator') as typeof import('mingo/operators/accumulator'),
  expressions: load('mingo/operators/expression') as typeof import('mingo/operators/expression'),
  projections: load('mingo/operators/projection') as typeof import('mingo/operators/projection'),
  stages: load('mingo/operators/pipeline') as typeof import('mingo/operators/pipeline'),
})

let loaded: ReturnType<typeof loadAll> | undefined

export const mingo = (): ReturnType<typeof loadAll> => {
  loaded ??= loadAll()
  return loaded
}
