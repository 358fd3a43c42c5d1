import type { Static, TObject } from '@sinclair/typebox'
import type Parse from 'parse/node'
import type { Caller } from '../../records/store/documents/caller.ts'
import { createValidator } from '../../schemas/validation/validators.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { loadCaller } from '../request/caller.ts'
import {
  requireProperties,
  translateOutage,
  translateServiceErrors,
  validationError,
} from '../request/parse-errors.ts'

interface FunctionDefinition<S extends TObject> {
  params: S
  /** Rules that the schema cannot express. Called only with parameters that fit the schema. */
  violations?(params: Static<S>): Violation[]
  /** @param getCaller for a function that accesses records */
  run(params: Static<S>, getCaller: () => Promise<Caller>): unknown
}

/**
 * Defines a function. Missing parameters get error 141, invalid ones 142, all at once. The middleware
 * requires a session.
 */
export function defineFunction<S extends TObject>(
  cloud: typeof Parse.Cloud,
  name: string,
  { params: schema, violations = () => [], run }: FunctionDefinition<S>,
): void {
  const check = createValidator(schema)
  cloud.define(name, (request) => {
    const { params } = request
    requireProperties(schema.required, params)
    const bySchema = check(params)
    const paramViolations = bySchema.length > 0 ? bySchema : violations(params as Static<S>)
    if (paramViolations.length > 0) throw validationError(...paramViolations)
    const work = async () => run(params as Static<S>, () => loadCaller(request as never))
    return translateOutage(translateServiceErrors(work))
  })
}
