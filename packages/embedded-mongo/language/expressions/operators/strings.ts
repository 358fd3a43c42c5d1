/** Operators on strings. */
import { Int32 } from 'bson'
import { isNullish, isNumeric, toNumber } from '../../../values/bson-values.ts'
import { fail } from '../../../values/errors.ts'
import { roundToWhole } from '../../../values/numbers.ts'
import { isDouble } from '../arithmetic.ts'
import type { Expression, ExpressionOperator } from '../expression.ts'
import {
  checkText,
  compileNamedOperands,
  MANY_OPERANDS,
  toInt32,
  typeName,
  withNamedOperands,
  withOneOperand,
  withOperands,
} from './operands.ts'
import { formatLikeStream, toText } from './text.ts'

/** Converts numbers, dates and text-like values to a string; null and missing values to ''. */
const toLenientText = (value: unknown): string => {
  if (isNullish(value)) return ''
  if (isDouble(value)) return formatLikeStream(toNumber(value))
  if (typeof value === 'string' || isNumeric(value) || value instanceof Date) return toText(value)
  if (typeName(value) === 'symbol' || typeName(value) === 'javascript') return toText(value)
  if (typeName(value) === 'timestamp')
    return fail(115, 'converting a timestamp to a string is not supported by this engine')
  return fail(16007, `can't convert from BSON type ${typeName(value)} to String`)
}

const asciiCase = (how: 'upper' | 'lower'): ExpressionOperator =>
  withOneOperand((value) => {
    const text = toLenientText(value)
    return how === 'upper'
      ? text.replace(/[a-z]+/g, (letters) => letters.toUpperCase())
      : text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
  })

const $concat = withOperands(0, MANY_OPERANDS, (values) => {
  const wrong = values.find((value) => !isNullish(value) && typeof value !== 'string')
  if (values.some(isNullish) && wrong === undefined) return null
  for (const value of values) {
    if (isNullish(value)) return null
    if (typeof value !== 'string') fail(16702, `$concat only supports strings, not ${typeName(value)}`)
  }
  return checkText(values.join(''))
})

/** Neither end may split a character. */
const $substrBytes = withOperands(3, 3, ([value, start, length], _, name) => {
  const bytes = Buffer.from(toLenientText(value))
  if (!isNumeric(start))
    fail(16034, `${name}:  starting index must be a numeric type (is BSON type ${typeName(start)})`)
  if (!isNumeric(length))
    fail(16035, `${name}:  length must be a numeric type (is BSON type ${typeName(length)})`)
  const [from, count] = [start, length].map(roundToWhole) as [number, number]
  if (![from, count].every((number) => number >= -(2 ** 63) && number < 2 ** 63))
    fail(31109, `${name}: the index or the length is out of range`)
  if (from < 0) fail(50752, `${name}: starting index must be non-negative`)
  if (from >= bytes.length) return ''
  const to = count < 0 ? bytes.length : Math.min(from + count, bytes.length)
  if (isContinuation(bytes[from]))
    fail(28656, `${name}: Invalid range, starting index is a UTF-8 continuation byte.`)
  if (isContinuation(bytes[to]))
    fail(28657, `${name}: Invalid range, ending index is in the middle of a UTF-8 character.`)
  return bytes.toString('utf8', from, to)
})

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

const $substrCP = withOperands(3, 3, ([value, start, length], _, name) => {
  const text = toLenientText(value)
  const index = (operand: unknown, type: number, integral: number, operandName: string): number => {
    if (!isNumeric(operand))
      fail(type, `${name}: ${operandName} must be a numeric type (is BSON type ${typeName(operand)})`)
    return (
      toInt32(operand) ??
      fail(integral, `${name}: ${operandName} cannot be represented as a 32-bit integral value`)
    )
  }
  const from = index(start, 34450, 34451, 'starting index')
  const count = index(length, 34452, 34453, 'length')
  if (count < 0) fail(34454, `${name}: length must be a nonnegative integer.`)
  if (from < 0) fail(34455, `${name}: starting index must be a nonnegative integer.`)
  return [...text].slice(from, from + count).join('')
})

const lengthOf = (code: number, measure: (text: string) => number): ExpressionOperator =>
  withOneOperand((value, name) =>
    typeof value === 'string'
      ? new Int32(measure(value))
      : fail(code, `${name} requires a string argument, found: ${typeName(value)}`),
  )

/** Positions count bytes or characters. */
const indexOf = (split: (text: string) => Buffer | string[], codes: [number, number]): ExpressionOperator =>
  withOperands(2, 4, (values, _, name) => {
    const [value, substring, start, end] = values
    if (isNullish(value)) return null
    if (typeof value !== 'string')
      return fail(codes[0], `${name} requires a string as the first argument, found: ${typeName(value)}`)
    if (typeof substring !== 'string')
      return fail(codes[1], `${name} requires a string as the second argument, found: ${typeName(substring)}`)
    const units = split(value)
    const from = values.length > 2 ? position(start, name) : 0
    const to = values.length > 3 ? Math.min(position(end, name), units.length) : units.length
    const part = split(substring)
    if (!Buffer.isBuffer(part)) {
      // For characters, only the start of the match must lie before the end.
      for (let at = from; at < to || (at === to && units.length === 0); at++)
        if (part.every((unit, i) => unit === units[at + i])) return new Int32(at)
      return new Int32(-1)
    }
    for (let at = from; at + part.length <= to; at++)
      if (part.every((unit: unknown, i: number) => unit === units[at + i])) return new Int32(at)
    return new Int32(-1)
  })

