/** The stages that process one document after the other, or all documents together. */
import type { Document } from 'bson'
import { Int32, Long } from 'bson'
import {
  documentFields,
  getMember,
  isNullish,
  isNumeric,
  isObject,
  setMember,
  toNumber,
} from '../../values/bson-values.ts'
import { fail } from '../../values/errors.ts'
import { roundToWhole, toWholeNumber } from '../../values/numbers.ts'
import { checkKnown } from '../../values/options/option-types.ts'
import { PAUSE, sortInSteps } from '../../values/steps.ts'
import { compileExpression } from '../expressions/compile.ts'
import { splitFieldPath } from '../expressions/expression.ts'
import { typeName } from '../expressions/operators/operands.ts'
import { compileFilter } from '../filters/matcher.ts'
import { compileAddition, compileProjection } from '../results/projection.ts'
import { createSorter, parseSort } from '../results/sort.ts'
import { group } from './group.ts'
import { collectDocuments, mapDocuments, type Stage, type StageEnvironment } from './stage.ts'

export type CreateStage = (body: unknown, environment: StageEnvironment) => Stage

const match: CreateStage = (body, environment) => {
  if (!isObject(body)) return fail(15959, 'the match filter must be an expression in an object')
  const test = compileFilter(body, environment)
  return mapDocuments((document) => (test(document) ? document : undefined))
}

const project: CreateStage = (body, environment) => {
  if (!isObject(body)) return fail(15969, '$project specification must be an object')
  if (Object.keys(body).length === 0)
    fail(51272, 'Invalid $project :: caused by :: projection specification must have at least one field')
  const change = compileProjection(body, environment)
  return mapDocuments((document) => (change ? change(document) : document))
}

const addFields: CreateStage = (body, environment) => {
  if (!isObject(body)) return fail(40272, '$addFields specification stage must be an object')
  return mapDocuments(compileAddition(body, environment))
}

const unset: CreateStage = (body, environment) => {
  const names = Array.isArray(body) ? body : [body]
  if (names.length === 0)
    fail(31119, '$unset specification must be a string or an array with at least one field')
  if (!names.every((name) => typeof name === 'string'))
    fail(
      Array.isArray(body) ? 31120 : 31002,
      '$unset specification must be a string or an array containing only string values',
    )
  for (const name of names) splitFieldPath(name)
  if (new Set(names).size < names.length) fail(31250, '$unset contains a path twice')
  return project(Object.fromEntries(names.map((name) => [name, false])), environment)
}

const MAX_SORT_KEYS = 32

export const checkSort = (body: unknown): Document => {
  if (!isObject(body)) return fail(15973, 'the $sort key specification must be an object')
  const paths = Object.keys(body)
  if (paths.length === 0) fail(15976, '$sort stage must have at least one sort key')
  if (paths.length > MAX_SORT_KEYS) fail(13103, `too many compound keys, the most is ${MAX_SORT_KEYS}`)
  for (const path of paths) splitFieldPath(path)
  return body
}

const sort: CreateStage = (body, { collation, timer }) => {
  const order = createSorter(parseSort(checkSort(body)), collation)
  return function* (input) {
    const rows = (yield* collectDocuments(input)).map((document) => ({
      document,
      values: order.values(document),
    }))
    for (const { document } of yield* sortInSteps(rows, (a, b) => order.compare(a.values, b.values), timer))
      yield document
  }
}

const integerOf = (value: unknown, name: string, code: number): number =>
  toWholeNumber(value) === undefined
    ? fail(code, `invalid argument to ${name} stage: Expected an integer: ${name}: ${String(value)}`)
    : toNumber(value)

export const readLimit = (value: unknown): number => {
  const most = integerOf(value, '$limit', 5107201)
  if (most < 0) fail(5107201, 'invalid argument to $limit stage: Expected a non-negative number')
  return most > 0 ? most : fail(15958, 'the limit must be positive')
}

export const readSkip = (value: unknown): number => {
  const count = integerOf(value, '$skip', 5107200)
  return count >= 0 ? count : fail(5107200, 'invalid argument to $skip stage: Expected a non-negative number')
}

const limit: CreateStage = (body) => {
  const most = readLimit(body)
  return function* (input) {
    let left = most
    for (const document of input) {
      yield document
      if (document !== PAUSE && --left === 0) return
    }
  }
}

const skip: CreateStage = (body) => {
  const count = readSkip(body)
  return (input) => {
    let left = count
    return mapDocuments((document) => (left-- > 0 ? undefined : document))(input)
  }
}

const count: CreateStage = (body) => {
  if (typeof body !== 'string') return fail(40156, 'the count field must be a non-empty string')
  if (body === '') fail(40157, 'the count field must be a non-empty string')
  if (body.startsWith('$')) fail(40158, 'the count field cannot be a $-prefixed path')
  if (body.includes('\0')) fail(40159, 'the count field cannot contain a null byte')
  if (body.includes('.')) fail(40160, "the count field cannot contain '.'")
  if (body === '_id') fail(9039800, "the count field cannot be '_id'")
  return function* (input) {
    let documentCount = 0
    for (const document of input) {
      if (document === PAUSE) yield PAUSE
      else documentCount++
    }
    if (documentCount > 0)
      yield { [body]: documentCount < 2 ** 31 ? new Int32(documentCount) : Long.fromNumber(documentCount) }
  }
}

