/** Aggregation pipelines: each stage feeds the next one; they pause and respect the time limit. */
import type { Document } from 'bson'
import { isObject, setMember } from '../../values/bson-values.ts'
import { fail } from '../../values/errors.ts'
import { PAUSE } from '../../values/steps.ts'
import { lookupStage, unionWithStage } from './lookup-and-union.ts'
import {
  type CompiledPipeline,
  collectDocuments,
  type Documents,
  type Stage,
  type StageEnvironment,
} from './stage.ts'
import { stages } from './stages.ts'

export const stageNames: readonly string[] = [...Object.keys(stages), '$facet', '$lookup', '$unionWith']

/** MongoDB's stages that this engine does not have. */
const UNSUPPORTED_STAGES =
  /^\$(changeStream\w*|geoNear|indexStats|collStats|currentOp|list\w+|planCacheStats|search\w*|vectorSearch|out|merge|bucket|bucketAuto|redact|graphLookup|densify|fill|setWindowFields|queryStats|rankFusion|scoreFusion|score|shardedDataDistribution|queue|operationMetrics)$/

const MAX_STAGES = 1000

/** @throws 40324 for an unknown stage, 115 for one that this engine refuses */
export const checkPipeline = (pipeline: unknown): Document[] => {
  if (!Array.isArray(pipeline))
    return fail(14, "BSON field 'pipeline' is the wrong type, expected type 'array'")
  if (pipeline.length > MAX_STAGES)
    fail(7749501, `Pipeline length must be no longer than ${MAX_STAGES} stages`)
  for (const [at, stage] of pipeline.entries()) {
    if (!isObject(stage)) fail(14, 'Each element of the pipeline must be an object')
    const names = Object.keys(stage)
    if (names.length !== 1)
      fail(40323, 'A pipeline stage specification object must contain exactly one field.')
    checkName(names[0] as string)
    if (names[0] === '$documents' && at > 0)
      fail(40602, '$documents is only valid as the first stage in a pipeline')
  }
  return pipeline
}

const checkName = (name: string): void => {
  if (stageNames.includes(name)) return
  if (UNSUPPORTED_STAGES.test(name))
    fail(115, `stage ${name} is not supported by this engine, only ${stageNames.join(', ')}`)
  fail(40324, `Unrecognized pipeline stage name: '${name}'`)
}

const MAX_NESTING = 20

/** Reports all errors of the pipeline before the first document arrives. */
export const compilePipeline = (pipeline: unknown, environment: StageEnvironment): CompiledPipeline => {
  const compiledStages = checkPipeline(pipeline).map((stage) => {
    const [name, body] = Object.entries(stage)[0] as [string, unknown]
    return compileStage(name, body, environment)
  })
  return (input, first = 0) =>
    compiledStages.slice(first).reduce((documents, stage) => stage(documents), input)
}

const compileStage = (name: string, body: unknown, environment: StageEnvironment): Stage => {
  if (name === '$facet') return facet(body, environment)
  if (name === '$lookup') return lookupStage(body, environment, compileNested)
  if (name === '$unionWith') return unionWithStage(body, environment, compileNested)
  return stages[name]?.(body, environment) as Stage
}

const compileNested = (pipeline: unknown, environment: StageEnvironment): CompiledPipeline => {
  const depth = (environment.depth ?? 0) + 1
  if (depth > MAX_NESTING)
    fail(232, `Maximum number of nested sub-pipelines exceeded. Limit is ${MAX_NESTING}`)
  return compilePipeline(pipeline, { ...environment, depth })
}

const facet = (body: unknown, environment: StageEnvironment): Stage => {
  if (!isObject(body) || Object.keys(body).length === 0)
    return fail(40169, 'the $facet specification must be a non-empty object')
  const facets = Object.entries(body).map(([name, pipeline]): [string, Stage] => {
    if (name === '') fail(15998, 'FieldPath field names may not be empty strings.')
    if (name.startsWith('$')) fail(16410, `FieldPath field names may not start with '$': ${name}`)
    if (name.includes('.')) fail(16412, `FieldPath field names may not contain '.': ${name}`)
    if (!Array.isArray(pipeline)) fail(40170, `arguments to $facet must be arrays, ${name} is not`)
    for (const stage of pipeline) {
      if (!isObject(stage)) fail(40171, `elements of arrays in $facet spec must be non-empty objects`)
      checkInFacet(stage)
    }
    return [name, compilePipeline(pipeline, environment)]
  })
  return function* (input: Documents) {
    const documents = yield* collectDocuments(input)
    const result: Document = {}
    for (const [name, stage] of facets) setMember(result, name, yield* collectDocuments(stage(documents)))
    yield result
  }
}

/** Not allowed in a $facet: stages that use other sources than its input, and another $facet. */
const outside =
  /^\$(facet|documents|changeStream|geoNear|indexStats|collStats|currentOp|list\w+|planCacheStats|search\w*|vectorSearch|out|merge|queryS\w+)$/

const checkInFacet = (stage: Document): void => {
  for (const [name, body] of Object.entries(stage)) {
    if (outside.test(name)) fail(40600, `${name} is not allowed to be used within a $facet stage`)
    const inner: unknown = /^\$(lookup|unionWith)$/.test(name) && isObject(body) ? body.pipeline : undefined
    for (const one of Array.isArray(inner) ? inner : [])
      if (isObject(one) && '$facet' in one)
        fail(40600, '$facet is not allowed to be used within a $facet stage')
  }
}

/** Runs a pipeline without pauses, such as an update's. */
export const runPipeline = (stage: Stage, documents: Documents): Document[] =>
  [...stage(documents)].filter((document) => document !== PAUSE)
