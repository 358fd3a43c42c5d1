/** The stages that process one document after the other, or all documents together. */
import type { Document } from 'bson'
import { Int32, Long } from 'bson'
import { fields, get, isNullish, isNumeric, isObject, put, toNumber } from '../../values/bson-values.ts'
import { fail } from '../../values/errors.ts'
import { rounded, wholeNumber } from '../../values/numbers.ts'
import { checkKnown } from '../../values/options/option-types.ts'
import { PAUSE, sortInSteps } from '../../values/steps.ts'
import { compileExpression } from '../expressions/compile.ts'
import { checkPath } from '../expressions/expression.ts'
import { typeName } from '../expressions/operators/operands.ts'
import { compileFilter } from '../filters/matcher.ts'
import { compileAddition, compileProjection } from '../results/projection.ts'
import { createSorter, sortParts } from '../results/sort.ts'
import { group } from './group.ts'
import { type Environment, each, gather, type Stage } from './stage.ts'

export type MakeStage = (body: unknown, environment: Environment) => Stage

const match: MakeStage = (body, environment) => {
  if (!isObject(body)) return fail(15959, 'the match filter must be an expression in an object')
  const test = compileFilter(body, environment)
  return each((document) => (test(document) ? document : undefined))
}

const project: MakeStage = (body, environment) => {
  if (!isObject(body)) return fail(15969, '$project specification must be an object')
  if (Object.keys(body).length === 0)
    fail(51272, 'Invalid $project :: caused by :: projection specification must have at least one field')
  const change = compileProjection(body, environment)
  return each((document) => (change ? change(document) : document))
}

const addFields: MakeStage = (body, environment) => {
  if (!isObject(body)) return fail(40272, '$addFields specification stage must be an object')
  return each(compileAddition(body, environment))
}

const unset: MakeStage = (body, environment) => {
  const names = Array.isArray(body) ? body : [body]
  if (names.length === 0)
    fail(31119, '$unset specification must be a string or an array with at least one field')
  if (!names.every((name) => typeof name === 'string'))
    fail(
      Array.isArray(body) ? 31120 : 31002,
      '$unset specification must be a string or an array containing only string values',
    )
  for (const name of names) checkPath(name)
  if (new Set(names).size < names.length) fail(31250, '$unset contains a path twice')
  return project(Object.fromEntries(names.map((name) => [name, false])), environment)
}

const MAX_SORT_KEYS = 32

export const checkSort = (body: unknown): Document => {
  if (!isObject(body)) return fail(15973, 'the $sort key specification must be an object')
  const paths = Object.keys(body)
  if (paths.length === 0) fail(15976, '$sort stage must have at least one sort key')
  if (paths.length > MAX_SORT_KEYS) fail(13103, `too many compound keys, the most is ${MAX_SORT_KEYS}`)
  for (const path of paths) checkPath(path)
  return body
}

const sort: MakeStage = (body, { collation, pace }) => {
  const order = createSorter(sortParts(checkSort(body)), collation)
  return function* (input) {
    const rows = (yield* gather(input)).map((document) => ({ document, values: order.values(document) }))
    for (const { document } of yield* sortInSteps(rows, (a, b) => order.compare(a.values, b.values), pace))
      yield document
  }
}

const integerOf = (value: unknown, name: string, code: number): number =>
  wholeNumber(value) === undefined
    ? fail(code, `invalid argument to ${name} stage: Expected an integer: ${name}: ${String(value)}`)
    : toNumber(value)

export const limitOf = (value: unknown): number => {
  const most = integerOf(value, '$limit', 5107201)
  if (most < 0) fail(5107201, 'invalid argument to $limit stage: Expected a non-negative number')
  return most > 0 ? most : fail(15958, 'the limit must be positive')
}

export const skipOf = (value: unknown): number => {
  const count = integerOf(value, '$skip', 5107200)
  return count >= 0 ? count : fail(5107200, 'invalid argument to $skip stage: Expected a non-negative number')
}

const limit: MakeStage = (body) => {
  const most = limitOf(body)
  return function* (input) {
    let left = most
    for (const document of input) {
      yield document
      if (document !== PAUSE && --left === 0) return
    }
  }
}

const skip: MakeStage = (body) => {
  const count = skipOf(body)
  return (input) => {
    let left = count
    return each((document) => (left-- > 0 ? undefined : document))(input)
  }
}

const count: MakeStage = (body) => {
  if (typeof body !== 'string') return fail(40156, 'the count field must be a non-empty string')
  if (body === '') fail(40157, 'the count field must be a non-empty string')
  if (body.startsWith('$')) fail(40158, 'the count field cannot be a $-prefixed path')
  if (body.includes('\0')) fail(40159, 'the count field cannot contain a null byte')
  if (body.includes('.')) fail(40160, "the count field cannot contain '.'")
  if (body === '_id') fail(9039800, "the count field cannot be '_id'")
  return function* (input) {
    let found = 0
    for (const document of input) {
      if (document === PAUSE) yield PAUSE
      else found++
    }
    if (found > 0) yield { [body]: found < 2 ** 31 ? new Int32(found) : Long.fromNumber(found) }
  }
}

const sortByCount: MakeStage = (body, environment) => {
  const expression =
    (typeof body === 'string' && body.startsWith('$')) ||
    (isObject(body) && Object.keys(body)[0]?.startsWith('$'))
  if (!expression) fail(40149, 'the sortByCount field must be defined as a $-prefixed path or an expression')
  const [grouped, sorted] = [
    group({ _id: body, count: { $sum: new Int32(1) } }, environment),
    sort({ count: new Int32(-1) }, environment),
  ]
  return (input) => sorted(grouped(input))
}

