import type { Request } from 'express'
import { ServiceError } from '../../schemas/errors.ts'
import type { Principal } from '../operation/access.ts'

/** Authentication policy, chosen by the composition root. */
export interface TokenPolicy {
  /** @returns the principal of a valid token, otherwise undefined */
  authenticate(token: string): Promise<Principal | undefined>
  /** Trusted origins: those of the service and of its CORS configuration. */
  ownOrigins: readonly string[]
  /** True to accept `?authToken=`. Off by default, because query strings end up in logs. */
  tokenFromQuery: boolean
}

/**
 * Authenticates a request by `Authorization: Bearer`, the header `authToken`, the cookie `authToken`, or the
 * query if configured.
 *
 * @param dropCookie called for an invalid cookie, which then counts as none
 * @returns undefined without a token
 * @throws Unauthenticated when a token is invalid
 */
export async function authenticateRequest(
  request: Request,
  policy: TokenPolicy,
  dropCookie?: () => void,
): Promise<Principal | undefined> {
  const sentToken = bearerTokenOf(request) ?? headerTokenOf(request) ?? queryTokenOf(request, policy)
  const token = sentToken ?? cookieTokenOf(request, policy.ownOrigins)
  if (token === undefined) return undefined
  const principal = await policy.authenticate(token)
  if (principal === undefined) {
    if (dropCookie && sentToken === undefined) return void dropCookie()
    const detail = 'The token is invalid or has expired.'
    throw new ServiceError('Unauthenticated', { detail, tokenFault: 'invalid_token' })
  }
  return principal
}

const bearerTokenOf = ({ headers }: Request) => /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]

const headerTokenOf = ({ headers }: Request) => {
  const { authtoken } = headers
  return typeof authtoken === 'string' && authtoken !== '' ? authtoken : undefined
}

function queryTokenOf({ url }: Request, { tokenFromQuery }: TokenPolicy): string | undefined {
  if (!tokenFromQuery || !url.includes('authToken=')) return undefined
  return new URLSearchParams(url.slice(url.indexOf('?'))).get('authToken') ?? undefined
}

/** The refresh token of a page of ours. @throws CrossSiteRequest */
export const refreshCookieOf = (request: Request, { ownOrigins }: TokenPolicy): string | undefined =>
  readOwnCookie(request, /(?:^|; *)refreshToken="?([^;"]{1,200})"?/, ownOrigins)

const cookieTokenOf = (request: Request, ownOrigins: readonly string[]): string | undefined =>
  readOwnCookie(request, /(?:^|; *)authToken="?([^;"]+)"?/, ownOrigins)

function readOwnCookie(request: Request, pattern: RegExp, ownOrigins: readonly string[]): string | undefined {
  const token = pattern.exec(request.headers.cookie ?? '')?.[1]
  if (token !== undefined) rejectCrossSiteRequest(request, ownOrigins)
  return token
}

/**
 * Keeps other sites from logging a browser in or out, which needs no cookie. Programs send none of these headers.
 * @throws CrossSiteRequest
 */
export function requireOwnForm(request: Request, { ownOrigins }: TokenPolicy): void {
  const { 'sec-fetch-site': site = 'none', origin } = request.headers
  if (site !== 'none' || origin !== undefined) rejectCrossSiteRequest(request, ownOrigins)
}

/**
 * Browsers send cookies with cross-site requests, too. So a changing request with a cookie must come from one
 * of our own pages. See docs/decisions/cookie-and-csrf.md.
 */
function rejectCrossSiteRequest({ method, headers }: Request, ownOrigins: readonly string[]): void {
  if (method === 'GET' || method === 'HEAD') return
  if (headers['sec-fetch-site'] === 'same-origin') return
  if (headers.origin !== undefined && ownOrigins.includes(headers.origin)) return
  throw new ServiceError('CrossSiteRequest')
}
