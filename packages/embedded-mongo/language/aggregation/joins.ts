/** $lookup and $unionWith: documents of other collections. */
import type { Document } from 'bson'
import { identity } from '../../values/compare.ts'
import { fail } from '../../values/errors.ts'
import { lookup as valuesAt } from '../../values/paths.ts'
import { PAUSE, type Step } from '../../values/steps.ts'
import { isNullish, isObject } from '../../values/values.ts'
import { compilerFor } from '../expressions/compile.ts'
import { checkPath, checkVariable } from '../expressions/expression.ts'
import { isRegex } from '../expressions/regex.ts'
import { type Documents, type Environment, type Foreign, gather, type Stage } from './stage.ts'
import { withValue } from './stages.ts'

type RunPipeline = (pipeline: unknown, environment: Environment, nested: string) => Stage

const none: Foreign = { find: () => [], indexed: () => false }

const foreignOf = (name: unknown, { foreign }: Environment, stage: string): Foreign => {
  if (typeof name !== 'string') return fail(9, `${stage} needs the name of a collection of the same database`)
  return foreign?.(name) ?? none
}

const options = ['from', 'localField', 'foreignField', 'as', 'let', 'pipeline']

export const lookup = (body: unknown, environment: Environment, run: RunPipeline): Stage => {
  if (!isObject(body))
    return fail(9, `the $lookup stage specification must be an object, but found ${typeof body}`)
  for (const key of Object.keys(body))
    if (!options.includes(key)) fail(9, `unknown argument to $lookup: ${key}`)
  for (const key of ['as', 'localField', 'foreignField'])
    if (key in body && typeof body[key] !== 'string') fail(9, `$lookup argument '${key}' must be a string`)
  if (typeof body.as !== 'string') return fail(9, "must specify 'as' field for a $lookup")
  if ('localField' in body !== 'foreignField' in body)
    fail(9, '$lookup requires both or neither of localField and foreignField')
  if (!('localField' in body) && !('pipeline' in body))
    fail(9, '$lookup requires either pipeline or both localField and foreignField')
  const as = checkPath(body.as)
  const others = foreignOf(body.from, environment, '$lookup')
  const partners =
    'localField' in body
      ? byField(checkPath(body.localField), checkPath(body.foreignField), others, environment)
      : () => others.find({})
  const refine = 'pipeline' in body ? byPipeline(body, environment, run) : undefined
  return function* (input) {
    for (const document of input) {
      if (document === PAUSE) {
        yield PAUSE
        continue
      }
      const found = partners(document)
      yield withValue(document, as, yield* gather(refine ? refine(document, found) : found))
    }
  }
}

const byPipeline = (body: Document, environment: Environment, run: RunPipeline) => {
  if ('let' in body && !isObject(body.let)) fail(9, "$lookup argument 'let' must be an object")
  const compile = compilerFor(environment)
  const variables = Object.entries((body.let ?? {}) as Document).map(
    ([name, value]): [string, ReturnType<typeof compile>] => [checkVariable(name), compile(value)],
  )
  const inside = (values: Document): Environment => ({
    ...environment,
    variables: { ...environment.variables, ...values },
  })
  // Faults of the pipeline show even if there is no document.
  run(body.pipeline, inside(Object.fromEntries(variables.map(([name]) => [name, null]))), '$lookup')
  return (document: Document, found: Documents): Documents => {
    const values = Object.fromEntries(variables.map(([name, value]) => [name, value(document)]))
    return run(body.pipeline, inside(values), '$lookup')(found)
  }
}

/** Equal values, arrays by their elements, nothing as null: by an index, or by a table made once. */
const byField = (local: string[], foreign: string[], others: Foreign, { collation, pace }: Environment) => {
  const field = foreign.join('.')
  const values = (document: Document, path: string[]) =>
    valuesAt(document, path).flatMap((value) => (Array.isArray(value) ? [value, ...value] : [value]))
  let table: Map<string, Document[]> | undefined
  const add = (document: Document) => {
    for (const name of new Set(
      values(document, foreign).map((value) => identity(value ?? null, collation)),
    )) {
      const row = table?.get(name)
      if (row) row.push(document)
      else table?.set(name, [document])
    }
  }
  return function* (document: Document): Iterable<Step<Document>> {
    const wanted = values(document, local).filter((value) => !Array.isArray(value))
    if (others.indexed(field) && !wanted.some(isRegex)) {
      yield* others.find({ [field]: { $in: wanted.map((value) => (isNullish(value) ? null : value)) } })
      return
    }
    if (!table) {
      table = new Map()
      for (const other of others.find({})) {
        if (other === PAUSE || pace.due()) yield PAUSE
        if (other !== PAUSE) add(other)
      }
    }
    const names = new Set(wanted.map((value) => identity(value ?? null, collation)))
    yield* new Set([...names].flatMap((name) => table?.get(name) ?? []))
  }
}

export const unionWith = (body: unknown, environment: Environment, run: RunPipeline): Stage => {
  const given: Document =
    typeof body === 'string'
      ? { coll: body }
      : isObject(body)
        ? body
        : fail(9, 'the $unionWith stage specification must be an object or string')
  for (const key of Object.keys(given))
    if (key !== 'coll' && key !== 'pipeline')
      fail(40415, `BSON field '$unionWith.${key}' is an unknown field.`)
  if (given.coll === undefined) fail(115, '$unionWith without a collection is not supported by this engine')
  const others = foreignOf(given.coll, environment, '$unionWith')
  const stage = run(given.pipeline ?? [], environment, '$unionWith')
  return function* (input) {
    yield* input
    yield* stage(others.find({}))
  }
}
