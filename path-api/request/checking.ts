import { isInputFault } from '../../schemas/errors.ts'
import { type Check, checkOf } from '../../schemas/registry.ts'
import { Answer } from '../answer/answer.ts'
import { Raw } from '../answer/media.ts'
import type { Context } from '../operation/context.ts'
import type { Operation } from '../operation/operation.ts'
import { impliedErrors, toServiceError } from '../response/problem.ts'

type Handle = Operation['handle']

/**
 * An operation's handler under supervision, for tests and development: its reply fits its schema, its errors are
 * declared and name what is wrong with the input, and a change looks at the versions that are expected. A fault names
 * the places and never the data.
 */
export function supervised(operation: Operation): Handle {
  const { id, method, reply } = operation
  const check = reply[1] === undefined || reply[1] instanceof Raw ? undefined : checkOf(reply[1])
  return async (input, context) => {
    const lookedAtExpected = watchExpected(context)
    const result = await handled(operation, input, context)
    if ((method === 'put' || method === 'delete') && !lookedAtExpected()) {
      throw new Error(`${id} changes something without looking at the versions that are expected`)
    }
    if (check) requireValid(id, check, result instanceof Answer ? result.body : result)
    return result
  }
}

async function handled(operation: Operation, ...about: Parameters<Handle>): Promise<unknown> {
  try {
    return await operation.handle(...about)
  } catch (thrown) {
    const { error, violations } = toServiceError(thrown)
    if (isInputFault(error) && violations.length === 0)
      throw new Error(`${operation.id} answers ${error} without a violation`, { cause: thrown })
    if (impliedErrors(operation).includes(error) || operation.errors?.includes(error)) throw thrown
    throw new Error(`${operation.id} answers ${error}, which it does not declare`, { cause: thrown })
  }
}

function watchExpected(context: Context): () => boolean {
  const { expected } = context
  let looked = false
  const get = () => {
    looked = true
    return expected
  }
  Object.defineProperty(context, 'expected', { get, enumerable: true })
  return () => looked
}

function requireValid(id: string, check: Check, body: unknown): void {
  const found = check(JSON.parse(JSON.stringify(body ?? null)))
  if (found.length === 0) return
  const places = found.map(({ path, message }) => `${path} ${message}`).join('; ')
  throw new Error(`The reply of ${id} does not fit its schema: ${places}`)
}
