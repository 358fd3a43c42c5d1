import type { MeasurementKind } from '../../../records/measurements/measurement.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { toComposition } from '../../measurement-mapping/to-composition.ts'
import type { QueryPlace } from '../plan/query-places.ts'
import { fieldsByPlace, TIME_FIELD } from '../scan/measurement-scan.ts'
import type { ExampleEvaluation } from './examples.ts'

const EXAMPLE_NUMBER = 1
const EXAMPLE_TIME_MS = 0

/** What a place of a measurement's composition shows. */
export interface MeasurementPlace {
  /** The field whose value the only row shows; undefined: it shows none. */
  field: string | undefined
  /** The row follows from the field. */
  isDecided: boolean
}

export function placeInMeasurement(
  kind: MeasurementKind,
  { place }: QueryPlace,
  examples: ExampleEvaluation,
): MeasurementPlace {
  const field = fieldsByPlace(kind)[place]
  const [key, ...others] = examples.keysOf(toComposition(kind, exampleOf(kind)))
  const expected = field === TIME_FIELD ? EXAMPLE_TIME_MS : EXAMPLE_NUMBER
  const isDecided = examples.isDecided && others.length === 0 && (key === undefined || key === expected)
  return {
    field: key === undefined ? undefined : field,
    isDecided: isDecided && (key === undefined || field !== undefined),
  }
}

/** A record with a value in every series. */
function exampleOf(kind: MeasurementKind): ParseDocument {
  const record: Record<string, unknown> = {
    ...{ _id: 'example', version: 1, [TIME_FIELD]: new Date(EXAMPLE_TIME_MS) },
  }
  for (const { field } of Object.values(kind.series)) putNested(record, field.split('.'), EXAMPLE_NUMBER)
  return record as unknown as ParseDocument
}

function putNested(record: Record<string, unknown>, [name = '', ...rest]: string[], value: number): void {
  if (rest.length === 0) record[name] = value
  else {
    const inner = (record[name] ?? {}) as Record<string, unknown>
    record[name] = inner
    putNested(inner, rest, value)
  }
}
