import type { RequestHandler } from 'express'

/** Path of PUBLIC_URL, without a slash at its end: `/records`; empty if it has none. */
export const pathPrefixOf = (publicUrl: string): string => new URL(publicUrl).pathname.replace(/^\/$/, '')

/**
 * Serves requests with and without the path of PUBLIC_URL, because some proxies remove it and others do not.
 * The prefix may equal the beginning of a path of ours (`/health`), so the served path decides.
 */
export function removePathPrefix(prefix: string, isServed: (path: string) => boolean): RequestHandler {
  return (request, _response, next) => {
    const { path } = request
    const rest = path === prefix || path.startsWith(`${prefix}/`) ? path.slice(prefix.length) || '/' : path
    const inner = isServed(rest) || !isServed(path) ? rest : path
    request.url = inner + request.url.slice(path.length)
    // Parse Server and problem documents name the path that clients use.
    request.originalUrl = prefix + request.url
    next()
  }
}
