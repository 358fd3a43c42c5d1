import type { Static, TObject } from '@sinclair/typebox'
import type Parse from 'parse/node'
import { checkOf } from '../../schemas/registry.ts'
import type { Violation } from '../../schemas/violation.ts'
import { invalid, requireAll } from '../request/refusals.ts'

interface Calculation<S extends TObject> {
  params: S
  /** Rules about the parameters that the schema cannot express; checked when they fulfil the schema. */
  violations(params: Static<S>): Violation[]
  calculate(params: Static<S>): unknown
}

/** Missing parameters answer 141, faulty ones 142, all at once. That the caller has a session, the server sees to. */
export function defineFunction<S extends TObject>(
  cloud: typeof Parse.Cloud,
  name: string,
  { params: schema, violations, calculate }: Calculation<S>,
): void {
  const check = checkOf(schema)
  cloud.define(name, ({ params }) => {
    requireAll(schema.required, params)
    const bySchema = check(params)
    const found = bySchema.length > 0 ? bySchema : violations(params as Static<S>)
    if (found.length > 0) throw invalid(...found)
    return calculate(params as Static<S>)
  })
}
