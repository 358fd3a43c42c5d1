import type { Request } from 'express'
import { ServiceError } from '../../schemas/errors.ts'
import type { Principal } from '../operation/access.ts'

/** How callers prove who they are; the composition root decides. */
export interface TokenPolicy {
  /** @returns whose valid token this is, or undefined */
  authenticate(token: string): Promise<Principal | undefined>
  /** Origins that are ours: the service's own and those of its CORS configuration. */
  ownOrigins: readonly string[]
  /** Whether `?authToken=` counts; query strings end up in logs, so it is off unless configured. */
  tokenFromQuery: boolean
}

/**
 * The principal of a request's token, wherever it is carried: `Authorization: Bearer`, the header `authToken`, the
 * cookie `authToken`, or the query where that is configured.
 *
 * @returns undefined when there is no token
 * @throws Unauthenticated when there is one and it does not hold
 */
export async function principalOf(request: Request, policy: TokenPolicy): Promise<Principal | undefined> {
  const token =
    bearer(request) ?? header(request) ?? query(request, policy) ?? cookie(request, policy.ownOrigins)
  if (token === undefined) return undefined
  const principal = await policy.authenticate(token)
  if (principal === undefined) {
    throw new ServiceError('Unauthenticated', { detail: 'The token is invalid or has expired.' })
  }
  return principal
}

const bearer = ({ headers }: Request) => /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]

const header = ({ headers }: Request) => {
  const { authtoken } = headers
  return typeof authtoken === 'string' && authtoken !== '' ? authtoken : undefined
}

function query({ url }: Request, { tokenFromQuery }: TokenPolicy): string | undefined {
  if (!tokenFromQuery || !url.includes('authToken=')) return undefined
  return new URLSearchParams(url.slice(url.indexOf('?'))).get('authToken') ?? undefined
}

function cookie(request: Request, ownOrigins: readonly string[]): string | undefined {
  const token = /(?:^|; *)authToken="?([^;"]+)"?/.exec(request.headers.cookie ?? '')?.[1]
  if (token !== undefined) refuseOtherSites(request, ownOrigins)
  return token
}

/**
 * The browser sends a cookie along whoever asks for the request, so a changing request must show that one of our own
 * pages asked. See docs/decisions/cookie-and-csrf.md.
 */
function refuseOtherSites({ method, headers }: Request, ownOrigins: readonly string[]): void {
  if (method === 'GET' || method === 'HEAD') return
  if (headers['sec-fetch-site'] === 'same-origin') return
  if (headers.origin !== undefined && ownOrigins.includes(headers.origin)) return
  throw new ServiceError('CrossSiteRequest')
}
