/** Operators on arrays. */
import { Int32 } from 'bson'
import { documentFields, isNullish, isNumeric, isObject, toNumber } from '../../../values/bson-values.ts'
import { compare, isEqual } from '../../../values/compare.ts'
import { fail } from '../../../values/errors.ts'
import type { Expression, ExpressionOperator } from '../expression.ts'
import {
  compileNamedOperands,
  compileOperandList,
  isTrue,
  MANY_OPERANDS,
  toInt32,
  typeName,
  withNamedOperands,
  withOneOperand,
  withOperands,
} from './operands.ts'

/** The maximum number of elements that an expression may create. */
const MAX_ELEMENTS = 2_000_000

const limitLength = <T>(array: T[]): T[] =>
  array.length <= MAX_ELEMENTS ? array : fail(146, 'an array of an expression has too many elements')

const $arrayElemAt = withOperands(2, 2, ([array, index], _, name) => {
  if (isNullish(array) || isNullish(index)) return null
  if (!Array.isArray(array))
    return fail(28689, `${name}'s first argument must be an array, but is ${typeName(array)}`)
  if (!isNumeric(index))
    return fail(28690, `${name}'s second argument must be a numeric value, but is ${typeName(index)}`)
  const at =
    toInt32(index) ?? fail(28691, `${name}'s second argument must be representable as a 32-bit integer`)
  return array[at < 0 ? array.length + at : at]
})

const firstOrLast = (which: 0 | -1): ExpressionOperator =>
  withOneOperand((array, name) => {
    if (isNullish(array)) return null
    return Array.isArray(array)
      ? array.at(which)
      : fail(28689, `${name}'s argument must be an array, but is ${typeName(array)}`)
  })

const $concatArrays = withOperands(0, MANY_OPERANDS, (arrays, _, name) => {
  const wrong = arrays.find((array) => !isNullish(array) && !Array.isArray(array))
  const firstNull = arrays.findIndex(isNullish)
  if (firstNull >= 0 && (wrong === undefined || arrays.indexOf(wrong) > firstNull)) return null
  if (wrong !== undefined) fail(28664, `${name} only supports arrays, not ${typeName(wrong)}`)
  return limitLength(arrays.flat(1))
})

const $in = withOperands(2, 2, ([value, array], { collation }) => {
  if (!Array.isArray(array))
    return fail(40081, `$in requires an array as a second argument, found: ${typeName(array)}`)
  return array.some((element) => isEqual(element, value, collation))
})

const $indexOfArray = withOperands(2, 4, (values, { collation }, name) => {
  const [array, value, start, end] = values
  if (isNullish(array)) return null
  if (!Array.isArray(array))
    return fail(40090, `${name} requires an array as a first argument, found: ${typeName(array)}`)
  const position = (which: 2 | 3, index: unknown, fallback: number): number => {
    if (values.length <= which) return fallback
    const at =
      toInt32(index) ??
      fail(9711600, `${name} requires an integral index, found a value of type: ${typeName(index)}`)
    return at >= 0 ? at : fail(9711601, `${name} requires a nonnegative index, found: ${at}`)
  }
  const from = position(2, start, 0)
  const to = position(3, end, array.length)
  for (let at = from; at < Math.min(to, array.length); at++)
    if (isEqual(array[at], value, collation)) return new Int32(at)
  return new Int32(-1)
})

const $range = withOperands(2, 3, ([start, end, step], _, name) => {
  const integerOf = (value: unknown, type: number, integral: number): number => {
    if (!isNumeric(value)) fail(type, `${name} requires numeric arguments, found ${typeName(value)}`)
    return toInt32(value) ?? fail(integral, `${name} requires arguments that fit into 32 bits`)
  }
  const from = integerOf(start, 34443, 34444)
  const to = integerOf(end, 34445, 34446)
  const increment = step === undefined ? 1 : integerOf(step, 34447, 34448)
  if (increment === 0) fail(34449, `${name} requires a non-zero step value`)
  const count = Math.max(0, Math.ceil((to - from) / increment))
  if (count > MAX_ELEMENTS) fail(146, `${name} would make more than ${MAX_ELEMENTS} elements`)
  return Array.from({ length: count }, (_, i) => new Int32(from + i * increment))
})

