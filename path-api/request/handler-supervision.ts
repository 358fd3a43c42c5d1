import { isInputErrorName } from '../../schemas/errors.ts'
import { createValidator, type Validator } from '../../schemas/validation/validators.ts'
import type { Context } from '../operation/context.ts'
import type { Operation } from '../operation/operation.ts'
import { RawBody } from '../reply/body-media.ts'
import { ReplyWithHead } from '../reply/reply.ts'
import { impliedErrors, toServiceError } from '../response/problem-document.ts'

type OperationHandler = Operation['handle']

/**
 * Supervises a handler in tests and development. The reply must fit its schema, errors must be declared and
 * list violations, and changes must check If-Match. Messages name paths, never data.
 */
export function superviseHandler(operation: Operation): OperationHandler {
  const { id, method, reply } = operation
  const check = reply[1] === undefined || reply[1] instanceof RawBody ? undefined : createValidator(reply[1])
  return async (input, context) => {
    const usesIfMatch = trackIfMatchUse(context)
    const result = await callHandler(operation, input, context)
    if ((method === 'put' || method === 'delete') && !usesIfMatch()) {
      throw new Error(
        `${id} changes a resource without checking If-Match: pass ifMatch of the context to the store`,
      )
    }
    if (check) requireValidReply(id, check, result instanceof ReplyWithHead ? result.body : result)
    return result
  }
}

async function callHandler(operation: Operation, ...args: Parameters<OperationHandler>): Promise<unknown> {
  try {
    return await operation.handle(...args)
  } catch (failure) {
    const { error, violations } = toServiceError(failure)
    if (isInputErrorName(error) && violations.length === 0)
      throw new Error(
        `${operation.id} answers ${error} without a violation: pass the violations to the error`,
        { cause: failure },
      )
    if (impliedErrors(operation).includes(error) || operation.errors?.includes(error)) throw failure
    throw new Error(`${operation.id} answers ${error}: add it to the errors of the operation`, {
      cause: failure,
    })
  }
}

function trackIfMatchUse(context: Context): () => boolean {
  const { ifMatch, ifMatchOf } = context
  let isRead = false
  context.ifMatchOf = (id) => {
    isRead = true
    return ifMatchOf(id)
  }
  const get = () => {
    isRead = true
    return ifMatch
  }
  Object.defineProperty(context, 'ifMatch', { get, enumerable: true })
  return () => isRead
}

function requireValidReply(id: string, check: Validator, body: unknown): void {
  const violations = check(JSON.parse(JSON.stringify(body ?? null)))
  if (violations.length === 0) return
  const places = violations.map(({ path, message }) => `${path} ${message}`).join('; ')
  throw new Error(`The reply of ${id} does not fit its schema, correct one of them: ${places}`)
}
