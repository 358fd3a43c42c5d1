import type { Violation } from '../../schemas/violation.ts'
import type { TypeFamily } from './known-types.ts'
import { isNumeric, schemaViolations } from './value-schema.ts'

/** A type as a modeller sends it. */
export interface TypeBody {
  type: string
  [field: string]: unknown
}

interface Range {
  min?: number
  max?: number
}

/** What of a type the fields cannot say. @param now the version that it replaces */
export function typeViolations(
  family: TypeFamily,
  { schema, unit, ranges }: TypeBody,
  now?: { unit?: unknown },
): Violation[] {
  const found =
    schema === undefined || schema === null ? [] : placed(schemaViolations(schema as Record<string, unknown>))
  if (found.length > 0 || family !== 'data')
    return family === 'event' ? [...found, ...objects(schema)] : found
  const numeric = isNumeric(schema as Record<string, unknown>)
  const { hard, warn } = (ranges ?? {}) as { hard?: Range | null; warn?: Range | null }
  if (!numeric)
    for (const [path, value] of Object.entries({ unit, ranges }))
      if (value !== undefined && value !== null)
        found.push({ path, code: 'numeric', message: 'is for a schema of type number or integer only' })
  for (const [path, range] of Object.entries({ 'ranges.hard': hard, 'ranges.warn': warn }))
    if (range && lowest(range) > highest(range))
      found.push({ path, code: 'order', message: 'must not end before it begins' })
  if (now?.unit !== undefined && now.unit !== unit)
    found.push({ path: 'unit', code: 'fixed', message: 'must not change: earlier values are in this unit' })
  return found
}

const lowest = ({ min }: Range): number => min ?? Number.NEGATIVE_INFINITY
const highest = ({ max }: Range): number => max ?? Number.POSITIVE_INFINITY

const placed = (violations: readonly Violation[]): Violation[] =>
  violations.map((one) => ({ ...one, path: one.path === '' ? 'schema' : `schema.${one.path}` }))

/** The data of an occurrence are an object. */
const objects = (schema: unknown): Violation[] =>
  schema === undefined || schema === null || (schema as { type?: unknown }).type === 'object'
    ? []
    : [
        {
          path: 'schema.type',
          code: 'const',
          message: 'must be `object`: the data of an occurrence are an object',
        },
      ]