const $reverseArray = withOneOperand((array, name) => {
  if (isNullish(array)) return null
  return Array.isArray(array)
    ? [...array].reverse()
    : fail(34435, `The argument to ${name} must be an array, but was of type: ${typeName(array)}`)
})

const $size = withOneOperand((array, name) =>
  Array.isArray(array)
    ? new Int32(array.length)
    : fail(17124, `The argument to ${name} must be an array, but was of type: ${typeName(array)}`),
)

const $slice = withOperands(2, 3, (values, _, name) => {
  if (values.some(isNullish)) return null
  const [array, first, count] = values
  if (!Array.isArray(array))
    return fail(28724, `First argument to ${name} must be an array, but is of type: ${typeName(array)}`)
  const integerOf = (value: unknown): number => {
    if (!isNumeric(value))
      fail(28725, `Arguments to ${name} must be numeric, but one is of type: ${typeName(value)}`)
    return toInt32(value) ?? fail(28726, `Arguments to ${name} must be representable as 32-bit integers`)
  }
  const at = integerOf(first)
  if (count === undefined) return at < 0 ? array.slice(at) : array.slice(0, at)
  const n = integerOf(count)
  if (n <= 0) fail(28729, `Third argument to ${name} must be positive: ${n}`)
  const from = at < 0 ? Math.max(array.length + at, 0) : at
  return array.slice(from, from + n)
})

const sortCodes = { object: 2942500, unknown: 2942501, missing: { input: 2942502, sortBy: 2942503 } }

const $sortArray: ExpressionOperator = (operand, compiler, name) => {
  const operands = withNamedOperands(operand, name, ['input', 'sortBy'], [], sortCodes)
  const input = compiler.compile(operands.input)
  const order = arrayOrder(operands.sortBy, (a, b) => compare(a, b, compiler.collation))
  return (scope) => {
    const array = input(scope)
    if (isNullish(array)) return null
    return Array.isArray(array)
      ? [...array].sort(order)
      : fail(2942504, `The input argument to ${name} must be an array, but was of type: ${typeName(array)}`)
  }
}

type Order = (a: unknown, b: unknown) => number

const arrayOrder = (sortKey: unknown, order: Order): Order => {
  if (isNumeric(sortKey)) {
    const sign = toNumber(sortKey)
    if (sign !== 1 && sign !== -1) fail(2942506, 'The $sort element value must be either 1 or -1')
    return (a, b) => sign * order(a, b)
  }
  if (!isObject(sortKey)) return fail(2942507, 'The sortBy must be either an object or a number')
  const parts = Object.entries(sortKey).map(([field, direction]): [string[], number] => {
    const sign = isNumeric(direction)
      ? toNumber(direction)
      : fail(2942505, 'the sort directions must be numbers')
    if (sign !== 1 && sign !== -1) fail(2942505, 'the sort directions must be 1 or -1')
    return [field.split('.'), sign]
  })
  if (parts.length === 0) fail(2942505, 'The sortBy must not be empty')
  const at = (value: unknown, path: string[]): unknown =>
    path.reduce((inner, key) => (isObject(inner) ? documentFields(inner)[key] : undefined), value) ?? null
  return (a, b) => {
    for (const [path, sign] of parts) {
      const difference = order(at(a, path), at(b, path))
      if (difference) return sign * difference
    }
    return 0
  }
}

const zipCodes = { object: 34460, unknown: 34464, missing: 34465 }

