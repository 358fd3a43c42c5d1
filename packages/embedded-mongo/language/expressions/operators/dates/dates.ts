import { Int32, Long } from 'bson'
import { isNullish, isNumeric, isObject, toNumber } from '../../../../values/bson-values.ts'
import { CommandError, fail } from '../../../../values/errors.ts'
import { toWholeNumber } from '../../../../values/numbers.ts'
import type { Compiler, Expression, ExpressionOperator } from '../../expression.ts'
import { compileNamedOperands, typeName, withNamedOperands } from '../operands.ts'
import {
  addUnits,
  dayOfYear,
  fromLocal,
  isoDay,
  isoWeek,
  toLocal,
  type Unit,
  unitMilliseconds,
  units,
  unitsSince,
  utc,
  utcMilliseconds,
  weekdays,
  weekOfYear,
  type Zone,
} from './calendar.ts'
import { readDateOperand, readZoneOperand } from './date-operands.ts'
import { $dateFromParts, $dateToParts } from './date-parts.ts'
import { checkFormat, formatDate, parseDateText, parseFormatted } from './date-text.ts'

type Part = (local: Date) => unknown

const partCodes = { object: 40536, unknown: 40535, missing: 40539 }

/** $year and its relatives, which take a date or a date in a zone. */
const defineDatePart =
  (read: Part): ExpressionOperator =>
  (operand, compiler, name) => {
    const inner = Array.isArray(operand)
      ? operand.length === 1
        ? operand[0]
        : fail(
            40536,
            `${name} accepts exactly one argument if given an array, but was given ${operand.length}`,
          )
      : operand
    const long =
      isObject(inner) &&
      ('date' in inner || (Object.keys(inner).length > 0 && !Object.keys(inner)[0]?.startsWith('$')))
    const operands = long
      ? withNamedOperands(inner, name, ['date'], ['timezone'], partCodes)
      : { date: inner }
    const { date, timezone } = compileNamedOperands(operands, compiler) as {
      date: Expression
      timezone?: Expression
    }
    return (scope) => {
      const value = date(scope)
      const where = readZoneOperand(timezone?.(scope), timezone !== undefined)
      if (isNullish(value) || !where) return null
      return read(toLocal(readDateOperand(value, name), where))
    }
  }

const defineIntegerPart = (read: (local: Date) => number): ExpressionOperator =>
  defineDatePart((local) => new Int32(read(local)))

const unitOf = (value: unknown, type = 5439013): Unit => {
  if (typeof value !== 'string') return fail(type, `unit must be a string, found ${typeName(value)}`)
  return units.includes(value as Unit) ? (value as Unit) : fail(9, `unknown time unit value: ${value}`)
}

const addCodes = { object: 5166400, unknown: 5166401, missing: 5166402 }

const add =
  (sign: 1 | -1): ExpressionOperator =>
  (operand, compiler, name) => {
    const operands = withNamedOperands(operand, name, ['startDate', 'unit', 'amount'], ['timezone'], addCodes)
    const { startDate, unit, amount, timezone } = compileNamedOperands(operands, compiler) as Record<
      string,
      Expression
    >
    return (scope) => {
      const start = startDate?.(scope)
      const unitValue = unit?.(scope)
      const count = amount?.(scope)
      const where = readZoneOperand(timezone?.(scope), timezone !== undefined)
      if ([start, unitValue, count].some(isNullish) || !where) return null
      if (typeof unitValue !== 'string')
        fail(5439013, `${name} requires 'unit' to be a string, but got ${typeName(unitValue)}`)
      const size = unitOf(unitValue)
      if (toWholeNumber(count) === undefined) fail(5166405, `${name} expects integer amount of time units`)
      const from = readDateOperand(start, name, 5166403)
      const to = addUnits(from, size, sign * toNumber(count), where)
      return Math.abs(to) <= 8.64e15 ? new Date(to) : fail(5166406, `${name} overflowed`)
    }
  }

const diffCodes = {
  object: 5166301,
  unknown: 5166302,
  missing: { startDate: 5166303, endDate: 5166304, unit: 5166305 },
}

