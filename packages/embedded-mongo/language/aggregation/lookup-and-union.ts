/** $lookup and $unionWith: join documents of other collections. */
import type { Document } from 'bson'
import { isNullish, isObject, valuesAtPath as valuesAt } from '../../values/bson-values.ts'
import { identityOf } from '../../values/compare.ts'
import { fail } from '../../values/errors.ts'
import { checkKnown } from '../../values/options/option-types.ts'
import { PAUSE, type Step } from '../../values/steps.ts'
import { createCompiler } from '../expressions/compile.ts'
import { checkVariable, splitFieldPath } from '../expressions/expression.ts'
import { isRegex } from '../expressions/regex.ts'
import {
  type CompiledPipeline,
  collectDocuments,
  type Documents,
  type ForeignCollection,
  type Stage,
  type StageEnvironment,
} from './stage.ts'
import { setComputedField } from './stages.ts'

type CompileNested = (pipeline: unknown, environment: StageEnvironment) => CompiledPipeline

const none: ForeignCollection = {
  find: () => [],
  begin: () => ({ found: [], stages: 0 }),
  hasIndex: () => false,
}

const foreignOf = (name: unknown, { foreign }: StageEnvironment, stage: string): ForeignCollection => {
  if (typeof name !== 'string') return fail(9, `${stage} needs the name of a collection of the same database`)
  return foreign?.(name) ?? none
}

const options = ['from', 'localField', 'foreignField', 'as', 'let', 'pipeline']

/** Null counts as absent, and so does an empty field name. */
const lookupOptions = (body: unknown): Document => {
  if (!isObject(body))
    return fail(9, `the $lookup stage specification must be an object, but found ${typeof body}`)
  checkKnown(body, '$lookup', options)
  const present = Object.fromEntries(Object.entries(body).filter(([, value]) => !isNullish(value)))
  for (const key of ['as', 'localField', 'foreignField'])
    if (key in present && typeof present[key] !== 'string')
      fail(14, `$lookup argument '${key}' must be a string`)
  if ('let' in present && !isObject(present.let)) fail(14, "$lookup argument 'let' must be an object")
  if (!('as' in present)) fail(40414, "BSON field '$lookup.as' is missing but a required field")
  for (const key of ['localField', 'foreignField']) if (present[key] === '') delete present[key]
  if ('localField' in present !== 'foreignField' in present)
    fail(9, '$lookup requires both or neither of localField and foreignField')
  if (!('pipeline' in present) && (!('localField' in present) || 'let' in present))
    fail(9, '$lookup requires either pipeline or both localField and foreignField, and let a pipeline')
  return present
}

/** The source of the foreign documents: a collection, or the first stage of the pipeline. */
const othersOf = (
  spec: Document,
  environment: StageEnvironment,
  compileNested: CompileNested,
): [ForeignCollection, Document] => {
  const [first, ...rest] = Array.isArray(spec.pipeline) ? spec.pipeline : []
  if (!isObject(first) || !('$documents' in first)) {
    if (spec.from !== undefined) checkFrom(spec.from)
    return [foreignOf(spec.from, environment, '$lookup'), spec]
  }
  if (spec.from !== undefined) fail(9, '$lookup with $documents in its pipeline has no from')
  if (!('localField' in spec)) return [none, spec]
  const source = compileNested([first], environment)
  return [
    { ...none, find: () => source([]) },
    { ...spec, pipeline: rest },
  ]
}

const checkFrom = (from: unknown): void => {
  if (isObject(from) && Object.keys(from).some((key) => key !== 'db' && key !== 'coll'))
    fail(40415, 'from of $lookup has an unknown field')
  if (isObject(from) && Object.values(from).some((name) => typeof name !== 'string'))
    fail(14, 'from of $lookup is of the wrong type')
  if (typeof from === 'string' && (from === '' || from.startsWith('.') || from.includes('\0')))
    fail(73, `Invalid namespace specified '${from}'`)
}

