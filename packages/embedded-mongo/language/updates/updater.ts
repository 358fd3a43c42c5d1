/**
 * Compiles updates (operators, replacements, pipelines) to functions from a document to the updated document.
 */
import type { Document } from 'bson'
import { Int32, Long, Timestamp } from 'bson'
import { bsonType, clone, isNumeric, isObject } from '../../values/bson-values.ts'
import { type Collation, compare, isEqual } from '../../values/compare.ts'
import { fail } from '../../values/errors.ts'
import { CommandTimer } from '../../values/steps.ts'
import { checkPipeline, compilePipeline, runPipeline } from '../aggregation/pipeline.ts'
import { calculate, toWhole } from '../expressions/arithmetic.ts'
import { matchedPosition } from '../results/positions.ts'
import { addToSet, pop, pull, pullAll, push } from './array-updates.ts'
import { checkArrayFilters, compileArrayFilters, concretePaths, isPositional } from './positional-paths.ts'
import { checkPathIsWritable, comparePaths, erasePath, readPath, writePath } from './update-paths.ts'

export interface UpdateOptions {
  /** The filter that found the document; it determines `$` in paths. */
  filter: Document
  arrayFilters?: unknown
  collation?: Collation | undefined
  variables?: Document | undefined
}

/** Changes the given document and returns the result. `inserting`: an upsert, so $setOnInsert applies. */
export type Update = (document: Document, inserting: boolean) => Document

/**
 * @throws 9 for an unknown modifier, 40 for two modifiers of the same path, 2, 14, 52 for invalid operands
 */
export const compileUpdate = (update: unknown, options: UpdateOptions): Update => {
  if (Array.isArray(update)) {
    const change = pipelineUpdate(update, options)
    return (document, inserting) => keepId(document, change, inserting)
  }
  if (!isObject(update)) return fail(9, 'Update argument must be either an object or an array')
  const change = hasModifiers(update) ? modifierUpdate(update, options) : replacement(update)
  return (document, inserting) => keepId(document, change, inserting)
}

export const hasModifiers = (update: unknown): boolean =>
  Array.isArray(update) || (isObject(update) && Object.keys(update)[0]?.startsWith('$') === true)

const withId = (document: Document, id: unknown): Document =>
  document._id === undefined && id !== undefined ? { _id: id, ...document } : document

const keepId = (document: Document, change: Update, inserting: boolean): Document => {
  const id = clone(document._id)
  const result = change(document, inserting)
  if (id !== undefined && !isEqual(result._id, id))
    fail(66, "Performing an update on the path '_id' would modify the immutable field '_id'")
  return withIdFirst(result)
}

/** As MongoDB stores it. */
const withIdFirst = (document: Document): Document =>
  document._id === undefined || Object.keys(document)[0] === '_id'
    ? document
    : { _id: document._id, ...document }

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
  const stage = compilePipeline(pipeline, {
    variables,
    collation,
    hasLateConstants: true,
    timer: new CommandTimer(),
  })
  return (document) => {
    const [result] = runPipeline(stage, [document]) as [Document]
    return withId(result, document._id)
  }
}

interface Change {
  name: string
  path: string
  operand: unknown
  apply: ReturnType<Modifier>
}

const modifierUpdate = (update: Document, options: UpdateOptions): Update => {
  const filters = compileArrayFilters(options.arrayFilters, options.collation)
  const changes = Object.entries(update)
    .flatMap(([name, body]) => modifierChanges(name, body, options.collation))
    .map((change) => ({ change, path: change.path.split('.') }))
    .sort(compareAddedPaths)
    .map(({ change }) => change)
  checkConflicts(changes)
  checkArrayFilters(
    changes.map(({ path }) => path),
    filters,
  )
  const dynamic = changes.some(({ path }) => path.includes('$'))
  const positional = changes.some(({ path }) => path.split('.').includes('$'))
  return (document, inserting) => {
    // Must run before a change touches the matched element.
    const position = positional ? matchedPosition(document, options.filter, options.collation) : -1
    const steps = changes
      .filter(({ name }) => name !== '$setOnInsert' || inserting)
      .flatMap((change) =>
        concretePaths(document, change.path, filters, position).map((path) => ({ change, path })),
      )
    if (dynamic) steps.sort(compareAddedPaths)
    for (const { change, path } of steps) {
      change.apply(document, path)
      if (!inserting) checkTopLevel(document, change)
    }
    return document
  }
}

