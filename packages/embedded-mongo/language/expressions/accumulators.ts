/**
 * Accumulators: collect the values of a group, one document at a time. As expressions, they take an array.
 */
import type { Document } from 'bson'
import { Decimal128, Double, Int32 } from 'bson'
import {
  documentFields,
  isNullish,
  isNumeric,
  isObject,
  setMember,
  toNumber,
} from '../../values/bson-values.ts'
import { type Collation, compare, ValueSet } from '../../values/compare.ts'
import { fail } from '../../values/errors.ts'
import { calculate, divideDecimals, isDecimal } from './arithmetic.ts'
import { typeName } from './operators/operands.ts'
import { Sum } from './operators/sum.ts'

export interface Accumulator {
  add(value: unknown): void
  readonly value: unknown
}

const sum = (): Accumulator => {
  const total = new Sum()
  return {
    add: (value) => isNumeric(value) && total.add(value),
    get value() {
      return total.value
    },
  }
}

const avg = (): Accumulator => {
  const total = new Sum()
  let count = 0
  return {
    add(value) {
      if (!isNumeric(value)) return
      total.add(value)
      count++
    },
    get value() {
      if (count === 0) return null
      const totalValue = total.value
      if (!isDecimal(totalValue)) return new Double(total.double / count)
      return divideDecimals(calculate('add', totalValue, Decimal128.fromString('0')), new Int32(count))
    },
  }
}

const extreme =
  (sign: 1 | -1) =>
  (collation?: Collation): Accumulator => {
    let best: unknown
    return {
      add(value) {
        if (isNullish(value)) return
        if (best === undefined || compare(value, best, collation) * sign > 0) best = value
      },
      get value() {
        return best ?? null
      },
    }
  }

const first = (): Accumulator => {
  let [hasValue, firstValue]: [boolean, unknown] = [false, null]
  return {
    add(value) {
      if (!hasValue) firstValue = value ?? null
      hasValue = true
    },
    get value() {
      return firstValue
    },
  }
}

const last = (): Accumulator => {
  let lastValue: unknown = null
  return {
    add(value) {
      lastValue = value ?? null
    },
    get value() {
      return lastValue
    },
  }
}

const push = (): Accumulator => {
  const values: unknown[] = []
  return { add: (value) => value !== undefined && values.push(value), value: values }
}

const addToSet = (collation?: Collation): Accumulator => {
  const valueSet = new ValueSet([], collation)
  return {
    add: (value) => value !== undefined && valueSet.add(value),
    get value() {
      return valueSet.values
    },
  }
}

const deviation = (sample: boolean) => (): Accumulator => {
  let count = 0
  let mean = 0
  let squares = 0
  return {
    add(value) {
      if (!isNumeric(value)) return
      count++
      const distance = toNumber(value) - mean
      mean += distance / count
      squares += distance * (toNumber(value) - mean)
    },
    get value() {
      const weight = sample ? count - 1 : count
      return weight < 1 ? null : new Double(Math.sqrt(squares / weight))
    },
  }
}

const mergeObjects = (): Accumulator => {
  const merged: Document = {}
  return {
    add(value) {
      if (isNullish(value)) return
      if (!isObject(value))
        fail(5911200, `$mergeObjects requires object inputs, but input is of type ${typeName(value)}`)
      for (const [key, inner] of Object.entries(documentFields(value as Document)))
        setMember(merged, key, inner)
    },
    value: merged,
  }
}

type CreateAccumulator = (collation?: Collation) => Accumulator

/** Accumulators that take one value of each document. */
export const accumulators: Record<string, CreateAccumulator> = {
  $sum: sum,
  $avg: avg,
  $min: extreme(-1),
  $max: extreme(1),
  $first: first,
  $last: last,
  $push: push,
  $addToSet: addToSet,
  $stdDevPop: deviation(false),
  $stdDevSamp: deviation(true),
  $mergeObjects: mergeObjects,
}

/** Accumulators that keep n values, optionally ordered by a sort value. */
export const createKeepingAccumulator = (
  n: number,
  end: 'first' | 'last',
  order?: (a: unknown, b: unknown) => number,
): Accumulator => {
  let values: unknown[] = []
  const shrink = () => {
    if (order) values = values.sort(order)
    values = end === 'first' ? values.slice(0, n) : values.slice(-n)
  }
  return {
    add(value) {
      if (end === 'first' && !order && values.length >= n) return
      values.push(value)
      if (values.length > 2 * n + 100) shrink()
    },
    get value() {
      shrink()
      return values
    },
  }
}
