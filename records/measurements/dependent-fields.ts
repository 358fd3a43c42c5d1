import type { Values } from '../ehr-records/kind.ts'

export const isPresent = (values: Values, name: string): boolean =>
  values[name] !== undefined && values[name] !== null

/** The missing fields of a group whose values are valid only together. */
export const missingDependentFields = (values: Values, names: readonly string[]): string[] =>
  names.some((name) => isPresent(values, name)) ? names.filter((name) => !isPresent(values, name)) : []
