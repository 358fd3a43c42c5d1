import { loadParseServer } from '../../parse-server/internals.ts'
import { type ParseRequest, parseErrorCode, Refusal } from './parse-request.ts'

/** A request part: a request, or one request of a batch, as Parse routes it. */
export interface RequestPart {
  method: string
  path: string
  /** Object that contains the body. */
  carrier: { body?: unknown }
  /** Class in the route; `/users` has the class `_User`. */
  className?: string
  objectId?: string
}

const BATCH_METHODS = new Set<unknown>(['GET', 'POST', 'PUT', 'DELETE'])

/**
 * @returns the requests of a batch, or the request itself
 * @throws Refusal for requests that Parse would not route or never answer
 */
export async function readRequestParts(req: ParseRequest): Promise<RequestPart[]> {
  // The client of a POST with `_method` HEAD would wait for a body.
  if (req.originalMethod !== undefined && !BATCH_METHODS.has(req.method))
    throw new Refusal(400, parseErrorCode.invalidJson, '_method must be GET, POST, PUT or DELETE.')
  return isBatch(req) ? readBatchParts(req) : [createRequestPart(req.method, req.path, req)]
}

export const isBatch = ({ method, path }: Pick<ParseRequest, 'method' | 'path'>): boolean =>
  method === 'POST' && normalizePath(path) === '/batch'

/** Normalises a path: Parse ignores case and trailing slashes. */
export const normalizePath = (path: string): string => path.toLowerCase().replace(/(?<!\/)\/+$/, '')

export const isRead = ({ method }: RequestPart): boolean => method === 'GET' || method === 'HEAD'

export const isList = (part: RequestPart): boolean =>
  isRead(part) && part.className !== undefined && part.objectId === undefined

/** Includes `/users/me`. */
export const isRetrieval = (part: RequestPart): boolean =>
  isRead(part) && part.className !== undefined && part.objectId !== undefined

export const isWrite = ({ method, className }: RequestPart): boolean =>
  (method === 'POST' || method === 'PUT') && className !== undefined

/** Whether a request has a body, even an empty object. */
export const hasBody = (req: ParseRequest, { carrier }: RequestPart): boolean =>
  carrier === req
    ? req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0
    : typeof carrier.body === 'object' && carrier.body !== null

function createRequestPart(method: string, path: string, carrier: RequestPart['carrier']): RequestPart {
  const [match, className, objectId] = /^\/(?:classes\/([^/]+)|users)(?:\/([^/]+))?\/?$/i.exec(path) ?? []
  return {
    method,
    path,
    carrier,
    ...(match !== undefined && { className: className ?? '_User' }),
    ...(objectId !== undefined && { objectId }),
  }
}

/** @throws Refusal for properties that a body does not have */
function requireNone(unknown: object, subject: string): void {
  const [name] = Object.keys(unknown)
  if (name !== undefined)
    throw new Refusal(400, parseErrorCode.invalidJson, `${subject} has no property "${name.slice(0, 64)}".`)
}

/** Requests of a batch with the paths that Parse will route. */
async function readBatchParts(req: ParseRequest): Promise<RequestPart[]> {
  const { auth, body, config } = req
  // Parse responds with 500 unless its URL ends exactly with the route, without query, trailing slash or
  // capitals.
  req.originalUrl = `${req.baseUrl}/batch`
  const { requests, transaction, ...unknown } = (body ?? {}) as Record<string, unknown>
  requireNone(unknown, 'A batch')
  // Triggers write outside a batch transaction, and Parse responds with 500 when one of its requests fails.
  if (transaction)
    throw new Refusal(
      400,
      parseErrorCode.invalidJson,
      'A batch cannot be a transaction. Leave transaction out: each request succeeds or fails on its own.',
    )
  if (!Array.isArray(requests))
    throw new Refusal(400, parseErrorCode.invalidJson, 'requests must be an array of requests.')
  const most = auth.isMaster ? Number.POSITIVE_INFINITY : config.requestComplexity.batchRequestLimit
  if (requests.length > most)
    throw new Refusal(400, parseErrorCode.invalidJson, `A batch has at most ${most} requests.`)
  const { routablePaths } = await loadParseServer()
  const toRoutedPath = routablePaths(req.originalUrl, config.serverURL, config.publicServerURL)
  return requests.map((part: { method?: unknown; path?: unknown; body?: unknown } | null, i) => {
    const { method, path, body, ...others } = part ?? {}
    requireNone(others, `Request ${i + 1} of the batch`)
    const isPlain = typeof path === 'string' && !/[?#]|\/\/|\.\./.test(path)
    if (!part || !isPlain || !BATCH_METHODS.has(method) || (body && typeof body !== 'object'))
      throw new Refusal(
        400,
        parseErrorCode.invalidJson,
        `requests.${i} must have a method (GET, POST, PUT or DELETE), a path without a query, and an object as body.`,
      )
    return createRequestPart(method as string, toRoutedPath(path), part)
  })
}
