import { randomUUID } from 'node:crypto'
import type { Request, RequestHandler, Response } from 'express'
import { classFamilyRouteTemplate } from '../../cloud/http/class-family-routes.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

/** The status by which nginx logs a request whose client left before it had the whole response. */
const CLIENT_CLOSED_REQUEST = 499

/**
 * Gives every request an id (that of the caller if it is well-formed), a log line and metrics. They contain
 * only method, route template, status, reason and duration, because paths and queries contain ids of
 * patients.
 * @param lines true to log each request at level info
 */
export function observeRequests(log: Log, metrics: Metrics, lines: boolean): RequestHandler {
  const usualLevel = lines ? 'info' : 'debug'
  return (req: Request & { id?: unknown }, res, next) => {
    const start = performance.now()
    const { path } = req
    const requestId = requestIdOf(req)
    req.id = requestId
    // Parse passes the headers to triggers.
    req.headers['x-request-id'] = requestId
    res.setHeader('X-Request-Id', requestId)
    res.once('close', () => {
      const { method } = req
      const ms = performance.now() - start
      const route = routeTemplateOf(path, res)
      // A stream lasts as long as its reader wants.
      const isStream = String(res.getHeader('content-type')).startsWith('text/event-stream')
      const isAborted = !isStream && !res.writableFinished && res.statusCode < 400
      const status = isAborted ? CLIENT_CLOSED_REQUEST : res.statusCode
      if (!isStream) metrics.requests.observe({ method, route, status }, ms / 1000)
      if (status === 500) metrics.faults.inc()
      const reason: string | undefined =
        res.locals.refusal ?? (res.statusCode >= 400 ? String(status) : undefined)
      if (reason) metrics.refused.inc({ reason })
      // Errors that require action have already been logged at their origin.
      const level = status >= 500 ? 'warn' : usualLevel
      log[level](
        { requestId, method, route, status, ms: Number(ms.toFixed(3)), ...(reason && { reason }) },
        'answered',
      )
    })
    next()
  }
}

function requestIdOf({ headers }: Request): string {
  const clientId = headers['x-request-id']
  return typeof clientId === 'string' && /^[\w-]{8,64}$/.test(clientId) ? clientId : randomUUID()
}

/** Route template that the path family's router has recorded, or that of the class family. */
const routeTemplateOf = (path: string, { locals }: Response): string =>
  locals.route ?? classFamilyRouteTemplate(path) ?? 'unmatched'
