import { isA, rmClass, rmClasses } from './classes.ts'

/** The classes whose objects an object of each class may hold as its own attributes. */
const parts: ReadonlyMap<string, readonly string[]> = new Map(
  rmClasses.map((name) => {
    const types = [...(rmClass(name)?.attributes.values() ?? [])].map(({ type }) => type)
    return [name, rmClasses.filter((one) => types.some((type) => isA(one, type)))]
  }),
)

/** The classes whose objects may be found within an object of a class, however deep. */
function within(name: string): Set<string> {
  const found = new Set<string>()
  const open = [name]
  for (let next = open.pop(); next !== undefined; next = open.pop())
    for (const one of parts.get(next) ?? [])
      if (!found.has(one)) {
        found.add(one)
        open.push(one)
      }
  return found
}

/** Whether an object of a class may be, or hold, one of another class. */
export const mayHold = (holder: string, name: string): boolean =>
  isA(holder, name) || [...within(holder)].some((one) => isA(one, name))
