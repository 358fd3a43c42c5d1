import type { Static, TObject, TProperties } from '@sinclair/typebox'

/** Those fields of a record that clients see; what is not set is the schema's default, or null. */
export function fieldsOf<P extends TProperties>(properties: P, record: object): Static<TObject<P>> {
  const stored = record as Record<string, unknown>
  const fields: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(properties))
    fields[name] = stored[name] ?? schema.default ?? null
  return fields as Static<TObject<P>>
}
