/** What an entry of a file asks the service for. */
export type Ask =
  | { measurement: Record<string, unknown> }
  | { resource: 'diagnosis' | 'adversereaction' | 'device'; body: Record<string, unknown> }

/** One row of a table, one point or resource of a document. */
export interface Entry {
  /** Where it stands: `line 12`, `entry 3`. */
  at: string
  /** How much of the file has been read, from 0 to 1. */
  read: number
  asks: Ask[]
  /** Why it cannot be sent. */
  fault?: string
  /** Why nothing is sent: the service has no such records. */
  skipped?: string
}

/** A part of JSON that somebody else wrote. */
export type Json = Record<string, unknown>

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A member of a member …, as far as it is there. */
export const member = (value: unknown, ...path: (string | number)[]): unknown =>
  path.reduce<unknown>((inner, name) => (inner as Json | undefined)?.[name], value ?? undefined)

/** The words of a member; undefined when it has none. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined

/** What is set. */
export const given = (values: Json): Json =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== null))
