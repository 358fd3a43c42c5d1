/** Aggregation pipelines: what a find can do is split off, the rest runs in mingo. */
import type { Document } from 'bson'
import type { Collation } from '../../values/compare.ts'
import { fail } from '../../values/errors.ts'
import { isObject, promote, put } from '../../values/values.ts'
import { operators, settings } from '../expressions/expressions.ts'
import { mingo } from '../expressions/mingo.ts'
import { compileFilter } from '../filters/matcher.ts'
import { sorted } from '../results/sort.ts'

interface PipelineOptions {
  collation?: Collation | undefined
  variables?: Document | undefined
  /** The documents of another collection, for $lookup. */
  collection?: (name: string) => Document[]
}

interface Items {
  filter(test: (item: unknown) => boolean): Items
  transform(run: (all: Document[]) => Iterator<Document>): Items
  map(change: (item: Document) => Document): Items
}
type Stage = (items: Items, body: Document, settings: unknown) => Items

type Stages = Record<string, Stage> & Record<'$group' | '$lookup' | '$project', Stage>
const known = () => mingo().stages as unknown as Stages

/** Stages that mingo gets right as they are, and those it gets right with our help. */
const untouched =
  '$addFields $count $facet $limit $replaceRoot $replaceWith $sample $set $skip $unset $unwind'.split(' ')
const accepted = [...untouched, '$match', '$sort', '$lookup', '$group', '$project']

const stagesFor = (options: PipelineOptions): Record<string, Stage> => ({
  ...Object.fromEntries(untouched.map((name) => [name, known()[name] as Stage])),
  $match: (items, filter) => items.filter(compileFilter(filter, options)),
  $sort: (items, spec) => items.transform((all) => sorted(all, spec, options.collation)[Symbol.iterator]()),
  // An element without a partner would join as undefined.
  $lookup: (items, body, settings) =>
    known()
      .$lookup?.(items, body, settings)
      .map((item) => ({
        ...item,
        [body.as]: item[body.as].filter((found: unknown) => found !== undefined),
      })),
  // A group's missing id is null.
  $group: (items, body, settings) =>
    known().$group(items, { ...body, _id: { $ifNull: [body._id, null] } }, settings),
  $project: (items, body, settings) =>
    known()
      .$project?.(items, body, settings)
      .map((item) => ('_id' in item ? { _id: item._id, ...item } : item)),
})

/** Stages of a real server that are neither accepted here nor known to mingo. */
const others =
  /^\$(changeStream|geoNear|indexStats|collStats|currentOp|list\w*Sessions|planCacheStats|search\w*|vectorSearch)$/

/** @throws 40324 for a stage nobody knows, 115 for one this engine refuses */
export const checkPipeline = (pipeline: unknown): Document[] => {
  if (!Array.isArray(pipeline))
    return fail(14, "BSON field 'pipeline' is the wrong type, expected type 'array'")
  for (const stage of pipeline) {
    if (!isObject(stage)) fail(14, 'Each element of the pipeline must be an object')
    const names = Object.keys(stage)
    if (names.length !== 1)
      fail(40323, 'A pipeline stage specification object must contain exactly one field.')
    checkStage(names[0] as string, stage[names[0] as string])
  }
  return pipeline
}

const checkStage = (name: string, body: unknown): void => {
  if (!accepted.includes(name)) {
    if (Object.hasOwn(known(), name) || others.test(name))
      fail(115, `stage ${name} is not supported by this engine, only ${accepted.join(', ')}`)
    fail(40324, `Unrecognized pipeline stage name: '${name}'`)
  }
  if (name === '$facet' && isObject(body)) for (const inner of Object.values(body)) checkPipeline(inner)
  if (name === '$group' && !(isObject(body) && '_id' in body))
    fail(15955, 'a group specification must include an _id')
  if (name === '$lookup' && isObject(body) && ('pipeline' in body || 'let' in body))
    fail(
      115,
      "$lookup is supported with from, localField, foreignField and as, not with 'let' and 'pipeline'",
    )
}

/** Filters stay exact; everything else is computed with JavaScript numbers. */
const promoteStages = (pipeline: Document[]): Document[] =>
  pipeline.map((stage) => {
    const [name, body] = Object.entries(stage)[0] as [string, unknown]
    if (name === '$match') return stage
    const copy = promote(body)
    if (name === '$facet')
      for (const [key, inner] of Object.entries(body as Document))
        put(copy as Document, key, promoteStages(inner))
    return { [name]: copy }
  })

/** Runs a checked pipeline over documents. */
export const runPipeline = (
  pipeline: Document[],
  documents: Iterable<Document>,
  options: PipelineOptions,
): Document[] => {
  const context = mingo().Context.init({
    ...operators(),
    projection: mingo().projections,
    pipeline: stagesFor(options),
  } as never)
  const all = { ...settings(context, options.variables), collectionResolver: options.collection }
  const { Aggregator } = mingo()
  return new Aggregator(promoteStages(pipeline), all as never).run(promoted(documents) as never) as Document[]
}

function* promoted(documents: Iterable<Document>): Iterable<Document> {
  for (const document of documents) yield promote(document) as Document
}
