import type { CompositionView } from '../../composition-views/composition-view.ts'
import { type QueryPlace, START_PLACE } from '../plan/query-places.ts'
import { fieldsByPlace } from '../scan/view-scan.ts'
import type { ExampleEvaluation } from './examples.ts'

const EXAMPLE_NUMBER = 1
const EXAMPLE_TIME_MS = 0

/** The value that a view's compositions have at a place. */
export interface ViewPlace {
  /** The field whose value the only row shows; undefined: it shows none. */
  field: string | undefined
  /** The row follows from the field. */
  isDecided: boolean
}

export function placeInView(
  view: CompositionView,
  { place, type }: QueryPlace,
  examples: ExampleEvaluation,
): ViewPlace {
  const field = fieldsByPlace(view)[place]
  if (place === START_PLACE) return { field, isDecided: true }
  const [key, ...others] = examples.keysOf(view.toComposition(view.example))
  const expected = type === 'time' ? EXAMPLE_TIME_MS : EXAMPLE_NUMBER
  const isDecided = examples.isDecided && others.length === 0 && (key === undefined || key === expected)
  return {
    field: key === undefined ? undefined : field,
    isDecided: isDecided && (key === undefined || field !== undefined),
  }
}
