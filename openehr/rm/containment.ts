import { findRmClass, isSubclassOf, rmClassNames } from '../../schemas/openehr/rm-classes.ts'

/** The classes of the attributes of each class. */
const partClassNames: ReadonlyMap<string, readonly string[]> = new Map(
  rmClassNames.map((name) => {
    const types = [...(findRmClass(name)?.attributes.values() ?? [])].map(({ type }) => type)
    return [name, rmClassNames.filter((one) => types.some((type) => isSubclassOf(one, type)))]
  }),
)

/** All classes that an object of a class can contain, at any depth. */
function reachableClassNames(name: string): Set<string> {
  const reachableNames = new Set<string>()
  const open = [name]
  for (let next = open.pop(); next !== undefined; next = open.pop())
    for (const one of partClassNames.get(next) ?? [])
      if (!reachableNames.has(one)) {
        reachableNames.add(one)
        open.push(one)
      }
  return reachableNames
}

/** Whether an object of a class can be, or contain, one of another class. */
export const canContain = (container: string, name: string): boolean =>
  isSubclassOf(container, name) || [...reachableClassNames(container)].some((one) => isSubclassOf(one, name))
