import type { MeasurementKind } from '../../../../records/measurements/measurement.ts'
import type { ParseDocument } from '../../../../records/store/documents/parse-format.ts'

export const timestamp = '2026-03-01T08:30:00.000Z'

/** A record as stored in the database, with values in the middle of their ranges. */
export function createStoredMeasurement({ series }: MeasurementKind): ParseDocument {
  const values: Record<string, unknown> = {}
  for (const { field, range } of Object.values(series))
    putValue(values, field.split('.'), Math.round((range[0] + range[1]) / 2))
  const meta = { _id: 'm4RtYu78Io', version: 1, timestamp: new Date(timestamp) }
  return { ...meta, ...values } as unknown as ParseDocument
}

function putValue(object: Record<string, unknown>, [name = '', ...inner]: string[], value: number): void {
  if (inner.length === 0) object[name] = value
  else {
    object[name] ??= {}
    putValue(object[name] as Record<string, unknown>, inner, value)
  }
}
