import type { TSchema } from '@sinclair/typebox'
import type { Operation } from '../operation/operation.ts'
import { RawBody } from '../reply/body-media.ts'
import { ReplyWithHead } from '../reply/reply.ts'

type Convert = (value: unknown) => unknown

/** Formats of the fields that hold a path of the service. */
const PATH_FORMATS: readonly unknown[] = ['uri-reference', 'uri-template']

/**
 * Returns the operation with replies whose paths begin at the root of the host, as in `Location`. So clients
 * resolve all of them against the URL of the request. Handlers leave out the path of PUBLIC_URL.
 */
export function addPathPrefixToReply(operation: Operation, pathPrefix: string): Operation {
  const [, body] = operation.reply
  if (pathPrefix === '' || body === undefined || body instanceof RawBody) return operation
  const convert = createConversion(body, pathPrefix)
  if (!convert) return operation
  const withRootedPaths =
    (handle: Operation['handle']): Operation['handle'] =>
    async (input, context) => {
      const result = await handle(input, context)
      if (!(result instanceof ReplyWithHead)) return convert(result)
      return new ReplyWithHead(convert(result.body), result.head)
    }
  const { handle, readCurrent } = operation
  return {
    ...operation,
    handle: withRootedPaths(handle),
    ...(readCurrent && { readCurrent: withRootedPaths(readCurrent) }),
  }
}

/** @returns undefined if no value that fits the schema contains a path */
function createConversion(schema: TSchema, pathPrefix: string): Convert | undefined {
  const { format, items, properties = {}, patternProperties = {} } = schema
  if (PATH_FORMATS.includes(format))
    return (value) => (typeof value === 'string' ? pathPrefix + value : value)
  const convert = items && createConversion(items, pathPrefix)
  if (convert) return (value) => (Array.isArray(value) ? value.map(convert) : value)
  const byName = new Map(
    Object.entries<TSchema>(properties).flatMap(([name, property]): [string, Convert][] => {
      const conversion = createConversion(property, pathPrefix)
      return conversion ? [[name, conversion]] : []
    }),
  )
  const [anyName] = Object.values<TSchema>(patternProperties)
  const otherwise = anyName && createConversion(anyName, pathPrefix)
  return byName.size > 0 || otherwise ? createMemberConversion(byName, otherwise) : undefined
}

const createMemberConversion =
  (byName: ReadonlyMap<string, Convert>, otherwise: Convert | undefined): Convert =>
  (value) => {
    if (typeof value !== 'object' || value === null) return value
    const convertMember = ([name, member]: [string, unknown]) => {
      const convert = byName.get(name) ?? otherwise
      return [name, convert ? convert(member) : member]
    }
    return Object.fromEntries(Object.entries(value).map(convertMember))
  }
