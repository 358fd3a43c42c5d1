/** The document with which an upsert starts. */
import type { Document } from 'bson'
import { clone, documentFields } from '../../values/bson-values.ts'
import { fail } from '../../values/errors.ts'
import { isRegex } from '../expressions/regex.ts'
import { isOperators } from '../filters/matcher.ts'
import { comparePaths, writePath } from './update-paths.ts'

/** A path that must equal a value according to the filter. */
interface Equality {
  path: string[]
  value: unknown
}

/**
 * The fields that must equal a value according to the filter. For a replacement (`replacing`) only the `_id`.
 * @throws 54 if two of them are the same field, or one lies within the other
 * @throws 111 for a part of the `_id` of a replacement
 */
export const upsertBase = (filter: Document, replacing: boolean): Document => {
  const equalities = equalitiesOf(filter).filter(({ path }) => !replacing || path[0] === '_id')
  const partial = replacing && equalities.find(({ path }) => path.length > 1)
  if (partial)
    fail(111, `field at '_id' must be exactly specified, field at sub-path '${partial.path.join('.')}' found`)
  checkDistinct(equalities)
  const base: Document = {}
  for (const { path, value } of equalities) writePath(base, path, clone(value))
  return base
}

const equalitiesOf = (filter: Document): Equality[] =>
  Object.entries(documentFields(filter)).flatMap(([key, value]) => {
    if (key === '$and' && Array.isArray(value)) return value.flatMap(equalitiesOf)
    if (key === '$or' && Array.isArray(value) && value.length === 1) return equalitiesOf(value[0])
    if (key.startsWith('$')) return []
    return requiredValues(value).map((requiredValue) => ({ path: key.split('.'), value: requiredValue }))
  })

const requiredValues = (condition: unknown): unknown[] => {
  if (isRegex(condition)) return []
  if (!isOperators(condition)) return [condition]
  const { $eq, $in, $all } = condition
  const inValues = Array.isArray($in) && $in.length === 1 ? $in : []
  // Lists may contain patterns and $elemMatch, which are conditions rather than values.
  const listedValues = [...inValues, ...($all ?? [])].filter(
    (value) => !isRegex(value) && !isOperators(value),
  )
  return [...($eq === undefined ? [] : [$eq]), ...listedValues]
}

const checkDistinct = (equalities: readonly Equality[]): void => {
  // In this order, paths within a path follow it directly.
  const paths = equalities.map(({ path }) => path).sort(comparePaths)
  for (const [at, path] of paths.entries()) {
    const before = at > 0 ? (paths[at - 1] as string[]) : undefined
    if (!before?.every((part, level) => part === path[level])) continue
    const outer = before.join('.')
    const inner = path.join('.')
    const conflict =
      outer === inner
        ? `path '${inner}' is matched twice`
        : `both paths '${inner}' and '${outer}' are matched`
    fail(54, `cannot infer query fields to set, ${conflict}`)
  }
}
