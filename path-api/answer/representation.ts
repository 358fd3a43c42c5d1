import type { Static, TObject, TProperties } from '@sinclair/typebox'

/**
 * Those fields of a record that clients see; what is not set is the schema's default, or null.
 * @param names what the record calls them, by what clients do: of several at most one is set
 */
export function fieldsOf<P extends TProperties>(
  properties: P,
  record: object,
  names?: ReadonlyMap<string, readonly string[]>,
): Static<TObject<P>> {
  const stored = record as Record<string, unknown>
  const fields: Record<string, unknown> = {}
  for (const [name, unset] of shapeOf(properties)) {
    const own = names?.get(name)
    const value = own ? stored[own.find((one) => stored[one] !== undefined) ?? name] : stored[name]
    fields[name] = value ?? unset
  }
  return fields as Static<TObject<P>>
}

type Shape = readonly (readonly [name: string, unset: unknown])[]

/** By the schema's properties: a list asks for each of its rows. */
const shapes = new WeakMap<TProperties, Shape>()

function shapeOf(properties: TProperties): Shape {
  const known = shapes.get(properties)
  if (known) return known
  const shape = Object.entries(properties).map(([name, schema]) => [name, schema.default ?? null] as const)
  shapes.set(properties, shape)
  return shape
}
