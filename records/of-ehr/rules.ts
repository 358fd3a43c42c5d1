import type { Violation } from '../../schemas/violation.ts'
import type { Values } from '../registered/kind.ts'

/** A text that says nothing. */
export const blank = (values: Values, field: string): Violation[] => {
  const value = values[field]
  return typeof value === 'string' && value.trim() === ''
    ? [{ path: field, code: 'blank', message: 'must not be blank' }]
    : []
}

/** A text that stands in an address: clients take `.` and `..` for steps, and none can write NUL there. */
export const unaddressable = (values: Values, field: string): Violation[] => {
  const value = values[field]
  return value === '.' || value === '..' || String(value).includes('\0')
    ? [{ path: field, code: 'address', message: 'must not be . or .. or hold NUL: no address leads there' }]
    : []
}

/** Two days in the wrong order. */
export const before = (values: Values, later: string, earlier: string): Violation[] => {
  const [last, first] = [values[later], values[earlier]]
  const isWrong = typeof last === 'string' && typeof first === 'string' && last < first
  return isWrong ? [{ path: later, code: 'order', message: `must not be before ${earlier}` }] : []
}