export const lookupStage = (
  body: unknown,
  environment: StageEnvironment,
  compileNested: CompileNested,
): Stage => {
  const [foreignCollection, spec] = othersOf(lookupOptions(body), environment, compileNested)
  const targetField = splitFieldPath(spec.as)
  const partners =
    'localField' in spec
      ? byField(
          splitFieldPath(spec.localField),
          splitFieldPath(spec.foreignField),
          foreignCollection,
          environment,
        )
      : () => foreignCollection.find({})
  const refine = 'pipeline' in spec ? byPipeline(spec, environment, compileNested) : undefined
  return function* (input) {
    for (const document of input) {
      if (document === PAUSE) {
        yield PAUSE
        continue
      }
      const foreignDocuments = partners(document)
      yield setComputedField(
        document,
        targetField,
        yield* collectDocuments(refine ? refine(document, foreignDocuments) : foreignDocuments),
      )
    }
  }
}

const byPipeline = (body: Document, environment: StageEnvironment, compileNested: CompileNested) => {
  const compile = createCompiler(environment)
  const variables = Object.entries((body.let ?? {}) as Document).map(
    ([name, value]): [string, ReturnType<typeof compile>] => [checkVariable(name), compile(value)],
  )
  const inside = (values: Document): StageEnvironment => ({
    ...environment,
    variables: { ...environment.variables, ...values },
  })
  // Reports errors of the pipeline even if no document arrives.
  compileNested(body.pipeline, inside(Object.fromEntries(variables.map(([name]) => [name, null]))))
  return (document: Document, foreignDocuments: Documents): Documents => {
    const values = Object.fromEntries(variables.map(([name, value]) => [name, value(document)]))
    return compileNested(body.pipeline, inside(values))(foreignDocuments)
  }
}

/** The join values of a document: the elements of an array; null for a missing field. */
const localValues = (document: Document, path: string[]): unknown[] => {
  const pathValues = valuesAt(document, path)
  const values = pathValues.flatMap((value) => (Array.isArray(value) && value.length > 0 ? value : [value]))
  if (values.length === 0) return [null]
  return values.map((value) =>
    isNullish(value) || (Array.isArray(value) && value.length === 0) ? null : value,
  )
}

/**
 * Joins by equality: arrays by their elements, a missing value as null. Uses an index, or a hash table built
 * once.
 */
const byField = (
  local: string[],
  foreign: string[],
  foreignCollection: ForeignCollection,
  { collation, timer }: StageEnvironment,
) => {
  const field = foreign.join('.')
  const tableDocuments: Document[] = []
  let table: Map<string, number[]> | undefined
  const add = (document: Document) => {
    const values = valuesAt(document, foreign).flatMap((value) =>
      Array.isArray(value) ? [value, ...value] : [value],
    )
    for (const name of new Set(values.map((value) => identityOf(value ?? null, collation)))) {
      const row = table?.get(name)
      if (row) row.push(tableDocuments.length)
      else table?.set(name, [tableDocuments.length])
    }
    tableDocuments.push(document)
  }
  return function* (document: Document): Iterable<Step<Document>> {
    const values = localValues(document, local)
    if (foreignCollection.hasIndex(field) && !values.some(isRegex)) {
      yield* foreignCollection.find({ [field]: { $in: values } })
      return
    }
    if (!table) {
      table = new Map()
      for (const other of foreignCollection.find({})) {
        if (other === PAUSE || timer.isSliceOver()) yield PAUSE
        if (other !== PAUSE) add(other)
      }
    }
    const names = new Set(values.map((value) => identityOf(value, collation)))
    const positions = new Set([...names].flatMap((name) => table?.get(name) ?? []))
    // In the order of the foreign documents, not of the values.
    for (const position of [...positions].sort((a, b) => a - b)) yield tableDocuments[position] as Document
  }
}

export const unionWithStage = (
  body: unknown,
  environment: StageEnvironment,
  compileNested: CompileNested,
): Stage => {
  const spec: Document =
    typeof body === 'string'
      ? { coll: body }
      : isObject(body)
        ? body
        : fail(9, 'the $unionWith stage specification must be an object or string')
  checkKnown(spec, '$unionWith', ['coll', 'pipeline'])
  if (spec.coll === undefined) fail(115, '$unionWith without a collection is not supported by this engine')
  const foreignCollection = foreignOf(spec.coll, environment, '$unionWith')
  const pipeline: Document[] = spec.pipeline ?? []
  // Reports errors of the pipeline, also those in stages that the query runs.
  const compiledPipeline = compileNested(pipeline, environment)
  return function* (input) {
    yield* input
    const { found, stages } = foreignCollection.begin(pipeline, environment.variables)
    yield* compiledPipeline(found, stages)
  }
}
