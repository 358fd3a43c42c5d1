/** Aggregation expressions and stages from mingo, with what it lacks or does otherwise put right. */
import type { Document } from 'bson'
import { Aggregator } from 'mingo/aggregator'
import { Context, evalExpr } from 'mingo/core'
import * as accumulators from 'mingo/operators/accumulator'
import * as expressions from 'mingo/operators/expression'
import * as stages from 'mingo/operators/pipeline'
import * as projections from 'mingo/operators/projection'
import * as windows from 'mingo/operators/window'
import type { Collation } from './compare.ts'
import { fail } from './errors.ts'
import { compileFilter } from './matcher.ts'
import { sorter } from './sort.ts'
import { isNumeric, isObject, promote, toNumber } from './values.ts'

interface PipelineOptions {
  collation?: Collation | undefined
  variables?: Document | undefined
  /** The documents of another collection, for $lookup and $unionWith. */
  collection?: (name: string) => Document[]
}

const refusedStages = new Set([
  '$out',
  '$merge',
  '$changeStream',
  '$geoNear',
  '$indexStats',
  '$collStats',
  '$currentOp',
  '$listSessions',
  '$planCacheStats',
  '$search',
  '$vectorSearch',
])
const { $out: _out, $merge: _merge, ...allowedStages } = stages as unknown as Record<string, unknown>
const {
  $function: _function,
  $accumulator: _accumulator,
  ...safeExpressions
} = expressions as unknown as Record<string, unknown>

const numbers = (values: unknown[]): number[] => values.filter(isNumeric).map(toNumber)
const total = (values: unknown[]): number => numbers(values).reduce((sum, value) => sum + value, 0)

type Accumulate = (items: unknown[], expression: unknown, options: never) => unknown
/** The operand of an accumulator for every document of the group. */
const operands = accumulators.$push as unknown as (...args: Parameters<Accumulate>) => unknown[]

const $sum: Accumulate = (items, expression, options) =>
  typeof expression === 'number' ? items.length * expression : total(operands(items, expression, options))
const $avg: Accumulate = (items, expression, options) => {
  const found = numbers(operands(items, expression, options))
  return found.length === 0 ? null : total(found) / found.length
}

const contextFor = (options: PipelineOptions): Context =>
  Context.init({
    accumulator: { ...accumulators, $sum, $avg },
    expression: safeExpressions,
    projection: projections,
    window: windows,
    query: {},
    pipeline: {
      ...allowedStages,
      $match: (items: { filter(test: (item: unknown) => boolean): unknown }, filter: unknown) =>
        items.filter(compileFilter(filter, options)),
      $sort: (items: { transform(run: (all: Document[]) => unknown): unknown }, spec: Document) =>
        items.transform((all) => lazy([...all].sort(sorter(spec, options.collation)))),
    },
  } as unknown as Parameters<typeof Context.init>[0])

const lazy = (items: Document[]): Iterator<Document> => items[Symbol.iterator]()

const plain = contextFor({})

const settings = (options: PipelineOptions) => ({
  context: options === none ? plain : contextFor(options),
  idKey: '_id',
  scriptEnabled: false,
  useStrictMode: true,
  failOnError: true,
  processingMode: 0,
  ...(options.variables && { variables: promote(options.variables) as Document }),
  ...(options.collection && { collectionResolver: options.collection }),
})
const none: PipelineOptions = {}
const plainSettings = settings(none)

/** The value of an expression for one document. */
export const evaluate = (expression: unknown, document: Document, variables?: Document): unknown =>
  evalExpr(promote(document), promote(expression), variables ? settings({ variables }) : plainSettings)

/** @throws 40324 for a stage nobody knows, 115 for one this engine refuses */
export const checkPipeline = (pipeline: unknown): Document[] => {
  if (!Array.isArray(pipeline))
    return fail(14, "BSON field 'pipeline' is the wrong type, expected type 'array'")
  for (const stage of pipeline) {
    if (!isObject(stage)) fail(14, 'Each element of the pipeline must be an object')
    const names = Object.keys(stage)
    if (names.length !== 1)
      fail(40323, 'A pipeline stage specification object must contain exactly one field.')
    const name = names[0] as string
    if (refusedStages.has(name)) fail(115, `stage ${name} is not supported by this engine`)
    if (!Object.hasOwn(allowedStages, name)) fail(40324, `Unrecognized pipeline stage name: '${name}'`)
    for (const inner of innerPipelines(name, stage[name])) checkPipeline(inner)
  }
  return pipeline
}

const innerPipelines = (name: string, body: unknown): unknown[] => {
  if (!isObject(body)) return []
  if (name === '$facet') return Object.values(body)
  return body.pipeline === undefined ? [] : [body.pipeline]
}

/** Filters stay exact; everything else is computed with JavaScript numbers. */
const promoteStages = (pipeline: Document[]): Document[] =>
  pipeline.map((stage) => {
    const [name, body] = Object.entries(stage)[0] as [string, unknown]
    if (name === '$match') return stage
    if (name === '$facet')
      return {
        $facet: Object.fromEntries(
          Object.entries(body as Document).map(([key, inner]) => [key, promoteStages(inner)]),
        ),
      }
    const copy = promote(body)
    if (isObject(body) && Array.isArray(body.pipeline))
      (copy as Document).pipeline = promoteStages(body.pipeline)
    return { [name]: copy }
  })

/** Runs a checked pipeline over documents. */
export const runPipeline = (
  pipeline: Document[],
  documents: Iterable<Document>,
  options: PipelineOptions,
): Document[] => {
  const aggregator = new Aggregator(promoteStages(pipeline) as never, settings(options) as never)
  return aggregator.run(promoted(documents) as never) as Document[]
}

function* promoted(documents: Iterable<Document>): Iterable<Document> {
  for (const document of documents) yield promote(document) as Document
}
