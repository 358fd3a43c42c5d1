import type { TSchema } from '@sinclair/typebox'

const EXAMPLE_BY_FORMAT: Record<string, string> = {
  date: '2026-03-01',
  'date-time': '2026-03-01T08:30:00Z',
  email: 'anna@example.org',
  uri: 'https://example.org/',
  uuid: '123e4567-e89b-42d3-a456-426614174000',
}

/**
 * Returns a value that the schema accepts, for the documentation and the contract tests. Uses the example of
 * the schema, otherwise builds one from the examples of its members.
 */
export function exampleOf(schema: TSchema): unknown {
  if (Array.isArray(schema.examples)) return schema.examples[0]
  for (const keyword of ['const', 'default']) if (keyword in schema) return schema[keyword]
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const variants: unknown = schema.anyOf ?? schema.oneOf
  if (Array.isArray(variants)) return exampleOf(variants[0])
  return exampleByType(schema, [schema.type].flat()[0])
}

function exampleByType(schema: TSchema, type: string | undefined): unknown {
  switch (type) {
    case 'object':
      return Object.fromEntries(
        Object.entries<TSchema>(schema.properties ?? {}).map(([name, member]) => [name, exampleOf(member)]),
      )
    case 'array':
      return [exampleOf(schema.items)]
    case 'string':
      return EXAMPLE_BY_FORMAT[schema.format] ?? 'text'.padEnd(schema.minLength ?? 0, '.')
    case 'integer':
    case 'number':
      return schema.minimum ?? (schema.exclusiveMinimum ?? 0) + 1
    case 'boolean':
      return true
    default:
      return null
  }
}
