import type { Values } from '../registered/kind.ts'

export const isThere = (values: Values, name: string): boolean =>
  values[name] !== undefined && values[name] !== null

/** What is missing of values that only make sense together. */
export const allOrNone = (values: Values, names: readonly string[]): string[] =>
  names.some((name) => isThere(values, name)) ? names.filter((name) => !isThere(values, name)) : []
