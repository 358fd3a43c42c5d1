/** Updates compiled to functions from a document to the document after: operators, replacements and pipelines. */
import type { Document } from 'bson'
import { Int32, Long, Timestamp } from 'bson'
import { type Collation, compare, equal } from '../../values/compare.ts'
import { fail } from '../../values/errors.ts'
import { Pace } from '../../values/steps.ts'
import { bsonType, clone, fields, isNumeric, isObject } from '../../values/values.ts'
import { checkPipeline, compilePipeline, runPipeline } from '../aggregation/pipeline.ts'
import { calculate, toWhole } from '../expressions/arithmetic.ts'
import { isOperators } from '../filters/matcher.ts'
import { addToSet, pop, pull, pullAll, push } from './array-updates.ts'
import { checkArrayFilters, compileArrayFilters, concretePaths } from './positional-paths.ts'
import { erase, read, write } from './update-paths.ts'

export interface UpdateOptions {
  /** The filter that found the document: decides what `$` in a path means. */
  filter: Document
  arrayFilters?: unknown
  collation?: Collation | undefined
  variables?: Document | undefined
}

/** Changes the document it is given and returns the result; `inserting`: an upsert, so $setOnInsert counts. */
export type Update = (document: Document, inserting: boolean) => Document

/** @throws 9 for an unknown modifier, 40 for two that touch the same path, 2, 14, 52 for bad operands */
export const compileUpdate = (update: unknown, options: UpdateOptions): Update => {
  if (Array.isArray(update)) {
    const change = pipelineUpdate(update, options)
    return (document, inserting) => keepingId(document, change, inserting)
  }
  if (!isObject(update)) return fail(9, 'Update argument must be either an object or an array')
  const change = isModifiers(update) ? modifierUpdate(update, options) : replacement(update)
  return (document, inserting) => keepingId(document, change, inserting)
}

export const isModifiers = (update: unknown): boolean =>
  Array.isArray(update) || (isObject(update) && Object.keys(update)[0]?.startsWith('$') === true)

const withId = (document: Document, id: unknown): Document =>
  document._id === undefined && id !== undefined ? { _id: id, ...document } : document

const keepingId = (document: Document, change: Update, inserting: boolean): Document => {
  const id = clone(document._id)
  const result = change(document, inserting)
  if (id !== undefined && !equal(result._id, id))
    fail(66, "Performing an update on the path '_id' would modify the immutable field '_id'")
  return result
}

const replacement = (update: Document): Update => {
  for (const key of Object.keys(update))
    if (key.startsWith('$'))
      fail(52, `The dollar ($) prefixed field '${key}' is not allowed in a replacement.`)
  return ({ _id: id }) => withId(clone(update), id)
}

const updateStages = new Set(['$set', '$addFields', '$unset', '$project', '$replaceRoot', '$replaceWith'])

const pipelineUpdate = (update: unknown[], { variables, collation }: UpdateOptions): Update => {
  const pipeline = checkPipeline(update)
  for (const stage of pipeline) {
    const [name] = Object.keys(stage) as [string]
    if (!updateStages.has(name)) fail(72, `${name} is not allowed to be used within an update`)
  }
  const stage = compilePipeline(pipeline, { variables, collation, pace: new Pace() })
  return (document) => {
    const [result] = runPipeline(stage, [document]) as [Document]
    return withId(result, document._id)
  }
}

interface Change {
  name: string
  path: string
  operand: unknown
  apply: Modifier
}

const modifierUpdate = (update: Document, options: UpdateOptions): Update => {
  const filters = compileArrayFilters(options.arrayFilters, options.collation)
  const changes = Object.entries(update).flatMap(([name, body]) => modifierChanges(name, body))
  checkConflicts(changes)
  checkArrayFilters(
    changes.map(({ path }) => path),
    filters,
  )
  return (document, inserting) => {
    for (const change of changes) {
      if (change.name === '$setOnInsert' && !inserting) continue
      for (const path of concretePaths(document, change.path, filters, options.filter))
        change.apply(document, path, change.operand, options.collation)
    }
    return document
  }
}

type Modifier = (document: Document, path: string[], operand: unknown, collation?: Collation) => void

const set: Modifier = (document, path, operand) => write(document, path, clone(operand))

const arithmetic =
  (name: string, how: 'add' | 'multiply'): Modifier =>
  (document, path, operand) => {
    const current = read(document, path)
    if (current === undefined)
      return write(document, path, how === 'add' ? operand : calculate(how, operand, new Int32(0)))
    if (!isNumeric(current))
      fail(14, `Cannot apply ${name} to a value of non-numeric type at '${path.join('.')}'`)
    const result = calculate(how, current, operand)
    // What stays equal stays as it is: -0, or the digits of a decimal.
    if (bsonType(result) !== bsonType(current) || !equal(result, current)) write(document, path, result)
  }

const extreme =
  (sign: number): Modifier =>
  (document, path, operand, collation) => {
    const current = read(document, path)
    if (current === undefined || compare(operand, current, collation) * sign > 0)
      write(document, path, operand)
  }

const arrayChange =
  (change: typeof push): Modifier =>
  (document, path, operand, collation) => {
    const result = change(read(document, path), operand, path.join('.'), collation)
    if (result !== undefined) write(document, path, result)
  }

