import type { Static, TObject, TProperties } from '@sinclair/typebox'

/**
 * Returns the fields of a record that clients see; an unset field gets the default of the schema, or null.
 * @param names stored names by path name; at most one of several stored names is set
 */
export function pickClientFields<P extends TProperties>(
  properties: P,
  record: object,
  names?: ReadonlyMap<string, readonly string[]>,
): Static<TObject<P>> {
  const stored = record as Record<string, unknown>
  const fields: Record<string, unknown> = {}
  for (const [name, unset] of representationShapeOf(properties)) {
    const own = names?.get(name)
    const value = own ? stored[own.find((one) => stored[one] !== undefined) ?? name] : stored[name]
    fields[name] = value ?? unset
  }
  return fields as Static<TObject<P>>
}

type RepresentationShape = readonly (readonly [name: string, unset: unknown])[]

/** Cached by schema, because a list uses it for each row. */
const SHAPES_BY_SCHEMA = new WeakMap<TProperties, RepresentationShape>()

function representationShapeOf(properties: TProperties): RepresentationShape {
  const known = SHAPES_BY_SCHEMA.get(properties)
  if (known) return known
  const shape = Object.entries(properties).map(([name, schema]) => [name, schema.default ?? null] as const)
  SHAPES_BY_SCHEMA.set(properties, shape)
  return shape
}
