import { isDeepStrictEqual } from 'node:util'
import type { TProperties } from '@sinclair/typebox'
import type { Values } from '../../records/ehr-records/kind.ts'
import { fromClassForm } from '../../schemas/forms/class-form.ts'
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
    const all = [...listOf(now)]
    for (const one of objects) if (!includes(all, one)) all.push(one)
    return all
  },
  Remove: (now, { objects = [] }) => listOf(now).filter((one) => !includes(objects, one)),
}

/**
 * Applies an update in class form to the fields of a record: values, operations, and both for a part of an object
 * (`payload.mood`).
 */
export function applyUpdate(fields: TProperties, now: Values, update: Record<string, unknown>): Values {
  const next: Record<string, unknown> = { ...now }
  for (const [name, change] of Object.entries(update)) {
    const [root = '', part] = name.split('.')
    if (part === undefined)
      next[root] = changeValue(next[root], fromClassForm(fields, { [root]: change })[root])
    else next[root] = changePart(next[root], part, change)
  }
  return next
}

function changeValue(now: unknown, change: unknown): unknown {
  if (!isOperation(change)) return change
  const operation = lookUp(OPERATIONS, change.__op)
  if (!operation) throw new TypeError(`No class has fields for the operation ${change.__op}.`)
  return operation(now, change)
}

function changePart(now: unknown, part: string, change: unknown): unknown {
  const { [part]: value, ...others } = (now ?? {}) as Record<string, unknown>
  const changed = changeValue(value, change)
  return changed === undefined ? others : { ...(now as object | undefined), [part]: changed }
}
