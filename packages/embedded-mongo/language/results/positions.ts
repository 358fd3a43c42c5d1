/** Which element of an array a filter found: what `$` means in a projection and in an update. */
import type { Document } from 'bson'
import type { Collation } from '../../values/compare.ts'
import { fields, get, isObject } from '../../values/values.ts'
import { elementTest, isOperators } from '../filters/matcher.ts'

/** The first element of the array at `path` that a condition of the filter on it, or below it, accepts. */
export const matchedPosition = (
  path: string,
  array: unknown[],
  filter: Document,
  collation?: Collation,
): number => {
  for (const [key, condition] of Object.entries(fields(filter))) {
    if ((key === '$and' || key === '$or') && Array.isArray(condition)) {
      for (const inner of condition) {
        const found = matchedPosition(path, array, inner, collation)
        if (found >= 0) return found
      }
    }
    const test = elementCondition(path, key, condition, collation)
    const found = test ? array.findIndex(test) : -1
    if (found >= 0) return found
  }
  return -1
}

const elementCondition = (path: string, key: string, condition: unknown, collation?: Collation) => {
  if (key.startsWith(`${path}.`))
    return elementTest({ [key.slice(path.length + 1)]: condition }, { collation })
  if (key !== path) return undefined
  const elemMatch = get(condition, '$elemMatch')
  if (isObject(elemMatch)) return elementTest(elemMatch, { collation })
  const positive = isOperators(condition) ? withoutNegations(condition) : condition
  if (isOperators(condition) && !isOperators(positive)) return undefined
  const test = elementTest({ value: positive }, { collation })
  return (element: unknown) => test({ value: element })
}

/** What no element has to fulfil has no position. */
const withoutNegations = ({ $ne, $nin, $not, ...positive }: Document): Document => positive
