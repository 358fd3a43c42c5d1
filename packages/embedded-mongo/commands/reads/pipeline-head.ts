/** The head of a pipeline: the stages that a find can run. */
import type { Document } from 'bson'
import { checkSort, readLimit, readSkip } from '../../language/aggregation/stages.ts'
import type { Query } from '../../storage/queries/query.ts'
import { isObject } from '../../values/bson-values.ts'
import { fail } from '../../values/errors.ts'

type Head = Pick<Query, 'filter' | 'sort' | 'skip' | 'limit'>

/** Splits off the head: leading $match, then $sort, $skip and $limit, each at most once, in this order. */
export const splitPipeline = (pipeline: Document[]): { query: Head; rest: Document[] } => {
  const query: Head = { filter: {} }
  let at = 0
  const next = (name: string): unknown => {
    const stage = pipeline[at]
    if (!stage || !Object.hasOwn(stage, name)) return undefined
    at++
    return stage[name]
  }
  const filters: unknown[] = []
  for (let filter = next('$match'); filter !== undefined; filter = next('$match'))
    filters.push(
      isObject(filter) ? filter : fail(15959, 'the match filter must be an expression in an object'),
    )
  if (filters.length > 0) query.filter = (filters.length === 1 ? filters[0] : { $and: filters }) as Document
  const sort = next('$sort')
  if (sort !== undefined) query.sort = checkSort(sort)
  const skip = next('$skip')
  if (skip !== undefined) query.skip = readSkip(skip)
  const limit = next('$limit')
  if (limit !== undefined) query.limit = readLimit(limit)
  return { query, rest: pipeline.slice(at) }
}
