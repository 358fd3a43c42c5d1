import { loadParseServer } from '../../parse-server/internals.ts'
import { code, type ParseRequest, Refusal } from './parse-request.ts'

/** A request, or a part of a batch, as Parse routes it. */
export interface RequestPart {
  method: string
  path: string
  /** What has its body. */
  carrier: { body?: unknown }
  /** Of the data layer's routes: `_User` stands for `/users` too. */
  className?: string
  objectId?: string
}

const methods = new Set<unknown>(['GET', 'POST', 'PUT', 'DELETE'])

/**
 * @returns the parts of a batch, or the request itself
 * @throws Refusal for what Parse would route to nowhere, or never answer
 */
export async function partsOf(req: ParseRequest): Promise<RequestPart[]> {
  // A HEAD that is a POST in truth has a client that waits for a body.
  if (req.originalMethod !== undefined && !methods.has(req.method))
    throw new Refusal(400, code.invalidJson, '_method must be GET, POST, PUT or DELETE')
  return isBatch(req) ? batchedParts(req) : [partOf(req.method, req.path, req)]
}

export const isBatch = ({ method, path }: Pick<ParseRequest, 'method' | 'path'>): boolean =>
  method === 'POST' && plainPath(path) === '/batch'

/** A path as it is compared: routes are the same in capitals and with a slash behind. */
export const plainPath = (path: string): string => path.toLowerCase().replace(/\/+$/, '')

const isRead = ({ method }: RequestPart): boolean => method === 'GET' || method === 'HEAD'

export const isList = (part: RequestPart): boolean =>
  isRead(part) && part.className !== undefined && part.objectId === undefined

/** `/users/me` among them. */
export const isRetrieval = (part: RequestPart): boolean =>
  isRead(part) && part.className !== undefined && part.objectId !== undefined

export const isWrite = ({ method, className }: RequestPart): boolean =>
  (method === 'POST' || method === 'PUT') && className !== undefined

function partOf(method: string, path: string, carrier: RequestPart['carrier']): RequestPart {
  const [matched, className, objectId] = /^\/(?:classes\/([^/]+)|users)(?:\/([^/]+))?\/?$/i.exec(path) ?? []
  return {
    ...{ method, path, carrier },
    ...(matched !== undefined && { className: className ?? '_User' }),
    ...(objectId !== undefined && { objectId }),
  }
}

/** The parts of a batch, their paths as Parse will route them. */
async function batchedParts(req: ParseRequest): Promise<RequestPart[]> {
  const { auth, body, config } = req
  // Parse answers 500 unless its address ends with the route: no query, no slash behind, no capitals.
  req.originalUrl = `${req.baseUrl}/batch`
  const { requests, transaction } = (body ?? {}) as { requests?: unknown; transaction?: unknown }
  // Triggers write beside it, and Parse answers 500 when a part of it fails.
  if (transaction) throw new Refusal(400, code.invalidJson, 'a batch cannot be a transaction')
  if (!Array.isArray(requests)) throw new Refusal(400, code.invalidJson, 'requests must be an array')
  const most = auth.isMaster ? Number.POSITIVE_INFINITY : config.requestComplexity.batchRequestLimit
  if (requests.length > most) throw new Refusal(400, code.invalidJson, `a batch has at most ${most} requests`)
  const { routablePaths } = await loadParseServer()
  const routed = routablePaths(req.originalUrl, config.serverURL, config.publicServerURL)
  return requests.map((part: { method?: unknown; path?: unknown; body?: unknown } | null) => {
    const { method, path, body } = part ?? {}
    const isPlain = typeof path === 'string' && !/[?#]|\/\/|\.\./.test(path)
    if (!part || !isPlain || !methods.has(method) || (body && typeof body !== 'object'))
      throw new Refusal(
        400,
        code.invalidJson,
        'a batched request must have a method, a plain path and an object as body',
      )
    return partOf(method as string, routed(path), part)
  })
}
