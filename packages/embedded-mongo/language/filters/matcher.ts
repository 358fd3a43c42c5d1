/** Compiles a filter to a predicate over documents. */
import type { Document } from 'bson'
import {
  documentFields,
  isNullish,
  isNumeric,
  isObject,
  toNumber,
  valuesAtPath,
} from '../../values/bson-values.ts'
import { type Collation, compare, typeOrder, ValueSet } from '../../values/compare.ts'
import { fail } from '../../values/errors.ts'
import { toBigInt } from '../../values/numbers.ts'
import { compileExpression } from '../expressions/compile.ts'
import { isTrue } from '../expressions/operators/operands.ts'
import { isRegex } from '../expressions/regex.ts'
import { MatchSteps } from '../expressions/regex-steps.ts'
import { createBitTest } from './bits.ts'
import { typePredicate } from './bson-types.ts'
import { createRegexTest, readRegex } from './regex-tests.ts'

export type DocumentTest = (value: unknown) => boolean

export interface MatchOptions {
  collation?: Collation | undefined
  /** `let` variables of the command, for $expr. */
  variables?: Document | undefined
  /** The budget of the regular expressions on one document; only inside of a filter. */
  steps?: MatchSteps
}

const REFUSED_OPERATORS =
  '$where $function $text $near $nearSphere $geoWithin $geoIntersects $within $jsonSchema $accumulator'.split(
    ' ',
  )

const unknownOperator = (name: string): never =>
  REFUSED_OPERATORS.includes(name)
    ? fail(115, `${name} is not supported by this engine`)
    : fail(2, `unknown operator: ${name}`)

/** @throws 2 for an invalid filter, 115 for an operator that this engine refuses */
export const compileFilter = (filter: unknown, options: MatchOptions = {}): DocumentTest => {
  if (options.steps) return compileClauses(filter, options)
  const steps = new MatchSteps()
  const test = compileClauses(filter, { ...options, steps })
  return (document) => {
    steps.refill()
    return test(document)
  }
}

const compileClauses = (filter: unknown, options: MatchOptions): DocumentTest => {
  if (!isObject(filter)) return fail(14, "BSON field 'filter' is the wrong type, expected type 'object'")
  const tests = Object.entries(documentFields(filter)).map(([key, value]) => clause(key, value, options))
  return tests.length === 1 ? (tests[0] as DocumentTest) : (document) => tests.every((test) => test(document))
}

type DocumentOperator = (operand: unknown, options: MatchOptions) => DocumentTest

/** The operators of a whole document, and the fields of a DBRef, whose names look like operators. */
export const documentOperators: Readonly<Record<string, DocumentOperator>> = {
  $and(operand, options) {
    const tests = alternatives('$and', operand, options)
    return (document) => tests.every((test) => test(document))
  },
  $or(operand, options) {
    const tests = alternatives('$or', operand, options)
    return (document) => tests.some((test) => test(document))
  },
  $nor(operand, options) {
    const tests = alternatives('$nor', operand, options)
    return (document) => !tests.some((test) => test(document))
  },
  $expr(operand, options) {
    const expression = compileExpression(
      operand,
      isFieldIn(operand) ? { ...options, collation: undefined } : options,
    )
    return (document) => isTrue(expression(document))
  },
  $comment: () => () => true,
  $id: (operand, options) => createFieldTest(['$id'], { $eq: operand }, options),
  $ref: (operand, options) =>
    createFieldTest(['$ref'], { $eq: operand }, { ...options, collation: undefined }),
  $db: (operand, options) => createFieldTest(['$db'], { $eq: operand }, { ...options, collation: undefined }),
}

const clause = (key: string, value: unknown, options: MatchOptions): DocumentTest => {
  const operator = Object.hasOwn(documentOperators, key) ? documentOperators[key] : undefined
  if (operator) return operator(value, options)
  if (key.startsWith('$'))
    return REFUSED_OPERATORS.includes(key)
      ? unknownOperator(key)
      : fail(2, `unknown top level operator: ${key}`)
  return createFieldTest(key.split('.'), value, options)
}

/** `{$in: ['$field', […]]}`: MongoDB turns it into a query that ignores the collation. */
const isFieldIn = (value: unknown): boolean =>
  isObject(value) &&
  Array.isArray(value.$in) &&
  typeof value.$in[0] === 'string' &&
  /^\$[^$]/.test(value.$in[0]) &&
  Array.isArray(value.$in[1])

const alternatives = (key: string, value: unknown, options: MatchOptions): DocumentTest[] => {
  if (!Array.isArray(value)) return fail(2, `${key} must be an array`)
  if (value.length === 0) fail(2, `${key} must be a nonempty array`)
  return value.map((filter) =>
    isObject(filter) ? compileFilter(filter, options) : fail(2, `${key} entries need to be full objects`),
  )
}