const $zip: ExpressionOperator = (operand, compiler, name) => {
  const operands = withNamedOperands(operand, name, ['inputs'], ['useLongestLength', 'defaults'], zipCodes)
  if (!Array.isArray(operands.inputs))
    fail(34461, `inputs must be an array of expressions, found ${typeName(operands.inputs)}`)
  if (operands.inputs.length === 0) fail(34465, `${name} requires at least one input array`)
  const longest = operands.useLongestLength ?? false
  if (typeof longest !== 'boolean') fail(34463, `useLongestLength must be a bool, found ${typeName(longest)}`)
  const { defaults } = operands
  if (defaults !== undefined && !Array.isArray(defaults))
    fail(34462, `defaults must be an array of expressions, found ${typeName(defaults)}`)
  if (defaults && !longest) fail(34466, 'cannot specify defaults unless useLongestLength is true')
  if (defaults && defaults.length !== operands.inputs.length)
    fail(34467, 'defaults and inputs must have the same length')
  const inputs = operands.inputs.map((input: unknown) => compiler.compile(input)) as Expression[]
  const defaultExpressions = (defaults ?? []).map((value: unknown) => compiler.compile(value)) as Expression[]
  return (scope) => {
    const arrays = inputs.map((input) => input(scope))
    if (arrays.some(isNullish)) return null
    for (const array of arrays)
      if (!Array.isArray(array))
        fail(34468, `${name} found a non-array expression in input: ${typeName(array)}`)
    const lengths = (arrays as unknown[][]).map(({ length }) => length)
    const length = longest ? Math.max(...lengths) : Math.min(...lengths)
    const fill = defaultExpressions.map((other) => other(scope) ?? null)
    return Array.from({ length }, (_, i) =>
      (arrays as unknown[][]).map((array, n) => (i < array.length ? array[i] : (fill[n] ?? null))),
    )
  }
}

const someOf =
  (choose: (values: unknown[], n: number) => unknown[], direction: -1 | 0 | 1): ExpressionOperator =>
  (operand, compiler, name) => {
    const operands = withNamedOperands(operand, name, ['n', 'input'], [], {
      object: 5787801,
      unknown: 5787901,
      missing: { n: 5787906, input: 5787907 },
    })
    const { n, input } = compileNamedOperands(operands, compiler) as { n: Expression; input: Expression }
    return (scope) => {
      const array = input(scope)
      const count = countOf(n(scope))
      if (!Array.isArray(array)) return fail(5788200, `Input must be an array, not ${typeName(array)}`)
      const values =
        direction === 0
          ? array
          : array
              .filter((value) => !isNullish(value))
              .sort((a, b) => direction * compare(a, b, compiler.collation))
      return choose(values, count)
    }
  }

/** The n of $firstN and its relatives. */
export const countOf = (value: unknown): number => {
  if (!isNumeric(value))
    return fail(5787902, `Value for 'n' must be of integral type, but found ${typeName(value)}`)
  const n = toNumber(value)
  if (!Number.isInteger(n)) return fail(5787903, `Value for 'n' must be of integral type, but found ${n}`)
  return n > 0 ? n : fail(5787908, `'n' must be greater than 0, found ${n}`)
}

const trueElements =
  (every: boolean, code: number): ExpressionOperator =>
  (operand, compiler, name) => {
    const [input] = compileOperandList(operand, compiler, name, 1, 1) as [Expression]
    return (scope) => {
      const array = input(scope)
      if (!Array.isArray(array))
        return fail(code, `${name}'s argument must be an array, but is ${typeName(array)}`)
      return every ? array.every(isTrue) : array.some(isTrue)
    }
  }

export const arrays: Record<string, ExpressionOperator> = {
  $arrayElemAt,
  $first: firstOrLast(0),
  $last: firstOrLast(-1),
  $concatArrays,
  $in,
  $indexOfArray,
  $isArray: withOneOperand((value) => Array.isArray(value)),
  $range,
  $reverseArray,
  $size,
  $slice,
  $sortArray,
  $zip,
  $firstN: someOf((values, n) => values.slice(0, n), 0),
  $lastN: someOf((values, n) => values.slice(-n), 0),
  $maxN: someOf((values, n) => values.slice(0, n), -1),
  $minN: someOf((values, n) => values.slice(0, n), 1),
  $allElementsTrue: trueElements(true, 17040),
  $anyElementTrue: trueElements(false, 17041),
}
