import type { Violation } from '../../schemas/violation.ts'
import type { Values } from '../registered/kind.ts'

/** A text that says nothing. */
export const blank = (values: Values, field: string): Violation[] => {
  const value = values[field]
  return typeof value === 'string' && value.trim() === ''
    ? [{ path: field, code: 'blank', message: 'must not be blank' }]
    : []
}

/** Two days in the wrong order. */
export const before = (values: Values, later: string, earlier: string): Violation[] => {
  const [last, first] = [values[later], values[earlier]]
  const isWrong = typeof last === 'string' && typeof first === 'string' && last < first
  return isWrong ? [{ path: later, code: 'order', message: `must not be before ${earlier}` }] : []
}
