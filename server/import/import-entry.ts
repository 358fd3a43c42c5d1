/** Resources whose records the service gives an id. */
export type NumberedResource = 'diagnosis' | 'medication' | 'immunisation'
/** Resources whose records have a natural key, such as the substance of a reaction. */
export type NaturallyKeyedResource = 'adversereaction' | 'device'
export type ImportedResource = NumberedResource | NaturallyKeyedResource

/** Request that an entry leads to. */
export type ImportRequest =
  | { measurement: Record<string, unknown> }
  | { resource: ImportedResource; body: Record<string, unknown> }

/** A table row, a data point, or a resource of a document. */
export interface ImportEntry {
  /** Position: `line 12`, `entry 3`. */
  at: string
  /** Fraction of the file that has been read, from 0 to 1. */
  read: number
  requests: ImportRequest[]
  /** Reason why the entry cannot be sent. */
  fault?: string
  /** Reason for skipping: the service has no such records. */
  skipped?: string
}

/** An object of a foreign JSON document. */
export type JsonObject = Record<string, unknown>

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Objects in a list from a foreign document. */
export const objectsIn = (value: unknown): JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : []

/** Nested member, undefined if missing. */
export const memberAt = (value: unknown, ...path: (string | number)[]): unknown =>
  path.reduce<unknown>((inner, name) => (inner as JsonObject | undefined)?.[name], value ?? undefined)

/** Non-empty text, otherwise undefined. */
export const nonEmptyText = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined

/** Members that are set. */
export const definedMembers = (values: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== null))