export const isOperators = (value: unknown): value is Document => {
  if (!isObject(value) || '_bsontype' in value) return false
  const first = Object.keys(value)[0]
  return first?.startsWith('$') === true && !['$ref', '$id', '$db'].includes(first)
}

/** A test of the values at the end of a path. */
type FieldPredicate = (values: unknown[]) => boolean

const createFieldTest = (parts: string[], value: unknown, options: MatchOptions): DocumentTest => {
  const test = createValueTest(value, { ...options, reach: liftToElements })
  return (document) => test(valuesAtPath(document, parts))
}

const createValueTest = (value: unknown, options: Scope): FieldPredicate => {
  const { reach, collation, steps } = options
  if (isRegex(value)) return reach(createRegexTest(value, steps))
  if (!isOperators(value)) return reach(equality(value, collation))
  const tests = Object.entries(value)
    .filter(([name]) => name !== '$options' && name !== '$comment')
    .map(([name, operand]) => createOperatorTest(name, operand, value, options))
  return (values) => tests.every((test) => test(values))
}

/** Lifts a test of one value to a test of all values at the end of a path. */
type LiftTest = (test: DocumentTest) => FieldPredicate

interface Scope extends MatchOptions {
  reach: LiftTest
}

/** Passes if a value passes, or an element of a value that is an array. */
const liftToElements: LiftTest = (test) => (values) =>
  values.some((value) => test(value) || (Array.isArray(value) && value.some(test)))

const liftToValues: LiftTest = (test) => (values) => values.some(test)

const not =
  (test: FieldPredicate): FieldPredicate =>
  (values) =>
    !test(values)

const equality = (operand: unknown, collation?: Collation): DocumentTest => {
  if (isNullish(operand)) return isNullish
  const type = typeOrder(operand)
  return (value) => typeOrder(value) === type && compare(value, operand, collation) === 0
}

const comparison = (
  operand: unknown,
  accept: (order: number) => boolean,
  collation?: Collation,
): DocumentTest => {
  if (isRegex(operand)) return fail(2, "Can't have RegEx as arg to predicate over a field.")
  const type = typeOrder(operand)
  if (type === 1 || type === 127) return (value) => accept(compare(value ?? null, operand))
  const nan = (value: unknown) => type === 10 && Number.isNaN(toNumber(value))
  const operandNan = nan(operand)
  return (fieldValue) => {
    const value = fieldValue ?? null
    return (
      typeOrder(value) === type && nan(value) === operandNan && accept(compare(value, operand, collation))
    )
  }
}

type FieldOperator = (operand: unknown, options: Scope, siblings: Document) => FieldPredicate

export const fieldOperators: Readonly<Record<string, FieldOperator>> = {
  $eq: (operand, { collation, reach }) => reach(equality(operand, collation)),
  $ne: (operand, { collation, reach }) =>
    isRegex(operand) ? fail(2, "Can't have regex as arg to $ne.") : not(reach(equality(operand, collation))),
  $gt: (operand, { collation, reach }) => reach(comparison(operand, (order) => order > 0, collation)),
  $gte: (operand, { collation, reach }) => reach(comparison(operand, (order) => order >= 0, collation)),
  $lt: (operand, { collation, reach }) => reach(comparison(operand, (order) => order < 0, collation)),
  $lte: (operand, { collation, reach }) => reach(comparison(operand, (order) => order <= 0, collation)),
  $in: (operand, options) => options.reach(oneOf('$in', operand, options)),
  $nin: (operand, options) => not(options.reach(oneOf('$nin', operand, options))),
  $exists: (operand) => {
    const mustExist = isTrue(operand)
    return (values) => values.some((value) => value !== undefined) === mustExist
  },
  $type: (operand, { reach }) => reach(typePredicate(operand)),
  $regex: (operand, { reach, steps }, siblings) =>
    reach(createRegexTest(readRegex(operand, siblings), steps)),
  $not: (operand, options) => {
    if (isRegex(operand)) return not(options.reach(createRegexTest(operand, options.steps)))
    if (!isOperators(operand)) return fail(2, '$not needs a regex or a document')
    return not(createValueTest(operand, options))
  },
  $all: (operand, options) => {
    if (!Array.isArray(operand)) return fail(2, '$all needs an array')
    if (operand.some(isElemMatch) && !operand.every(isElemMatch))
      fail(2, '$all with $elemMatch allows nothing else')
    if (
      operand.length > MAX_COMPARED_VALUES &&
      !operand.some((value) => isRegex(value) || isElemMatch(value))
    )
      return containsAll(operand, options.collation)
    const tests = operand.map((value) =>
      createValueTest(isElemMatch(value) ? value : literal(value), options),
    )
    return (values) => tests.length > 0 && tests.every((test) => test(values))
  },
  $elemMatch: (operand, options) => {
    if (!isObject(operand)) return fail(2, '$elemMatch needs an Object')
    const test = createElementTest(operand, options)
    return liftToValues((value) => Array.isArray(value) && value.some(test))
  },
  $size: (operand) => {
    const size = toNumber(operand)
    if (!isNumeric(operand) || !Number.isInteger(size)) fail(2, '$size must be a whole number')
    if (size < 0) fail(2, '$size may not be negative')
    if (size >= 2 ** 31) fail(2, '$size must fit into 32 bits')
    return liftToValues((value) => Array.isArray(value) && value.length === size)
  },
  $mod: (operand, { reach }) => {
    if (!Array.isArray(operand) || operand.length !== 2 || !operand.every(isFiniteNumber))
      return fail(2, 'malformed mod, needs to be an array of two numbers')
    const [divisor, remainder] = operand.map(toBigInt) as [bigint, bigint]
    if ([divisor, remainder].some((number) => BigInt.asIntN(64, number) !== number))
      fail(2, 'malformed mod, divisor and remainder must fit into 64 bits')
    if (divisor === 0n) fail(2, 'divisor cannot be 0')
    return reach((value) => isFiniteNumber(value) && toBigInt(value) % divisor === remainder)
  },
  $bitsAllSet: (operand, { reach }) =>
    reach(createBitTest(operand, (positions, isSet) => positions.every(isSet))),
  $bitsAnySet: (operand, { reach }) =>
    reach(createBitTest(operand, (positions, isSet) => positions.some(isSet))),
  $bitsAllClear: (operand, { reach }) =>
    reach(createBitTest(operand, (positions, isSet) => !positions.some(isSet))),
  $bitsAnyClear: (operand, { reach }) =>
    reach(createBitTest(operand, (positions, isSet) => !positions.every(isSet))),
}