const $dateDiff: ExpressionOperator = (operand, compiler, name) => {
  const operands = withNamedOperands(
    operand,
    name,
    ['startDate', 'endDate', 'unit'],
    ['timezone', 'startOfWeek'],
    diffCodes,
  )
  const { startDate, endDate, unit, timezone, startOfWeek } = compileNamedOperands(
    operands,
    compiler,
  ) as Record<string, Expression>
  return (scope) => {
    const start = startDate?.(scope)
    const end = endDate?.(scope)
    const unitValue = unit?.(scope)
    const where = readZoneOperand(timezone?.(scope), timezone !== undefined)
    if ([start, end, unitValue].some(isNullish) || !where) return null
    const size = unitOf(unitValue)
    const first = firstDay(size, startOfWeek?.(scope), startOfWeek !== undefined)
    if (first === undefined) return null
    const a = readDateOperand(start, name, 5166307)
    const b = readDateOperand(end, name, 5166307)
    const step = unitMilliseconds[size]
    // Hours and shorter units count elapsed time, regardless of changes of the clocks.
    const count = (at: number) =>
      step && step < 86_400_000
        ? Math.floor((at + offset(at, where, step)) / step)
        : unitsSince(toLocal(at, where), size, first)
    return Long.fromNumber(count(b) - count(a))
  }
}

const offset = (at: number, where: Zone, step: number): number =>
  step === 3_600_000 ? where(at) % 3_600_000 : 0

/** 1: Monday; undefined: the result is null. */
const firstDay = (unit: Unit, value: unknown, isPresent: boolean): number | undefined => {
  if (unit !== 'week' || !isPresent) return 7
  if (isNullish(value)) return undefined
  if (typeof value !== 'string')
    return fail(5439015, `startOfWeek must be a string, found ${typeName(value)}`)
  const at = weekdays.findIndex(
    (day) => day === value.toLowerCase() || day.slice(0, 3) === value.toLowerCase(),
  )
  return at >= 0 ? at + 1 : fail(5439016, `unknown startOfWeek value: ${value}`)
}

const truncCodes = { object: 5439007, unknown: 5439008, missing: { date: 5439009, unit: 5439010 } }

const MAX_MONTHS_OR_YEARS = 1e11

const $dateTrunc: ExpressionOperator = (operand, compiler, name) => {
  const operands = withNamedOperands(
    operand,
    name,
    ['date', 'unit'],
    ['binSize', 'timezone', 'startOfWeek'],
    truncCodes,
  )
  const { date, unit, binSize, timezone, startOfWeek } = compileNamedOperands(operands, compiler) as Record<
    string,
    Expression
  >
  return (scope) => {
    const value = date?.(scope)
    const unitValue = unit?.(scope)
    const bin = binSize ? binSize(scope) : new Int32(1)
    const where = readZoneOperand(timezone?.(scope), timezone !== undefined)
    if ([value, unitValue, bin].some(isNullish) || !where) return null
    const at = readDateOperand(value, name, 5166307)
    const size = unitOf(unitValue)
    if (!isNumeric(bin) || !Number.isInteger(toNumber(bin)))
      fail(5439017, `${name} requires 'binSize' to be a 64-bit integer`)
    if (toNumber(bin) <= 0) fail(5439018, `${name} requires 'binSize' to be greater than 0`)
    const step = unitMilliseconds[size]
    if (step ? toNumber(bin) * step >= 2 ** 63 : toNumber(bin) > MAX_MONTHS_OR_YEARS)
      fail(step ? 5439002 : 5439006, `${name}: 'binSize' is too large`)
    const weekStart = startOfWeek?.(scope)
    // Without a document, the operands are constants, and an irrelevant startOfWeek is ignored.
    if (startOfWeek && isNullish(weekStart) && scope.root !== undefined) return null
    const first = firstDay(size, weekStart, startOfWeek !== undefined)
    return first === undefined ? null : new Date(truncate(at, size, toNumber(bin), where, first))
  }
}

/** Bins start at the beginning of the year 2000 in the zone. */
const truncate = (at: number, unit: Unit, bin: number, where: Zone, first: number): number => {
  const reference = utcMilliseconds(2000, 1, 1)
  const step = unitMilliseconds[unit]
  if (step && step < 86_400_000) {
    const start = fromLocal(reference, where)
    return start + Math.floor((at - start) / (step * bin)) * step * bin
  }
  const local = toLocal(at, where)
  const origin = unit === 'week' ? firstWeekDay(first) : reference
  const count = unitsSince(local, unit, first) - unitsSince(new Date(origin), unit, first)
  const bins = Math.floor(count / bin) * bin
  return fromLocal(addUnits(origin, unit, bins, utc), where)
}

