import { DAY_MS } from '../../../schemas/time/durations.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'
import type { Values } from '../kind.ts'

/** The violation of a text without a visible character. */
export const blankViolations = (values: Values, field: string): Violation[] => {
  const value = values[field]
  return typeof value === 'string' && !/[^\s\p{Cc}\p{Cf}]/u.test(value)
    ? [{ path: field, code: 'blank', message: 'must not be blank' }]
    : []
}

/** Violations of a text that is part of a URL: clients resolve `.` and `..`, and cannot send NUL. */
export const urlPathViolations = (values: Values, field: string): Violation[] => {
  const value = values[field]
  return value === '.' || value === '..' || String(value).includes('\0')
    ? [
        {
          path: field,
          code: 'address',
          message: 'must not be . or .. or contain NUL because it is part of a URL',
        },
      ]
    : []
}

/** The violations of changed days that are in the future everywhere: it may be tomorrow in another time zone. */
export function futureDateViolations(
  values: Values,
  changedFields: readonly string[],
  fields: readonly string[],
): Violation[] {
  const tomorrow = new Date(Date.now() + DAY_MS).toISOString().slice(0, 10)
  return fields
    .filter((field) => changedFields.includes(field) && String(values[field] ?? '').slice(0, 10) > tomorrow)
    .map((path) => ({ path, code: 'range', message: 'must not be in the future' }))
}

const dayOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value.slice(0, 'YYYY-MM-DD'.length) : undefined

/** The violation of two days in UTC in the wrong order. The class family sends them with a time, which does not count. */
export function dateOrderViolations(values: Values, later: string, earlier: string): Violation[] {
  const last = dayOf(values[later])
  const first = dayOf(values[earlier])
  if (last === undefined || first === undefined || last >= first) return []
  return [{ path: later, code: 'order', message: `must not be before ${earlier}` }]
}
