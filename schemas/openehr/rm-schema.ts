import type { TSchema } from '@sinclair/typebox'
import { findRmClass, isSubclassOf, type RmAttribute, rmClassNames } from './rm-classes.ts'

type JsonSchema = Record<string, unknown>

/** The depth to which mandatory attributes are described; optional ones are only those of the class itself. */
const DESCRIBED_DEPTH = 3

/**
 * Describes an object of the reference model in canonical JSON, for the documents. Requests are read by the
 * rules of the model itself, which also take numbers in texts and null for an absent attribute.
 */
export const documentRmClass = (name: string): TSchema =>
  describeClass(name, DESCRIBED_DEPTH) as unknown as TSchema

/** Types whose classes without `_type` follow from the attributes. */
const INFERRED_TYPES = new Set(['EVENT', 'UID_BASED_ID', 'OBJECT_ID', 'ITEM'])

function describeClass(className: string, depth: number): JsonSchema {
  const rm = findRmClass(className)
  const attributes = [...(rm?.attributes.values() ?? [])].filter(
    ({ mandatory }) => mandatory || depth === DESCRIBED_DEPTH,
  )
  const classes = rmClassNames.filter((name) => isSubclassOf(name, className) && !findRmClass(name)?.abstract)
  const isNamed = rm?.abstract === true && !INFERRED_TYPES.has(className)
  const isWhole = depth === DESCRIBED_DEPTH && classes.length === 1
  return {
    type: 'object',
    description: className,
    additionalProperties: !isWhole,
    properties: {
      // Generators cannot tell `_type` from an attribute `type`.
      ...(!attributes.some(({ name }) => name === 'type') && {
        _type: { type: 'string', enum: classes, description: 'Class of the reference model' },
      }),
      ...Object.fromEntries(attributes.map((one) => [one.name, describeAttribute(one, depth - 1)])),
    },
    required: [
      ...(isNamed ? ['_type'] : []),
      ...attributes.flatMap(({ name, mandatory }) => (mandatory ? [name] : [])),
    ],
  }
}

function describeAttribute({ type, multiple, mandatory }: RmAttribute, depth: number): JsonSchema {
  const one =
    PRIMITIVES[type] ?? (depth < 0 ? { type: 'object', description: type } : describeClass(type, depth))
  return multiple
    ? { type: 'array', items: one, ...(mandatory && { minItems: 1 }), description: `List of ${type}` }
    : one
}

const text = (description: string, rules: JsonSchema = {}): JsonSchema => ({
  type: 'string',
  ...rules,
  description,
})

/** The primitive types of attributes. */
const PRIMITIVES: Readonly<Record<string, JsonSchema>> = {
  String: text('Text'),
  NonEmptyString: text('Text that is not empty', { minLength: 1 }),
  Identifier: text('Identifier', { minLength: 1, pattern: '\\S' }),
  Boolean: { type: 'boolean', description: 'True or false' },
  Real: { type: 'number', description: 'Number' },
  Integer: { type: 'integer', description: 'Whole number' },
  ProportionKind: {
    type: 'integer',
    minimum: 0,
    maximum: 4,
    description: '0 ratio, 1 unitary, 2 percent, 3 fraction, 4 integer fraction',
  },
  MagnitudeStatus: text('Comparison', { enum: ['=', '<', '>', '<=', '>=', '~'] }),
  Match: text('Comparison', { enum: ['>', '=', '<', '?'] }),
  Date: text('Date (ISO 8601), such as 2026-03-01', { minLength: 4 }),
  Time: text('Time (ISO 8601), such as 08:30:00', { minLength: 2 }),
  DateTime: text('Date and time (ISO 8601), such as 2026-03-01T08:30:00Z', { minLength: 4 }),
  Duration: text('Duration (ISO 8601), such as P1DT2H', { minLength: 3 }),
  Base64: text('Bytes in Base64', { pattern: '^[A-Za-z0-9+/\\s]*(=\\s*){0,2}$' }),
  Uri: text('URI', { minLength: 1 }),
  EhrUri: text('URI of the scheme ehr', { pattern: '^ehr:\\S*$' }),
}