/** The first day of the year 2000 that is this weekday. */
const firstWeekDay = (first: number): number => {
  const start = new Date(utcMilliseconds(2000, 1, 1))
  return start.getTime() + ((first - isoDay(start) + 7) % 7) * 86_400_000
}

const toStringCodes = { object: 18629, unknown: 18534, missing: 18628 }

const $dateToString: ExpressionOperator = (operand, compiler, name) => {
  const operands = withNamedOperands(operand, name, ['date'], ['format', 'timezone', 'onNull'], toStringCodes)
  const { date, format, timezone, onNull } = compileNamedOperands(operands, compiler) as Record<
    string,
    Expression
  >
  if (typeof operands.format === 'string' && !operands.format.startsWith('$'))
    checkFormat(operands.format, false)
  return (scope) => {
    const value = date?.(scope)
    const how = format?.(scope)
    const where = readZoneOperand(timezone?.(scope), timezone !== undefined)
    if (isNullish(value)) return onNull ? onNull(scope) : null
    if ((format && isNullish(how)) || !where) return null
    if (format && typeof how !== 'string')
      fail(18533, `${name} requires that 'format' be a string, found: ${typeName(how)}`)
    const local = where === utc ? '%Y-%m-%dT%H:%M:%S.%LZ' : '%Y-%m-%dT%H:%M:%S.%L'
    return formatDate(
      new Date(readDateOperand(value, name)),
      checkFormat((how as string) ?? local, false),
      where,
    )
  }
}

const fromStringCodes = { object: 40540, unknown: 40541, missing: 40542 }

const $dateFromString: ExpressionOperator = (operand, compiler: Compiler, name) => {
  const optional = ['format', 'timezone', 'onNull', 'onError']
  const operands = withNamedOperands(operand, name, ['dateString'], optional, fromStringCodes)
  const { dateString, format, timezone, onNull, onError } = compileNamedOperands(
    operands,
    compiler,
  ) as Record<string, Expression>
  return (scope) => {
    const text = dateString?.(scope)
    const how = format?.(scope)
    const where = readZoneOperand(timezone?.(scope), timezone !== undefined)
    if (isNullish(text)) return onNull ? onNull(scope) : null
    if ((format && isNullish(how)) || !where) return null
    if (format && typeof how !== 'string')
      fail(40684, `${name} requires that 'format' be a string, found: ${typeName(how)}`)
    try {
      if (typeof text !== 'string')
        return fail(241, `${name} requires that 'dateString' be a string, found: ${typeName(text)}`)
      const zone = timezone ? where : undefined
      return format ? parseFormatted(text, checkFormat(how as string, true), zone) : parseDateText(text, zone)
    } catch (error) {
      if (onError && error instanceof CommandError && error.code === 241) return onError(scope)
      throw error
    }
  }
}

export const dates: Record<string, ExpressionOperator> = {
  $year: defineIntegerPart((local) => local.getUTCFullYear()),
  $month: defineIntegerPart((local) => local.getUTCMonth() + 1),
  $dayOfMonth: defineIntegerPart((local) => local.getUTCDate()),
  $dayOfWeek: defineIntegerPart((local) => local.getUTCDay() + 1),
  $dayOfYear: defineIntegerPart(dayOfYear),
  $hour: defineIntegerPart((local) => local.getUTCHours()),
  $minute: defineIntegerPart((local) => local.getUTCMinutes()),
  $second: defineIntegerPart((local) => local.getUTCSeconds()),
  $millisecond: defineIntegerPart((local) => local.getUTCMilliseconds()),
  $week: defineIntegerPart(weekOfYear),
  $isoWeek: defineIntegerPart((local) => isoWeek(local).week),
  $isoWeekYear: defineDatePart((local) => Long.fromNumber(isoWeek(local).year)),
  $isoDayOfWeek: defineIntegerPart(isoDay),
  $dateAdd: add(1),
  $dateSubtract: add(-1),
  $dateDiff,
  $dateTrunc,
  $dateFromParts,
  $dateToParts,
  $dateToString,
  $dateFromString,
}
