import type { Violation } from '../../schemas/validation/violations.ts'
import type { TypeFamily } from './type-registry.ts'
import { isNumericSchema, valueSchemaViolations } from './value-schema/value-schema.ts'

/** A type as a modeller sends it. */
export interface TypeBody {
  type: string
  [field: string]: unknown
}

interface ValueRange {
  min?: number
  max?: number
}

/** The violations of a type that its fields cannot express. @param current the version to be replaced */
export function typeViolations(
  family: TypeFamily,
  { schema, unit, ranges }: TypeBody,
  current?: { unit?: unknown; schema?: string },
): Violation[] {
  const violations =
    schema === undefined || schema === null
      ? []
      : prefixSchemaPaths(valueSchemaViolations(schema as Record<string, unknown>))
  if (violations.length > 0 || family !== 'data')
    return family === 'event' ? [...violations, ...objectSchemaViolations(schema)] : violations
  const numeric = isNumericSchema(schema as Record<string, unknown>)
  const { hard, warn } = (ranges ?? {}) as { hard?: ValueRange | null; warn?: ValueRange | null }
  if (!numeric)
    for (const [path, value] of Object.entries({ unit, ranges }))
      if (value !== undefined && value !== null)
        violations.push({
          path,
          code: 'numeric',
          message: 'must be left out unless the schema has the type number or integer',
        })
  for (const [path, range] of Object.entries({ 'ranges.hard': hard, 'ranges.warn': warn }))
    if (range && lowerBound(range) > upperBound(range))
      violations.push({ path, code: 'order', message: 'must have a maximum that is not below its minimum' })
  return current ? [...violations, ...changeViolations(current, { numeric, unit })] : violations
}

/** Graphs and sums compare new values with those of earlier versions. */
function changeViolations(
  current: { unit?: unknown; schema?: string },
  next: { numeric: boolean; unit: unknown },
): Violation[] {
  const fixed = (path: string, message: string): Violation => ({ path, code: 'fixed', message })
  const wasNumeric = isNumericSchema(JSON.parse(current.schema ?? '{}'))
  const unitText = current.unit === undefined ? 'no unit' : 'this unit'
  return [
    ...(wasNumeric === next.numeric
      ? []
      : [
          fixed(
            'schema.type',
            `cannot be changed because stored values are ${wasNumeric ? '' : 'no '}numbers`,
          ),
        ]),
    ...((current.unit ?? null) === (next.unit ?? null)
      ? []
      : [fixed('unit', `cannot be changed because stored values have ${unitText}`)]),
  ]
}

const lowerBound = ({ min }: ValueRange): number => min ?? Number.NEGATIVE_INFINITY
const upperBound = ({ max }: ValueRange): number => max ?? Number.POSITIVE_INFINITY

const prefixSchemaPaths = (violations: readonly Violation[]): Violation[] =>
  violations.map((one) => ({ ...one, path: one.path === '' ? 'schema' : `schema.${one.path}` }))

/** The schema of an event type must describe an object. */
const objectSchemaViolations = (schema: unknown): Violation[] =>
  schema === undefined || schema === null || (schema as { type?: unknown }).type === 'object'
    ? []
    : [
        {
          path: 'schema.type',
          code: 'const',
          message: 'must be `object` because the data of an occurrence is an object',
        },
      ]
