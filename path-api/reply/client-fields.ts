import type { Static, TObject, TProperties } from '@sinclair/typebox'
import { memoizeByObject } from '../../schemas/forms/memoize.ts'

/**
 * Returns the fields of a record that clients see; an unset field gets the default of the schema, or null.
 * @param names stored names by path name; at most one of several stored names is set
 */
export function pickClientFields<P extends TProperties>(
  properties: P,
  record: object,
  names?: ReadonlyMap<string, readonly string[]>,
): Static<TObject<P>> {
  const values = record as Record<string, unknown>
  const fields: Record<string, unknown> = {}
  for (const [name, unset] of representationShapeOf(properties)) {
    const sourceNames = names?.get(name)
    const value = sourceNames
      ? values[sourceNames.find((one) => values[one] !== undefined) ?? name]
      : values[name]
    fields[name] = value ?? unset
  }
  return fields as Static<TObject<P>>
}

type RepresentationShape = readonly (readonly [name: string, unset: unknown])[]

/** Kept by schema, because a list uses it for each row. */
const representationShapeOf = memoizeByObject(
  (properties: TProperties): RepresentationShape =>
    Object.entries(properties).map(([name, schema]) => [name, schema.default ?? null]),
)
