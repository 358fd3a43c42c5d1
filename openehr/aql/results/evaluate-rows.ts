import type { EhrTree } from '../evaluation/ehr-tree.ts'
import type { Evaluation } from '../evaluation/evaluation.ts'
import type { TimeSlice } from '../time-slice.ts'
import type { ResultRow, RowCollector } from './row.ts'

/** Number of rows in one batch. */
const ROWS_PER_BATCH = 1000

interface EvaluationRun {
  found: AsyncGenerator<EhrTree>
  evaluated: Evaluation
  collected: RowCollector
  pace: TimeSlice
}

/** The rows of an EHR tree, collected. @yields undefined where the query may yield */
export function* collectRows({
  forest,
  evaluated,
  collected,
}: Pick<EvaluationRun, 'evaluated' | 'collected'> & { forest: EhrTree }): Generator<ResultRow[] | undefined> {
  for (const row of evaluated.rows(forest)) yield row ? yield* collected.add(row, forest.ehrId) : undefined
}

/** Evaluates one EHR tree after the other, and yields to other requests in between. */
export async function* evaluateRows({
  found,
  evaluated,
  collected,
  pace,
}: EvaluationRun): AsyncGenerator<ResultRow[]> {
  let made: ResultRow[] = []
  for await (const forest of found) {
    if (pace.isOver()) await pace.yieldToOthers()
    for (const rows of collectRows({ forest, evaluated, collected })) {
      if (rows) made.push(...rows)
      else if (pace.isOver()) await pace.yieldToOthers()
      if (collected.isFull()) break
    }
    if (collected.isFull()) break
    if (made.length >= ROWS_PER_BATCH) {
      yield made
      made = []
    }
  }
  yield [...made, ...collected.end()]
}
