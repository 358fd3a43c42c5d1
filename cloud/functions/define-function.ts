import type { Static, TObject } from '@sinclair/typebox'
import type Parse from 'parse/node'
import { createValidator } from '../../schemas/validation/validators.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { requireProperties, validationError } from '../request/parse-errors.ts'

interface Calculation<S extends TObject> {
  params: S
  /** Rules that the schema cannot express. Called only with parameters that fit the schema. */
  violations(params: Static<S>): Violation[]
  calculate(params: Static<S>): unknown
}

/**
 * Defines a function. Missing parameters get error 141, invalid ones 142, all at once. The middleware
 * requires a session.
 */
export function defineFunction<S extends TObject>(
  cloud: typeof Parse.Cloud,
  name: string,
  { params: schema, violations, calculate }: Calculation<S>,
): void {
  const check = createValidator(schema)
  cloud.define(name, ({ params }) => {
    requireProperties(schema.required, params)
    const bySchema = check(params)
    const found = bySchema.length > 0 ? bySchema : violations(params as Static<S>)
    if (found.length > 0) throw validationError(...found)
    return calculate(params as Static<S>)
  })
}
