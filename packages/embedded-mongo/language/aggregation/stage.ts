/** Stages of a pipeline, and the environment that they may use. */
import type { Document } from 'bson'
import { type CommandTimer, PAUSE, type Step } from '../../values/steps.ts'
import type { ExpressionOptions } from '../expressions/compile.ts'

export type Documents = Iterable<Step<Document>>

export type Stage = (input: Documents) => Documents

/** @param first the first stage to run: a query ran those before it */
export type CompiledPipeline = (input: Documents, first?: number) => Documents

/** Another collection, as $lookup and $unionWith read it. */
export interface ForeignCollection {
  /** The documents that match a filter, by an index if there is one. */
  find(filter: Document): Documents
  /** Runs the first stages of a valid pipeline as a query; returns its results and the number of these stages. */
  begin(pipeline: Document[], variables: Document | undefined): { found: Documents; stages: number }
  /** Whether a query for values of this field has an index. */
  hasIndex(field: string): boolean
}

export interface StageEnvironment extends ExpressionOptions {
  timer: CommandTimer
  foreign?: (name: string) => ForeignCollection
  /** The number of enclosing pipelines. */
  depth?: number
}

/** A stage that maps each document to one document or none. */
export const mapDocuments = (change: (document: Document) => Document | undefined): Stage =>
  function* (input) {
    for (const document of input) {
      const result = document === PAUSE ? PAUSE : change(document)
      if (result !== undefined) yield result
    }
  }

/** Collects all documents; passes pauses on to the consumer. */
export function* collectDocuments(input: Documents): Generator<typeof PAUSE, Document[]> {
  const documents: Document[] = []
  for (const document of input) {
    if (document === PAUSE) yield PAUSE
    else documents.push(document)
  }
  return documents
}