interface Step {
  change: Change
  path: string[]
}

/** As in MongoDB, new fields are added in the order of their names, whichever operator adds them. */
const compareAddedPaths = (a: Step, b: Step): number => comparePaths(addedPath(a), addedPath(b))

const addedPath = ({ change: { name, operand }, path }: Step): string[] =>
  name === '$rename' ? String(operand).split('.') : path

/** Inserted documents may have such names, and nested documents always. @throws 52 */
const checkTopLevel = (document: Document, { name, path, operand }: Change): void => {
  const [top] = (name === '$rename' ? String(operand) : path).split('.') as [string]
  if (top.startsWith('$') && name !== '$unset' && Object.hasOwn(document, top))
    fail(52, `The dollar ($) prefixed field '${top}' in '${path}' is not valid for storage.`)
}

/** Parses its operand once. @throws 2, 9, 14 for an invalid operand, before any document is read */
type Modifier = (
  operand: unknown,
  path: string,
  collation?: Collation,
) => (document: Document, path: string[]) => void

const set: Modifier = (operand) => (document, path) => writePath(document, path, clone(operand))

const arithmetic =
  (name: string, how: 'add' | 'multiply'): Modifier =>
  (operand, field) => {
    if (!isNumeric(operand)) fail(14, `Cannot apply ${name} with a non-numeric argument at '${field}'`)
    return (document, path) => {
      const current = readPath(document, path)
      if (current === undefined)
        return writePath(document, path, how === 'add' ? operand : calculate(how, operand, new Int32(0)))
      if (!isNumeric(current))
        fail(14, `Cannot apply ${name} to a value of non-numeric type at '${path.join('.')}'`)
      const result = calculate(how, current, operand)
      // An equal value stays as it is: -0, or the digits of a decimal.
      if (bsonType(result) !== bsonType(current) || !isEqual(result, current))
        writePath(document, path, result)
    }
  }

const extreme =
  (sign: number): Modifier =>
  (operand, _, collation) =>
  (document, path) => {
    const current = readPath(document, path)
    if (current === undefined || compare(operand, current, collation) * sign > 0)
      writePath(document, path, operand)
  }

const arrayChange =
  (compile: typeof push): Modifier =>
  (operand, _, collation) => {
    const change = compile(operand, collation)
    return (document, path) => {
      const result = change(readPath(document, path), path.join('.'))
      if (result !== undefined) writePath(document, path, result)
    }
  }

/** $pop changes nothing if there is no array, but refuses a path through another value. */
const popChange: Modifier = (operand, field, collation) => {
  const change = arrayChange(pop)(operand, field, collation)
  return (document, path) => {
    checkPathIsWritable(document, path)
    change(document, path)
  }
}

const currentDate: Modifier = (operand) => {
  const { $type, ...others } = isObject(operand) ? operand : { $type: typeof operand === 'boolean' && 'date' }
  if ($type !== 'date' && $type !== 'timestamp')
    fail(2, "$currentDate needs a boolean, { $type: 'date' } or { $type: 'timestamp' }")
  for (const name of Object.keys(others)) fail(2, `Unrecognized $currentDate option: ${name}`)
  return (document, path) =>
    writePath(
      document,
      path,
      $type === 'date' ? new Date() : new Timestamp({ t: Math.floor(Date.now() / 1000), i: 1 }),
    )
}

const rename: Modifier = (operand, field) => {
  checkRename(field, operand)
  const to = String(operand).split('.')
  return (document, path) => {
    for (const parts of [path, to])
      for (let length = 1; length < parts.length; length++)
        if (Array.isArray(readPath(document, parts.slice(0, length))))
          fail(2, '$rename cannot have an array in its path')
    checkPathIsWritable(document, path)
    const value = readPath(document, path)
    if (value === undefined) return
    if (to[0] === '_id')
      fail(66, "Performing an update on the path '_id' would modify the immutable field '_id'")
    erasePath(document, path)
    writePath(document, to, value)
  }
}

