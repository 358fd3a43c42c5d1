import { isDeepStrictEqual } from 'node:util'
import type { TObject } from '@sinclair/typebox'
import { ServiceError } from '../../schemas/errors.ts'
import type { Context } from '../operation/context.ts'
import type { Operation } from '../operation/operation.ts'
import { InvalidInput, locateViolation } from '../reply/invalid-input.ts'
import { ReplyWithHead } from '../reply/reply.ts'

/** The properties that a resource shows and its PUT does not change, with the way to read them. */
export interface ReadOnlyProperties {
  names: ReadonlySet<string>
  read: Operation['handle']
}

/** A body without its read-only properties. */
export interface SeparatedBody {
  body: unknown
  readOnly?: Record<string, unknown>
}

const isObjectSchema = (schema: unknown): schema is TObject =>
  typeof (schema as Partial<TObject> | undefined)?.properties === 'object'

/** @param operations the table, in which a GET on the path of a PUT shows its resource */
export function findReadOnlyProperties(
  { method, path, body, reply, readCurrent }: Operation,
  operations: readonly Operation[],
): ReadOnlyProperties | undefined {
  const [, resource] = reply
  if (method !== 'put' || !isObjectSchema(body) || !isObjectSchema(resource)) return undefined
  const shows = (other: Operation) =>
    other.method === 'get' && other.path === path && other.reply[1] === resource
  const read = readCurrent ?? operations.find(shows)?.handle
  const names = new Set(Object.keys(resource.properties).filter((name) => !(name in body.properties)))
  return read && names.size > 0 ? { names, read } : undefined
}

export function separateReadOnly(sentBody: unknown, names: ReadonlySet<string> | undefined): SeparatedBody {
  if (!names || typeof sentBody !== 'object' || sentBody === null || Array.isArray(sentBody))
    return { body: sentBody }
  const entries = Object.entries(sentBody)
  const readOnly = entries.filter(([name]) => names.has(name))
  if (readOnly.length === 0) return { body: sentBody }
  return {
    body: Object.fromEntries(entries.filter(([name]) => !names.has(name))),
    readOnly: Object.fromEntries(readOnly),
  }
}

/**
 * Accepts read-only properties that are sent back as GET shows them.
 * @returns the resource before the change
 * @throws InvalidInput with every changed one; PreconditionFailed; the errors of the GET
 */
export async function requireUnchanged(
  { read }: ReadOnlyProperties,
  readOnlyValues: Record<string, unknown>,
  input: Parameters<Operation['handle']>[0],
  context: Context,
): Promise<Record<string, unknown>> {
  // The access to the resource is proved by the change, not by this read.
  const caller = context.caller && { ...context.caller, onAccess: () => {} }
  const result = await read(input, Object.assign(Object.create(context), { caller }))
  const { body, head } = result instanceof ReplyWithHead ? result : new ReplyWithHead(result, {})
  // Another version has other values, and would not be overwritten.
  if (context.ifMatch && !context.ifMatch.includes(Number(head.version)))
    throw new ServiceError('PreconditionFailed', { version: Number(head.version) })
  const current = JSON.parse(JSON.stringify(body)) as Record<string, unknown>
  const changedNames = Object.keys(readOnlyValues).filter(
    (name) => !isDeepStrictEqual(readOnlyValues[name], current[name]),
  )
  if (changedNames.length === 0) return current
  throw new InvalidInput(
    changedNames.map((path) =>
      locateViolation('body')({
        path,
        code: 'readOnly',
        message: 'is read-only: leave it out, or send it as GET shows it',
      }),
    ),
  )
}
