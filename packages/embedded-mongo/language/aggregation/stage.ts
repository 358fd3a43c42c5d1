/** What a stage of a pipeline is, and what it may ask of its surroundings. */
import type { Document } from 'bson'
import { PAUSE, type Pace, type Step } from '../../values/steps.ts'
import type { ExpressionOptions } from '../expressions/compile.ts'

export type Documents = Iterable<Step<Document>>

export type Stage = (input: Documents) => Documents

/** Another collection, as $lookup and $unionWith read it. */
export interface Foreign {
  /** Those that pass a filter, by an index where there is one. */
  find(filter: Document): Documents
  /** What the first stages of a valid pipeline make of them, as a search does it, and the stages that are left. */
  begin(pipeline: Document[], variables: Document | undefined): { found: Documents; rest: Document[] }
  /** Whether a search for values of this field has an index. */
  indexed(field: string): boolean
}

export interface Environment extends ExpressionOptions {
  pace: Pace
  foreign?: (name: string) => Foreign
  /** How many pipelines it is inside of. */
  depth?: number
}

/** A stage that makes of each document one, or none. */
export const each = (change: (document: Document) => Document | undefined): Stage =>
  function* (input) {
    for (const document of input) {
      const result = document === PAUSE ? PAUSE : change(document)
      if (result !== undefined) yield result
    }
  }

/** All at once; pauses go on to whoever waits. */
export function* gather(input: Documents): Generator<typeof PAUSE, Document[]> {
  const all: Document[] = []
  for (const document of input) {
    if (document === PAUSE) yield PAUSE
    else all.push(document)
  }
  return all
}