/** Longer lists are looked up instead of compared one by one. */
const MAX_COMPARED_VALUES = 8

const containsAll =
  (requiredValues: unknown[], collation?: Collation): FieldPredicate =>
  (values) => {
    const present = new ValueSet([], collation)
    for (const value of values)
      for (const one of Array.isArray(value) ? [value, ...value] : [value]) present.add(one ?? null)
    return requiredValues.every((value) => present.has(value ?? null))
  }

const isFiniteNumber = (value: unknown): boolean => isNumeric(value) && Number.isFinite(toNumber(value))

const createOperatorTest = (
  name: string,
  operand: unknown,
  siblings: Document,
  options: Scope,
): FieldPredicate => {
  const operator = Object.hasOwn(fieldOperators, name) ? fieldOperators[name] : undefined
  return operator ? operator(operand, options, siblings) : unknownOperator(name)
}

const literal = (value: unknown): unknown => (isRegex(value) ? value : { $eq: value })

const isElemMatch = (value: unknown): boolean => isOperators(value) && '$elemMatch' in value

const oneOf = (name: string, operand: unknown, { collation, steps }: MatchOptions): DocumentTest => {
  if (!Array.isArray(operand)) return fail(2, `${name} needs an array`)
  if (operand.some(isOperators)) fail(2, `cannot nest $ under ${name}`)
  const expressions = operand.filter(isRegex).map((one) => createRegexTest(one, steps))
  // Most values are strings, which need no comparison by type.
  const isText = (value: unknown): value is string => typeof value === 'string' && collation === undefined
  const texts = new Set(operand.filter(isText))
  const otherValues = operand.filter((value) => !isRegex(value) && !isText(value))
  otherValues.sort((a, b) => compare(a, b, collation))
  return (value) =>
    (isText(value) && texts.has(value)) ||
    has(otherValues, value ?? null, collation) ||
    expressions.some((test) => test(value))
}

const has = (sortedValues: unknown[], value: unknown, collation?: Collation): boolean => {
  let low = 0
  let high = sortedValues.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const order = compare(sortedValues[middle], value, collation)
    if (order === 0) return true
    if (order < 0) low = middle + 1
    else high = middle
  }
  return false
}

/**
 * A test of one array element. `{$gt: 1}` tests the element itself, `{a: 1}` its field. An element that is an
 * array counts as a document with the fields 0, 1, …. So `{'0.a': 1}` tests its first element, and `{a: 1}`
 * finds no field a.
 */
export const createElementTest = (criteria: Document, options: MatchOptions): DocumentTest => {
  if ('$expr' in criteria) fail(2, '$expr can only be applied to the top-level document')
  if (isOperators(criteria) && !/^\$(and|or|nor)$/.test(Object.keys(criteria)[0] as string)) {
    const test = createValueTest(criteria, { ...options, reach: liftToValues })
    return (element) => test([element])
  }
  const test = compileFilter(criteria, options)
  return (element) => (Array.isArray(element) ? test({ ...element }) : isObject(element) && test(element))
}
