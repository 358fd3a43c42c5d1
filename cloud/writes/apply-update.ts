import { isDeepStrictEqual } from 'node:util'
import Parse from 'parse/node'
import type { Values } from '../../records/ehr-records/kind.ts'
import { lookUp } from '../../schemas/validation/look-up.ts'

interface FieldOperation {
  __op: string
  amount?: number
  objects?: unknown[]
}

const isOperation = (value: unknown): value is FieldOperation =>
  typeof (value as { __op?: unknown } | null | undefined)?.__op === 'string'

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

const includes = (list: readonly unknown[], value: unknown): boolean =>
  list.some((one) => isDeepStrictEqual(one, value))

/** The results of Parse's operations on the current value of a field. */
const OPERATIONS: Record<string, (now: unknown, operation: FieldOperation) => unknown> = {
  Delete: () => undefined,
  Increment: (now, { amount = 1 }) => (typeof now === 'number' ? now : 0) + amount,
  Add: (now, { objects = [] }) => [...listOf(now), ...objects],
  AddUnique(now, { objects = [] }) {
    const union = [...listOf(now)]
    for (const one of objects) if (!includes(union, one)) union.push(one)
    return union
  },
  Remove: (now, { objects = [] }) => listOf(now).filter((one) => !includes(objects, one)),
}

/** The field that a name of an update changes: `payload.mood` changes a part of `payload`. */
export const rootOf = (name: string): string => name.split('.', 1)[0] as string

/** Names of the fields whose next value depends on the current one. */
export const computedFieldNames = (update: Values): string[] =>
  Object.entries(update).flatMap(([name, change]) =>
    isOperation(change) || name.includes('.') ? [rootOf(name)] : [],
  )

/** The values that an object has under some names. */
export const pickValues = (values: Values, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(
    names.flatMap((name) =>
      Object.hasOwn(values, name) && values[name] !== undefined ? [[name, values[name]]] : [],
    ),
  )

/**
 * Applies an update to the fields of a record: values, operations, and both for a part of an object
 * (`payload.mood`). Both have the same form.
 * @throws Parse.Error 111 for an operation of relations
 */
export function applyUpdate(now: Values, update: Values): Record<string, unknown> {
  const next: Record<string, unknown> = { ...now }
  for (const [name, change] of Object.entries(update)) {
    const root = rootOf(name)
    next[root] =
      root === name
        ? changeValue(next[root], change)
        : changePart(next[root], name.slice(root.length + 1), change)
  }
  return next
}

function changeValue(now: unknown, change: unknown): unknown {
  if (!isOperation(change)) return change
  const operation = lookUp(OPERATIONS, change.__op)
  if (!operation)
    throw new Parse.Error(
      Parse.Error.INCORRECT_TYPE,
      `No class has properties for the operation ${change.__op}.`,
    )
  return operation(now, change)
}

function changePart(now: unknown, part: string, change: unknown): unknown {
  const { [part]: value, ...others } = (now ?? {}) as Record<string, unknown>
  const nextValue = changeValue(value, change)
  if (nextValue !== undefined) return { ...others, [part]: nextValue }
  return now && others
}
