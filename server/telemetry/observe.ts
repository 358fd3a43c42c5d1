import { randomUUID } from 'node:crypto'
import type { Request, RequestHandler, Response } from 'express'
import { classFamilyRoute } from '../../cloud/gate/routes.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

/**
 * Gives every request an id (the caller's, when it is a plain one), a line in the log and a place in the figures.
 * Neither shows more of it than method, route template, status, reason and time: paths and queries carry patients' ids.
 * @param lines whether each request has a line at the level info
 */
export function observe(log: Log, metrics: Metrics, lines: boolean): RequestHandler {
  return (req: Request & { id?: unknown }, res, next) => {
    const begun = performance.now()
    const requestId = requestIdOf(req)
    req.id = requestId
    // Parse hands the headers on to triggers.
    req.headers['x-request-id'] = requestId
    res.setHeader('X-Request-Id', requestId)
    res.once('close', () => {
      const { method } = req
      const { statusCode: status } = res
      const ms = performance.now() - begun
      const route = routeOf(req, res)
      metrics.requests.observe({ method, route, status }, ms / 1000)
      const reason: string | undefined = res.locals.refusal ?? (status >= 400 ? String(status) : undefined)
      if (reason) metrics.refused.inc({ reason })
      // What an operator has to act on has been logged where it went wrong.
      const level = status >= 500 ? 'warn' : lines ? 'info' : 'debug'
      log[level]({ requestId, method, route, status, ms, ...(reason && { reason }) }, 'answered')
    })
    next()
  }
}

function requestIdOf({ headers }: Request): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && /^[\w-]{8,64}$/.test(given) ? given : randomUUID()
}

/** The template that the path family's router noted down, or the class family's for this path. */
const routeOf = ({ originalUrl }: Request, { locals }: Response): string =>
  locals.route ?? classFamilyRoute(originalUrl.split('?', 1)[0] ?? '') ?? 'unmatched'