const replaceRoot: MakeStage = (body, environment) => {
  if (!isObject(body)) return fail(40229, 'expected an object as specification for $replaceRoot stage')
  checkKnown(body, '$replaceRoot', ['newRoot'])
  if (!('newRoot' in body)) fail(40414, "BSON field '$replaceRoot.newRoot' is missing but a required field")
  return replaceWith(body.newRoot, environment)
}

const replaceWith: MakeStage = (body, environment) => {
  const root = compileExpression(body, environment)
  return each((document) => {
    const value = root(document)
    return isObject(value)
      ? fields(value)
      : fail(
          40228,
          `'newRoot' expression must evaluate to an object, but resulting value was of type ${typeName(value)}`,
        )
  })
}

/** A random selection of this many documents; each has the same chance. */
const sample: MakeStage = (body, { pace }) => {
  if (!isObject(body)) return fail(28745, 'the $sample stage specification must be an object')
  if ('size' in body && !isNumeric(body.size)) fail(28746, 'size argument to $sample must be a number')
  for (const key of Object.keys(body))
    if (key !== 'size') fail(28748, `unrecognized option to $sample: ${key}`)
  if (!('size' in body)) fail(28749, '$sample stage must specify a size')
  const size = rounded(body.size)
  if (!(size > 0)) fail(28747, 'size argument to $sample must be a positive integer')
  return function* (input) {
    const chosen: Document[] = []
    let seen = 0
    for (const document of input) {
      if (document === PAUSE) {
        yield PAUSE
        continue
      }
      const place = chosen.length < size ? chosen.length : Math.floor(Math.random() * (seen + 1))
      if (place < size) chosen[place] = document
      seen++
    }
    const order = chosen.map((document) => ({ document, at: Math.random() }))
    for (const { document } of yield* sortInSteps(order, (a, b) => a.at - b.at, pace)) yield document
  }
}

interface Unwind {
  path: string[]
  index: string | undefined
  keepEmpty: boolean
}

const unwindOf = (body: unknown): Unwind => {
  const given: Document =
    typeof body === 'string'
      ? { path: body }
      : isObject(body)
        ? body
        : fail(
            15981,
            `expected either a string or an object as specification for $unwind stage, got ${typeName(body)}`,
          )
  const { path, includeArrayIndex: index, preserveNullAndEmptyArrays: keepEmpty = false, ...others } = given
  for (const key of Object.keys(others)) fail(28811, `unrecognized option to $unwind stage: ${key}`)
  if (path === undefined) fail(28812, 'no path specified to $unwind stage')
  if (typeof path !== 'string')
    return fail(28808, `expected a string as the path for $unwind stage, got ${typeName(path)}`)
  if (!path.startsWith('$'))
    fail(28818, `path option to $unwind stage should be prefixed with a '$': ${path}`)
  if (typeof keepEmpty !== 'boolean')
    fail(28809, 'expected a boolean for the preserveNullAndEmptyArrays option to $unwind stage')
  if (index !== undefined && (typeof index !== 'string' || index === ''))
    fail(28810, 'expected a non-empty string for the includeArrayIndex option to $unwind stage')
  if (index?.startsWith('$'))
    fail(28822, `includeArrayIndex option to $unwind stage should not be prefixed with a '$': ${index}`)
  return { path: checkPath(path.slice(1)), index, keepEmpty }
}

const unwind: MakeStage = (body, { pace }) => {
  const { path, index, keepEmpty } = unwindOf(body)
  const at = index === undefined ? undefined : checkPath(index)
  const numbered = (document: Document, n: number | null) =>
    at ? withValue(document, at, n === null ? null : Long.fromNumber(n)) : document
  return function* (input) {
    for (const document of input) {
      if (document === PAUSE) {
        yield PAUSE
        continue
      }
      const value = path.reduce<unknown>((inner, key) => get(inner, key), document)
      if (Array.isArray(value) && value.length > 0) {
        for (const [n, element] of value.entries()) {
          if (pace.due()) yield PAUSE
          yield numbered(withValue(document, path, element), n)
        }
      } else if (!Array.isArray(value) && !isNullish(value)) yield numbered(document, null)
      else if (keepEmpty) yield numbered(Array.isArray(value) ? without(document, path) : document, null)
    }
  }
}

/** A copy of the document with another value at a path. */
export const withValue = (document: unknown, path: string[], value: unknown): Document => {
  const [key = '', ...rest] = path
  const copy = isObject(document) ? { ...fields(document) } : {}
  put(copy, key, rest.length === 0 ? value : withValue(copy[key], rest, value))
  return copy
}

const without = (document: Document, path: string[]): Document => {
  const [key = '', ...rest] = path
  const copy = { ...fields(document) }
  if (rest.length === 0) delete copy[key]
  else if (isObject(copy[key])) put(copy, key, without(copy[key], rest))
  return copy
}

/** The documents that an expression without input yields. */
const documents: MakeStage = (body, environment) => {
  const made = compileExpression(body, environment)({})
  if (!Array.isArray(made))
    return fail(5858203, `an array is expected of $documents, but found ${typeName(made)}`)
  for (const document of made) if (!isObject(document)) fail(40228, 'elements of $documents must be objects')
  return () => made as Document[]
}

export const stages: Record<string, MakeStage> = {
  $documents: documents,
  $match: match,
  $project: project,
  $addFields: addFields,
  $set: addFields,
  $unset: unset,
  $group: group,
  $sort: sort,
  $limit: limit,
  $skip: skip,
  $count: count,
  $sortByCount: sortByCount,
  $replaceRoot: replaceRoot,
  $replaceWith: replaceWith,
  $sample: sample,
  $unwind: unwind,
}
