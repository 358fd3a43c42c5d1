import type { TimeSlice } from '../../../records/limits/time-slice.ts'
import type { EhrTree } from '../evaluation/ehr-tree.ts'
import type { Evaluation } from '../evaluation/evaluation.ts'
import type { ResultRow, RowCollector } from './row.ts'

/** Number of rows in one batch. */
const ROWS_PER_BATCH = 1000

interface EvaluationRun {
  trees: AsyncGenerator<EhrTree>
  evaluation: Evaluation
  collector: RowCollector
  timeSlice: TimeSlice
}

/** The rows of an EHR tree, collected. @yields undefined where the query may yield */
export function* collectRows({
  tree,
  evaluation,
  collector,
  rank,
}: Pick<EvaluationRun, 'evaluation' | 'collector'> & { tree: EhrTree; rank?: number }): Generator<
  ResultRow[] | undefined
> {
  for (const row of evaluation.rows(tree)) yield row ? yield* collector.add(row, tree.ehrId, rank) : undefined
}

/** Evaluates one EHR tree after the other, and yields to other requests in between. */
export async function* evaluateRows({
  trees,
  evaluation,
  collector,
  timeSlice,
}: EvaluationRun): AsyncGenerator<ResultRow[]> {
  let batch: ResultRow[] = []
  for await (const tree of trees) {
    if (timeSlice.isOver()) await timeSlice.yieldToOthers()
    for (const rows of collectRows({ tree, evaluation, collector })) {
      if (rows) batch.push(...rows)
      else if (timeSlice.isOver()) await timeSlice.yieldToOthers()
      if (collector.isFull()) break
    }
    if (collector.isFull()) break
    if (batch.length >= ROWS_PER_BATCH) {
      yield batch
      timeSlice.restart()
      batch = []
    }
  }
  yield [...batch, ...collector.end()]
}
