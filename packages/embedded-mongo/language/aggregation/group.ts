/** $group: groups documents by the value of an expression. */
import type { Code, Document } from 'bson'
import { Int32 } from 'bson'
import {
  bsonType,
  documentFields,
  isNullish,
  isNumeric,
  isObject,
  setMember,
  toNumber,
} from '../../values/bson-values.ts'
import { type Collation, compare, identityOf } from '../../values/compare.ts'
import { fail } from '../../values/errors.ts'
import { PAUSE, type Step } from '../../values/steps.ts'
import { type Accumulator, accumulators, createKeepingAccumulator } from '../expressions/accumulators.ts'
import { type CompiledExpression, createCompiler } from '../expressions/compile.ts'
import { countOf } from '../expressions/operators/arrays.ts'
import { createSorter, parseSort } from '../results/sort.ts'
import type { Stage, StageEnvironment } from './stage.ts'

/** An output field: the value that each document adds, and the accumulator of each group. */
interface Field {
  name: string
  /** See `wrapExtreme`. */
  wraps?: boolean
  of(document: Document): unknown
  begin(): Accumulator
}

type Compile = (expression: unknown) => CompiledExpression

export const group = (body: unknown, environment: StageEnvironment): Stage => {
  if (!isObject(body)) return fail(15947, "a group's fields must be specified in an object")
  if (!('_id' in body)) fail(15955, 'a group specification must include an _id')
  const { collation, timer } = environment
  const compile = createCompiler(environment)
  checkId(body._id)
  const id = compile(body._id)
  // A constant _id is returned unchanged.
  const isConstant = bsonType(body._id) !== undefined
  const outputs = Object.entries(documentFields(body)).filter(([name]) => name !== '_id')
  const fields = outputs.map(([name, spec]) => field(name, spec, compile, collation))
  return function* (input) {
    const groups = new Map<string, { id: unknown; fieldAccumulators: Accumulator[] }>()
    for (const document of input) {
      if (document === PAUSE) {
        yield PAUSE
        continue
      }
      const key = id(document) ?? null
      const name = identityOf(key, collation)
      const keyGroup = groups.get(name) ?? { id: key, fieldAccumulators: fields.map(({ begin }) => begin()) }
      groups.set(name, keyGroup)
      for (const [i, { of }] of fields.entries()) keyGroup.fieldAccumulators[i]?.add(of(document))
    }
    for (const { id, fieldAccumulators } of groups.values()) {
      if (timer.isSliceOver()) yield PAUSE
      yield groupDocument(isConstant ? id : toResultId(id), fields, fieldAccumulators)
    }
  }
}

/** In an _id document, a number or a boolean would mean inclusion. */
const checkId = (id: unknown): void => {
  if (!isObject(id) || Object.keys(id).some((key) => key.startsWith('$'))) return
  for (const value of Object.values(documentFields(id)))
    if (typeof value === 'boolean' || isNumeric(value))
      fail(17390, '$group does not support inclusion-style expressions')
}

const groupDocument = (id: unknown, fields: Field[], fieldAccumulators: Accumulator[]): Step<Document> => {
  const document: Document = { _id: id }
  for (const [i, { name, wraps }] of fields.entries()) {
    const value = fieldAccumulators[i]?.value
    setMember(
      document,
      name,
      !wraps ? value : Array.isArray(value) ? value.map(wrapExtreme) : wrapExtreme(value),
    )
  }
  return document
}

/** Groups of MongoDB return MinKey and MaxKey inside a document. */
const wrapExtreme = (value: unknown): unknown => (isExtreme(value) ? { '': value } : value)

/** An _id is wrapped in the same way; code becomes text. */
const toResultId = (id: unknown): unknown =>
  bsonType(id) === 'Code' ? String((id as Code).code) : wrapExtreme(id)

/** Whether values are wrapped: with some accumulators always, with others only constants. */
const wraps = (operator: string, operand: unknown): boolean =>
  ['$first', '$last', '$addToSet'].includes(operator) ||
  (['$min', '$max'].includes(operator) && isExtreme(operand))

const isExtreme = (value: unknown): boolean => /^M(in|ax)Key$/.test(bsonType(value) ?? '')

