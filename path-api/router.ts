import express, { type Request, type Response, type Router } from 'express'
import { ServiceError } from '../schemas/errors.ts'
import { type Principal, permits } from './access.ts'
import type { Context } from './context.ts'
import { isUnchanged, parseIfMatch } from './etag.ts'
import { randomId, requestIdOf } from './ids.ts'
import { type InputReader, inputReader } from './input.ts'
import { named, pathMatcher } from './match.ts'
import { Raw } from './media.ts'
import type { Method, Operation } from './operation.ts'
import { impliedErrors, problem, toServiceError } from './problem.ts'
import { type Rendered, renderer, write } from './rendered.ts'
import type { Services } from './services.ts'
import { table } from './table.ts'
import { principalOf, type TokenPolicy } from './token.ts'

/** Where the frame tells what went wrong; a pino logger fits. */
export interface Log {
  error(facts: object, message: string): void
}

/** What the path family is made from. */
export interface PathApiOptions {
  services: Services
  tokens: TokenPolicy
  log: Log
  /** Check every reply against its schema, and every error against the operation's list: tests and development. */
  checking: boolean
  /** The operations; the whole table unless a test brings its own. */
  operations?: readonly Operation[]
}

interface Prepared {
  operation: Operation
  method: Method
  path: string
  read: InputReader
  render(result: unknown): Rendered
}

/** The path family as a router: the last one of the app, since it answers every path. */
export function createPathApi(options: PathApiOptions): Router {
  const { operations = table, checking } = options
  const find = pathMatcher(
    operations.map((operation): Prepared => {
      const { method, path } = operation
      return { operation, method, path, read: inputReader(operation), render: renderer(operation, checking) }
    }),
  )
  const router = express.Router()
  router.use(async (request, response) => {
    const requestId = requestIdOf(request)
    response.setHeader('x-request-id', requestId)
    response.setHeader('cache-control', 'no-store')
    const rendered = await dispatch(find, request, response, options, requestId).catch((thrown: unknown) =>
      refuse(thrown, request, requestId, options),
    )
    await write(response, rendered).catch(() => response.destroy())
  })
  return router
}

async function dispatch(
  find: ReturnType<typeof pathMatcher<Prepared>>,
  request: Request,
  response: Response,
  options: PathApiOptions,
  requestId: string,
): Promise<Rendered> {
  const found = find(request.path)
  if (!found) throw new ServiceError('NotFound', { detail: 'There is nothing at this path.' })
  const { routes, values } = found
  const prepared = routes.get((request.method === 'HEAD' ? 'get' : request.method.toLowerCase()) as Method)
  if (prepared) {
    const done = perform(prepared, request, response, named(prepared.path, values), options, requestId)
    return options.checking
      ? done.catch((thrown: unknown) => requireDeclared(prepared.operation, thrown))
      : done
  }
  response.setHeader('allow', allowed(routes))
  if (request.method === 'OPTIONS') return { status: 204, headers: {}, body: undefined }
  throw new ServiceError('MethodNotAllowed', { detail: `This path offers ${allowed(routes)}.` })
}

/** A request's way: who asks, what for, may they, the work itself, the answer. */
async function perform(
  { operation, read, render }: Prepared,
  request: Request,
  response: Response,
  params: Record<string, string>,
  options: PathApiOptions,
  requestId: string,
): Promise<Rendered> {
  requireAcceptable(request, operation)
  const principal = await authenticate(request, operation, options.tokens)
  const input = await read(request, response, params)
  if (!(await permits(operation.access, principal, input.params, options.services))) {
    throw new ServiceError('NotFound')
  }
  const ifMatch = parseIfMatch(request.headers['if-match'])
  if (operation.ifMatch === 'required' && ifMatch === undefined)
    throw new ServiceError('PreconditionRequired')
  const context = {
    ...options.services,
    principal,
    requestId,
    address: request.ip ?? '',
    userAgent: request.headers['user-agent']?.slice(0, 200) ?? '',
    ifMatch,
    newId: randomId,
  } as Context
  const rendered = render(await operation.handle(input, context))
  return operation.method === 'get' ? unlessUnchanged(request, rendered) : rendered
}

const allowed = (routes: ReadonlyMap<Method, Prepared>): string =>
  [...routes.keys()]
    .flatMap((method) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]))
    .join(', ')

async function authenticate(
  request: Request,
  { access }: Operation,
  tokens: TokenPolicy,
): Promise<Principal | undefined> {
  if (access === 'public') return undefined
  const principal = await principalOf(request, tokens)
  if (principal === undefined && access !== 'optional') throw new ServiceError('Unauthenticated')
  return principal
}

function requireAcceptable(request: Request, { reply: [, body] }: Operation): void {
  const { accept } = request.headers
  if (body === undefined || accept === undefined || accept.includes('*/*')) return
  const offered = body instanceof Raw ? [...body.types] : ['application/json']
  if (!request.accepts(offered)) {
    throw new ServiceError('NotAcceptable', { detail: `This operation answers ${offered.join(' or ')}.` })
  }
}

function unlessUnchanged(request: Request, rendered: Rendered): Rendered {
  const { etag } = rendered.headers
  if (etag === undefined || !isUnchanged(request.headers['if-none-match'], etag)) return rendered
  return { status: 304, headers: { etag }, body: undefined }
}

/** An error that the operation does not announce is a fault of the operation. */
function requireDeclared(operation: Operation, thrown: unknown): never {
  const { error } = toServiceError(thrown)
  if (impliedErrors(operation).includes(error) || operation.errors?.includes(error)) throw thrown
  throw new Error(`${operation.id} answers ${error}, which it does not declare`, { cause: thrown })
}

function refuse(thrown: unknown, request: Request, requestId: string, { log }: PathApiOptions): Rendered {
  const error = toServiceError(thrown)
  if (error.status >= 500) log.error({ err: error.cause ?? error, requestId }, error.title)
  return problem(error, request.path, requestId)
}