const position = (value: unknown, name: string): number => {
  const number =
    toInt32(value) ??
    fail(40096, `${name} requires an integral index, found a value of type: ${typeName(value)}`)
  return number >= 0 ? number : fail(40097, `${name} requires a nonnegative index, found: ${number}`)
}

const $split = withOperands(2, 2, ([value, separator]) => {
  if (isNullish(value) || isNullish(separator)) return null
  if (typeof value !== 'string')
    return fail(
      40085,
      `$split requires an expression that evaluates to a string as a first argument, found: ${typeName(value)}`,
    )
  if (typeof separator !== 'string')
    return fail(10503900, `$split requires a string as a second argument, found: ${typeName(separator)}`)
  if (separator === '') fail(40087, '$split requires a non-empty separator')
  return value.split(separator)
})

const BLANKS = ' \t\n\v\f\r\0\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a'

const trim =
  (left: boolean, right: boolean): ExpressionOperator =>
  (operand, compiler, name) => {
    const operands = withNamedOperands(operand, name, ['input'], ['chars'], {
      object: 50696,
      unknown: 50694,
      missing: 50695,
    })
    const { input, chars } = compileNamedOperands(operands, compiler) as {
      input: Expression
      chars?: Expression
    }
    return (scope) => {
      const text = input(scope)
      const set = chars ? chars(scope) : BLANKS
      if (isNullish(text)) return null
      if (typeof text !== 'string')
        return fail(50699, `${name} requires its input to be a string, got ${typeName(text)}`)
      if (isNullish(set)) return null
      if (typeof set !== 'string')
        return fail(50700, `${name} requires 'chars' to be a string, got ${typeName(set)}`)
      return trimLetters([...text], new Set(set), left, right)
    }
  }

const trimLetters = (letters: string[], set: Set<string>, left: boolean, right: boolean): string => {
  let from = 0
  let to = letters.length
  while (left && from < to && set.has(letters[from] as string)) from++
  while (right && to > from && set.has(letters[to - 1] as string)) to--
  return letters.slice(from, to).join('')
}

const replaceCodes = {
  object: 51751,
  unknown: 51750,
  missing: { input: 51749, find: 51748, replacement: 51747 },
}

const replace =
  (replacesAll: boolean): ExpressionOperator =>
  (operand, compiler, name) => {
    const parts = ['input', 'find', 'replacement']
    const { input, find, replacement } = compileNamedOperands(
      withNamedOperands(operand, name, parts, [], replaceCodes),
      compiler,
    ) as Record<string, Expression> as { input: Expression; find: Expression; replacement: Expression }
    return (scope) => {
      const text = input(scope)
      const from = find(scope)
      const to = replacement(scope)
      if (!isNullish(text) && typeof text !== 'string')
        return fail(10503904, `${name} requires that 'input' be a string, found: ${typeName(text)}`)
      if (!isNullish(from) && typeof from !== 'string')
        return fail(10503901, `${name} requires that 'find' be a string, found: ${typeName(from)}`)
      if (!isNullish(to) && typeof to !== 'string')
        return fail(10503902, `${name} requires that 'replacement' be a string, found: ${typeName(to)}`)
      if (isNullish(text) || isNullish(from) || isNullish(to)) return null
      const change = () => to as string
      return checkText(
        replacesAll
          ? replaceEach(text as string, from as string, to as string)
          : (text as string).replace(from as string, change),
      )
    }
  }

const replaceEach = (text: string, from: string, to: string): string =>
  from === '' ? `${to}${[...text].map((letter) => `${letter}${to}`).join('')}` : text.split(from).join(to)

const $strcasecmp = withOperands(2, 2, ([a, b]) => {
  const [x, y] = [a, b].map((value) =>
    Buffer.from(toLenientText(value).replace(/[a-z]+/g, (letters) => letters.toUpperCase())),
  )
  return new Int32(Buffer.compare(x as Buffer, y as Buffer))
})

export const strings: Record<string, ExpressionOperator> = {
  $concat,
  $toLower: asciiCase('lower'),
  $toUpper: asciiCase('upper'),
  $substr: $substrBytes,
  $substrBytes,
  $substrCP,
  $strLenBytes: lengthOf(34473, (text) => Buffer.byteLength(text)),
  $strLenCP: lengthOf(34471, (text) => [...text].length),
  $indexOfBytes: indexOf((text) => Buffer.from(text), [40091, 40092]),
  $indexOfCP: indexOf((text) => [...text], [40093, 40094]),
  $split,
  $trim: trim(true, true),
  $ltrim: trim(true, false),
  $rtrim: trim(false, true),
  $replaceOne: replace(false),
  $replaceAll: replace(true),
  $strcasecmp,
}
