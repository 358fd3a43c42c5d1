/** What a JSON value may be at most. */
export interface JsonLimits {
  depth: number
  values: number
}

/**
 * Goes through a JSON value level by level, since recursion would end at the stack's limit, and stops at what is too
 * large: what comes after may take its time for each value.
 * @param visit is given each value; what it throws ends the walk
 * @returns which limit the value exceeds, if any
 */
export function walkJson(
  root: unknown,
  { depth, values }: JsonLimits,
  visit: (value: unknown) => void,
): keyof JsonLimits | undefined {
  let count = 0
  let level = [root]
  for (let levels = 0; level.length > 0; levels++) {
    count += level.length
    if (count > values) return 'values'
    for (const value of level) visit(value)
    const objects = level.filter((value) => typeof value === 'object' && value !== null) as object[]
    if (levels === depth && objects.length > 0) return 'depth'
    level = objects.flatMap(Object.values)
  }
  return undefined
}
