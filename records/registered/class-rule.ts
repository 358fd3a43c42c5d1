import type { Violation } from '../../schemas/violation.ts'

/** The properties of an object, in the form in which clients send them; of any type, since nothing is sure yet. */
export type Values = Readonly<Record<string, unknown>>

/** What a class demands beyond its schema. The values are the whole object, after an update too. */
export interface ClassRules {
  /** Properties that are judged together, hence written together: two updates at once must not mix them. */
  together: readonly string[]
  /** Properties that are required because of what else is there. */
  missing?(values: Values): string[]
  /** @param changed the names of the properties that the client sent */
  violations(values: Values, changed: readonly string[]): Violation[]
  /** What the service adds to valid values. */
  derived?(values: Values): Record<string, unknown>
}