const field = (name: string, spec: unknown, compile: Compile, collation?: Collation): Field => {
  if (name.includes('.')) fail(40235, `The field name '${name}' cannot contain '.'`)
  if (name.startsWith('$')) fail(40236, `The field name '${name}' cannot be an operator name`)
  if (!isObject(spec)) return fail(40234, `The field '${name}' must be an accumulator object`)
  const [operator, ...others] = Object.keys(spec)
  if (!operator?.startsWith('$')) return fail(40234, `The field '${name}' must be an accumulator object`)
  if (others.length > 0) fail(40238, `The field '${name}' must specify one accumulator`)
  const operand = spec[operator]
  if (Array.isArray(operand)) fail(40237, `The ${operator} accumulator is a unary operator`)
  if (operator === '$count') return compileCount(name, operand)
  if (operator in sortingAccumulators) return keepingSeveral(name, operator, operand, compile, collation)
  const make = Object.hasOwn(accumulators, operator) ? accumulators[operator] : undefined
  if (!make) {
    if (['$accumulator', '$median', '$percentile'].includes(operator))
      fail(115, `${operator} is not supported by this engine`)
    return fail(15952, `unknown group operator '${operator}'`)
  }
  const value = compile(operand)
  return { name, wraps: wraps(operator, operand), of: value, begin: () => make(collation) }
}

const compileCount = (name: string, operand: unknown): Field => {
  if (!isObject(operand) || Object.keys(operand).length > 0)
    fail(14, '$count takes no arguments, i.e. $count:{}')
  return { name, of: () => new Int32(1), begin: () => (accumulators.$sum as () => Accumulator)() }
}

/** The end of the sorted values that is kept; sign 0: the order of arrival. */
const sortingAccumulators: Record<string, { end: 'first' | 'last'; sign: -1 | 0 | 1; single?: true }> = {
  $firstN: { end: 'first', sign: 0 },
  $lastN: { end: 'last', sign: 0 },
  $maxN: { end: 'first', sign: -1 },
  $minN: { end: 'first', sign: 1 },
  $topN: { end: 'first', sign: 1 },
  $bottomN: { end: 'last', sign: 1 },
  $top: { end: 'first', sign: 1, single: true },
  $bottom: { end: 'last', sign: 1, single: true },
}

/** The accumulators of $group. */
export const accumulatorNames: readonly string[] = [
  '$count',
  ...Object.keys(sortingAccumulators),
  ...Object.keys(accumulators),
]

const keepingSeveral = (
  name: string,
  operator: string,
  operand: unknown,
  compile: Compile,
  collation?: Collation,
): Field => {
  const { end, sign, single } = sortingAccumulators[operator] as (typeof sortingAccumulators)[string]
  if (!isObject(operand)) return fail(5787801, `${operator} needs an object as its argument`)
  const sorting = /top|bottom/.test(operator)
  const argumentNames = sorting ? ['sortBy', 'output', ...(single ? [] : ['n'])] : ['input', 'n']
  for (const key of Object.keys(operand))
    if (!argumentNames.includes(key)) fail(5787901, `Unknown argument to ${operator}: ${key}`)
  for (const key of argumentNames)
    if (!(key in operand))
      fail(
        key === 'n' ? (sorting ? 5788003 : 5787906) : key === 'sortBy' ? 5788005 : 5788004,
        `Missing value for '${key}' in ${operator}`,
      )
  const n = single ? 1 : sorting ? sortedCount(compile(operand.n)({})) : countOf(compile(operand.n)({}))
  if (sorting) return topField(name, operand, n, end, single === true, compile, collation)
  const order = (a: unknown, b: unknown) => sign * compare(a, b, collation)
  const value = compile(operand.input)
  const begin = () =>
    skippingNulls(createKeepingAccumulator(n, end, sign === 0 ? undefined : order), sign !== 0)
  return { name, of: sign === 0 ? (document) => value(document) ?? null : value, begin }
}

/** The accumulators that sort use one code for every error in n. */
const sortedCount = (value: unknown): number =>
  isNumeric(value) && Number.isInteger(toNumber(value)) && toNumber(value) > 0
    ? toNumber(value)
    : fail(7548606, "Value for 'n' must be a positive whole number")

const skippingNulls = (accumulator: Accumulator, skip: boolean): Accumulator =>
  skip
    ? {
        add: (value) => isNullish(value) || accumulator.add(value),
        get value() {
          return accumulator.value
        },
      }
    : accumulator

interface Row {
  by: unknown[]
  output: unknown
}

const topField = (
  name: string,
  operand: Document,
  n: number,
  end: 'first' | 'last',
  single: boolean,
  compile: Compile,
  collation?: Collation,
): Field => {
  const order = createSorter(parseSort(operand.sortBy), collation)
  const output = compile(operand.output)
  return {
    name,
    of: (document): Row => ({ by: order.values(document), output: output(document) ?? null }),
    begin: () => {
      const rows = createKeepingAccumulator(n, end, (a, b) => order.compare((a as Row).by, (b as Row).by))
      const outputs = () => (rows.value as Row[]).map((row) => row.output)
      return {
        add: rows.add,
        get value() {
          return single ? outputs()[0] : outputs()
        },
      }
    },
  }
}
