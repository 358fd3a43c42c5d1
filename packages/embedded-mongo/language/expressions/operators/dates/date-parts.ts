/** Builds dates from their parts, and splits them into parts. */
import { type Document, Int32 } from 'bson'
import { isNullish, isNumeric, isObject, toNumber } from '../../../../values/bson-values.ts'
import { fail } from '../../../../values/errors.ts'
import type { Expression, ExpressionOperator, Scope } from '../../expression.ts'
import { compileNamedOperands, isTrue, typeName, withNamedOperands } from '../operands.ts'
import { fromLocal, isoDay, isoWeek, isoWeekStart, toLocal, utcMilliseconds } from './calendar.ts'
import { readDateOperand, readZoneOperand } from './date-operands.ts'

const partsCodes = { object: 40519, unknown: 40518, missing: 40516 }
const calendarParts = ['month', 'day', 'hour', 'minute', 'second', 'millisecond']

export const $dateFromParts: ExpressionOperator = (operand, compiler, name) => {
  const isoForm = isObject(operand) && 'isoWeekYear' in operand
  const optional = [...calendarParts, 'year', 'isoWeekYear', 'isoWeek', 'isoDayOfWeek', 'timezone']
  const operands = withNamedOperands(operand, name, [], optional, partsCodes)
  if (!isoForm && !('year' in operands))
    fail(40516, `${name} requires either 'year' or 'isoWeekYear' to be present`)
  if (isoForm && ('year' in operands || 'month' in operands || 'day' in operands))
    fail(40489, `${name} does not allow mixing natural dates with ISO dates`)
  if (!isoForm && ('isoWeek' in operands || 'isoDayOfWeek' in operands))
    fail(40525, `${name} does not allow mixing ISO dates with natural dates`)
  const parts = compileNamedOperands(operands, compiler)
  return (scope) => {
    const where = readZoneOperand(parts.timezone?.(scope), parts.timezone !== undefined)
    const values = partValues(parts, scope, name)
    if (!values || !where) return null
    const { hour = 0, minute = 0, second = 0, millisecond = 0 } = values
    const day = isoForm
      ? isoWeekStart(
          inYears(values.isoWeekYear, 'isoWeekYear'),
          values.isoWeek ?? 1,
          values.isoDayOfWeek ?? 1,
        )
      : utcMilliseconds(inYears(values.year, 'year'), values.month ?? 1, values.day ?? 1)
    const clock = hour * 3_600_000 + minute * 60_000 + second * 1000 + millisecond
    return new Date(fromLocal(day + clock, where))
  }
}

const inYears = (year = 0, name = 'year'): number =>
  year >= 1 && year <= 9999
    ? year
    : fail(40523, `'${name}' must evaluate to an integer in the range 1 to 9999, found ${year}`)

const partValues = (
  parts: Record<string, Expression>,
  scope: Scope,
  name: string,
): Record<string, number> | undefined => {
  const values: Record<string, number> = {}
  for (const [key, expression] of Object.entries(parts)) {
    if (key === 'timezone') continue
    const value = expression(scope)
    if (isNullish(value)) return undefined
    if (!isNumeric(value) || !Number.isInteger(toNumber(value)))
      fail(40515, `'${key}' of ${name} must evaluate to an integer, found ${typeName(value)}`)
    const number = toNumber(value)
    if (
      !key.includes('ear') &&
      (number < -32768 || number > 32767) &&
      key !== 'second' &&
      key !== 'millisecond'
    )
      fail(31034, `'${key}' of ${name} must evaluate to a value in the range [-32768, 32767]`)
    values[key] = number
  }
  return values
}

const toPartsCodes = { object: 40524, unknown: 40520, missing: 40522 }

export const $dateToParts: ExpressionOperator = (operand, compiler, name) => {
  const operands = withNamedOperands(operand, name, ['date'], ['timezone', 'iso8601'], toPartsCodes)
  const { date, timezone, iso8601 } = compileNamedOperands(operands, compiler) as Record<string, Expression>
  return (scope) => {
    const value = date?.(scope)
    const iso = iso8601?.(scope)
    const where = readZoneOperand(timezone?.(scope), timezone !== undefined)
    if (iso8601 && isNullish(iso)) return null
    if (iso8601 && typeof iso !== 'boolean')
      fail(40521, `iso8601 must evaluate to a bool, found ${typeName(iso)}`)
    if (isNullish(value) || !where) return null
    const local = toLocal(readDateOperand(value, name), where)
    const { year, week } = isoWeek(local)
    const days: Document = isTrue(iso)
      ? { isoWeekYear: year, isoWeek: week, isoDayOfWeek: isoDay(local) }
      : { year: local.getUTCFullYear(), month: local.getUTCMonth() + 1, day: local.getUTCDate() }
    const clock = {
      hour: local.getUTCHours(),
      minute: local.getUTCMinutes(),
      second: local.getUTCSeconds(),
      millisecond: local.getUTCMilliseconds(),
    }
    return Object.fromEntries(
      Object.entries({ ...days, ...clock }).map(([key, number]) => [key, new Int32(number)]),
    )
  }
}