const isWhole = (value: unknown): boolean => bsonType(value) === 'Int32' || bsonType(value) === 'Long'

const bit: Modifier = (operand, field) => {
  const masks = isObject(operand) ? Object.entries(operand) : []
  if (masks.length === 0) fail(2, `$bit needs a document such as { and: 5 } at '${field}'`)
  for (const [name, mask] of masks) {
    if (!['and', 'or', 'xor'].includes(name))
      fail(2, `The $bit modifier only supports 'and', 'or', and 'xor', not '${name}'`)
    if (!isWhole(mask)) fail(2, 'The $bit modifier field must be an Integer(32/64 bit)')
  }
  return (document, path) => {
    const storedValue = readPath(document, path)
    const current = storedValue === undefined ? new Int32(0) : storedValue
    if (!isWhole(current)) fail(2, `Cannot apply $bit to a value of non-integral type at '${path.join('.')}'`)
    let result = toWhole(current)
    for (const [name, value] of masks) {
      const mask = toWhole(value)
      if (name === 'and') result &= mask
      else if (name === 'or') result |= mask
      else result ^= mask
    }
    const long = [current, ...masks.map(([, mask]) => mask)].some((value) => bsonType(value) === 'Long')
    writePath(document, path, long ? Long.fromBigInt(result) : new Int32(Number(result)))
  }
}

export const modifiers: Readonly<Record<string, Modifier>> = {
  $set: set,
  $setOnInsert: set,
  $unset: () => erasePath,
  $inc: arithmetic('$inc', 'add'),
  $mul: arithmetic('$mul', 'multiply'),
  $min: extreme(-1),
  $max: extreme(1),
  $rename: rename,
  $currentDate: currentDate,
  $push: arrayChange(push),
  $addToSet: arrayChange(addToSet),
  $pop: popChange,
  $pull: arrayChange(pull),
  $pullAll: arrayChange(pullAll),
  $bit: bit,
}

const modifierChanges = (name: string, body: unknown, collation?: Collation): Change[] => {
  const modifier = Object.hasOwn(modifiers, name) ? modifiers[name] : undefined
  if (!modifier) return fail(9, `Unknown modifier: ${name}`)
  if (!isObject(body)) return fail(9, `${name} needs a document of fields, not a ${typeof body}`)
  return Object.entries(body).map(([path, operand]) => {
    checkPath(path)
    return { name, path, operand, apply: modifier(operand, path, collation) }
  })
}

const checkPath = (path: string): void => {
  const parts = path.split('.')
  if (parts.includes('')) fail(56, `The update path '${path}' contains an empty field name`)
  if (isPositional(parts[0] as string))
    fail(2, `Cannot have positional (i.e. '$') element in the first position in path '${path}'`)
  if (parts.filter((part) => part === '$').length > 1)
    fail(2, `Too many positional (i.e. '$') elements found in path '${path}'`)
}

const checkRename = (path: string, operand: unknown): void => {
  const to = typeof operand === 'string' ? operand : fail(2, `$rename needs a new path for '${path}'`)
  checkPath(to)
  if (to.includes('\0')) fail(9867600, 'a path may not contain a null byte')
  if (path === to) fail(2, `The source and target field for $rename must differ: ${path}`)
  if ([path, to].some((name) => name.split('.').some(isPositional)))
    fail(2, '$rename paths may not be dynamic')
}

/** @throws 40 */
const checkConflicts = (changes: Change[]): void => {
  const paths = changes
    .flatMap(({ name, path, operand }) => (name === '$rename' ? [path, String(operand)] : [path]))
    .sort()
  const changedPaths = new Set<string>()
  for (const path of paths) {
    for (let end = path.indexOf('.'); ; end = path.indexOf('.', end + 1)) {
      const start = end < 0 ? path : path.slice(0, end)
      if (changedPaths.has(start))
        fail(40, `Updating the path '${path}' would create a conflict at '${start}'`)
      if (end < 0) break
    }
    changedPaths.add(path)
  }
}