const sortByCount: CreateStage = (body, environment) => {
  const expression =
    (typeof body === 'string' && body.startsWith('$')) ||
    (isObject(body) && Object.keys(body)[0]?.startsWith('$'))
  if (!expression) fail(40149, 'the sortByCount field must be defined as a $-prefixed path or an expression')
  const groupStage = group({ _id: body, count: { $sum: new Int32(1) } }, environment)
  const sortStage = sort({ count: new Int32(-1) }, environment)
  return (input) => sortStage(groupStage(input))
}

const replaceRoot: CreateStage = (body, environment) => {
  if (!isObject(body)) return fail(40229, 'expected an object as specification for $replaceRoot stage')
  checkKnown(body, '$replaceRoot', ['newRoot'])
  if (!('newRoot' in body)) fail(40414, "BSON field '$replaceRoot.newRoot' is missing but a required field")
  return replaceWith(body.newRoot, environment)
}

const replaceWith: CreateStage = (body, environment) => {
  const root = compileExpression(body, environment)
  return mapDocuments((document) => {
    const value = root(document)
    return isObject(value)
      ? documentFields(value)
      : fail(
          40228,
          `'newRoot' expression must evaluate to an object, but resulting value was of type ${typeName(value)}`,
        )
  })
}

/** A random selection of this many documents; each has the same chance. */
const sample: CreateStage = (body, { timer }) => {
  if (!isObject(body)) return fail(28745, 'the $sample stage specification must be an object')
  if ('size' in body && !isNumeric(body.size)) fail(28746, 'size argument to $sample must be a number')
  for (const key of Object.keys(body))
    if (key !== 'size') fail(28748, `unrecognized option to $sample: ${key}`)
  if (!('size' in body)) fail(28749, '$sample stage must specify a size')
  const size = roundToWhole(body.size)
  if (!(size > 0)) fail(28747, 'size argument to $sample must be a positive integer')
  return function* (input) {
    const selection: Document[] = []
    let documentCount = 0
    for (const document of input) {
      if (document === PAUSE) {
        yield PAUSE
        continue
      }
      const place =
        selection.length < size ? selection.length : Math.floor(Math.random() * (documentCount + 1))
      if (place < size) selection[place] = document
      documentCount++
    }
    const order = selection.map((document) => ({ document, at: Math.random() }))
    for (const { document } of yield* sortInSteps(order, (a, b) => a.at - b.at, timer)) yield document
  }
}

interface Unwind {
  path: string[]
  index: string | undefined
  keepEmpty: boolean
}

const unwindOf = (body: unknown): Unwind => {
  const spec: Document =
    typeof body === 'string'
      ? { path: body }
      : isObject(body)
        ? body
        : fail(
            15981,
            `expected either a string or an object as specification for $unwind stage, got ${typeName(body)}`,
          )
  const { path, includeArrayIndex: index, preserveNullAndEmptyArrays: keepEmpty = false, ...others } = spec
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
  return { path: splitFieldPath(path.slice(1)), index, keepEmpty }
}

const unwind: CreateStage = (body, { timer }) => {
  const { path, index, keepEmpty } = unwindOf(body)
  const at = index === undefined ? undefined : splitFieldPath(index)
  const setArrayIndex = (document: Document, n: number | null) =>
    at ? setComputedField(document, at, n === null ? null : Long.fromNumber(n)) : document
  return function* (input) {
    for (const document of input) {
      if (document === PAUSE) {
        yield PAUSE
        continue
      }
      const value = path.reduce<unknown>((inner, key) => getMember(inner, key), document)
      if (Array.isArray(value) && value.length > 0) {
        for (const [n, element] of value.entries()) {
          if (timer.isSliceOver()) yield PAUSE
          yield setArrayIndex(setComputedField(document, path, element), n)
        }
      } else if (!Array.isArray(value) && !isNullish(value)) yield setArrayIndex(document, null)
      else if (keepEmpty)
        yield setArrayIndex(Array.isArray(value) ? withoutField(document, path) : document, null)
    }
  }
}

/** A copy of the document with another value at a path. */
export const setComputedField = (document: unknown, path: string[], value: unknown): Document => {
  const [key = '', ...rest] = path
  const copy = isObject(document) ? { ...documentFields(document) } : {}
  setMember(copy, key, rest.length === 0 ? value : setComputedField(copy[key], rest, value))
  return copy
}

const withoutField = (document: Document, path: string[]): Document => {
  const [key = '', ...rest] = path
  const copy = { ...documentFields(document) }
  if (rest.length === 0) delete copy[key]
  else if (isObject(copy[key])) setMember(copy, key, withoutField(copy[key], rest))
  return copy
}

/** The documents that an expression without input yields. */
const documents: CreateStage = (body, environment) => {
  const elements = compileExpression(body, environment)({})
  if (!Array.isArray(elements))
    return fail(5858203, `an array is expected of $documents, but found ${typeName(elements)}`)
  for (const document of elements)
    if (!isObject(document)) fail(40228, 'elements of $documents must be objects')
  return () => elements as Document[]
}

export const stages: Record<string, CreateStage> = {
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