const currentDate: Modifier = (document, path, operand) => {
  const type = operand === true ? 'date' : isObject(operand) ? operand.$type : undefined
  if (type !== 'date' && type !== 'timestamp')
    fail(2, "$currentDate needs true, { $type: 'date' } or { $type: 'timestamp' }")
  write(
    document,
    path,
    type === 'date' ? new Date() : new Timestamp({ t: Math.floor(Date.now() / 1000), i: 1 }),
  )
}

const rename: Modifier = (document, path, operand) => {
  const to = String(operand).split('.')
  for (const parts of [path, to])
    for (let length = 1; length < parts.length; length++)
      if (Array.isArray(read(document, parts.slice(0, length))))
        fail(2, '$rename cannot lead through an array')
  const value = read(document, path)
  if (value === undefined) return
  erase(document, path)
  write(document, to, value)
}

const bit: Modifier = (document, path, operand) => {
  if (!isObject(operand)) return fail(2, '$bit needs a document such as { and: 5 }')
  const found = read(document, path)
  const current = found === undefined ? new Int32(0) : found
  if (bsonType(current) !== 'Int32' && bsonType(current) !== 'Long')
    fail(2, `Cannot apply $bit to a value of non-integral type at '${path.join('.')}'`)
  let result = toWhole(current)
  for (const [name, value] of Object.entries(operand)) {
    if (bsonType(value) !== 'Int32' && bsonType(value) !== 'Long')
      fail(2, 'The $bit modifier field must be an Integer(32/64 bit)')
    const mask = toWhole(value)
    if (name === 'and') result &= mask
    else if (name === 'or') result |= mask
    else if (name === 'xor') result ^= mask
    else fail(2, `The $bit modifier only supports 'and', 'or', and 'xor', not '${name}'`)
  }
  const long = [current, ...Object.values(operand)].some((value) => bsonType(value) === 'Long')
  write(document, path, long ? Long.fromBigInt(result) : new Int32(Number(result)))
}

const modifiers: Record<string, Modifier> = {
  $set: set,
  $setOnInsert: set,
  $unset: (document, path) => erase(document, path),
  $inc: arithmetic('$inc', 'add'),
  $mul: arithmetic('$mul', 'multiply'),
  $min: extreme(-1),
  $max: extreme(1),
  $rename: rename,
  $currentDate: currentDate,
  $push: arrayChange(push),
  $addToSet: arrayChange(addToSet),
  $pop: arrayChange(pop),
  $pull: arrayChange(pull),
  $pullAll: arrayChange(pullAll),
  $bit: bit,
}

const modifierChanges = (name: string, body: unknown): Change[] => {
  const apply = Object.hasOwn(modifiers, name) ? modifiers[name] : undefined
  if (!apply) return fail(9, `Unknown modifier: ${name}`)
  if (!isObject(body)) return fail(9, `${name} needs a document of fields, not a ${typeof body}`)
  return Object.entries(body).map(([path, operand]) => {
    checkPath(path)
    if ((name === '$inc' || name === '$mul') && !isNumeric(operand))
      fail(14, `Cannot apply ${name} with a non-numeric argument at '${path}'`)
    if (name === '$rename') checkRename(path, operand)
    return { name, path, operand, apply }
  })
}

const checkPath = (path: string): void => {
  const parts = path.split('.')
  if (parts.includes('')) fail(56, `The update path '${path}' contains an empty field name`)
  for (const part of parts)
    if (part.startsWith('$') && part !== '$' && !/^\$\[\w*\]$/.test(part) && !/^\$(id|ref|db)$/.test(part))
      fail(52, `The dollar ($) prefixed field '${part}' in '${path}' is not valid for storage.`)
}

const checkRename = (path: string, operand: unknown): void => {
  const to = typeof operand === 'string' ? operand : fail(2, `$rename needs a path to rename '${path}' to`)
  checkPath(to)
  if (path === to) fail(2, `The source and target field for $rename must differ: ${path}`)
  if (/\$/.test(path + to)) fail(2, '$rename paths may not be dynamic')
}

/** @throws 40 */
const checkConflicts = (changes: Change[]): void => {
  const paths = changes
    .flatMap(({ name, path, operand }) => (name === '$rename' ? [path, String(operand)] : [path]))
    .sort()
  const touched = new Set<string>()
  for (const path of paths) {
    const parts = path.split('.')
    for (let length = 1; length <= parts.length; length++) {
      const start = parts.slice(0, length).join('.')
      if (touched.has(start)) fail(40, `Updating the path '${path}' would create a conflict at '${start}'`)
    }
    touched.add(path)
  }
}

/** What an upsert starts from: the fields its filter demands to be equal to something. */
export const upsertBase = (filter: Document, base: Document = {}): Document => {
  for (const [key, value] of Object.entries(fields(filter))) {
    if (key === '$and' && Array.isArray(value)) for (const inner of value) upsertBase(inner, base)
    if (key === '$or' && Array.isArray(value) && value.length === 1) upsertBase(value[0], base)
    if (key.startsWith('$') || bsonType(value) === 'BSONRegExp') continue
    const [demanded, ...others] = isOperators(value) ? demandedValues(value) : [value]
    if (demanded === undefined || others.length > 0) continue
    const path = key.split('.')
    if (read(base, path) !== undefined)
      fail(54, `cannot infer query fields to set, path '${key}' is matched twice`)
    write(base, path, clone(demanded))
  }
  return base
}

const demandedValues = ({ $eq, $in, $all }: Document): unknown[] =>
  $eq === undefined ? ($in ?? $all ?? []) : [$eq]
