import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Request, RequestHandler, Response } from 'express'
import { pinoHttp } from 'pino-http'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

/**
 * Gives every request an id (the caller's, when it is a plain one), a line in the log and a place in the figures.
 * Neither shows more of it than method, route template, status and time: paths and queries carry patients' ids.
 */
export function observe(log: Log, metrics: Metrics): RequestHandler {
  const logged = pinoHttp({
    logger: log,
    genReqId: requestId,
    quietReqLogger: true,
    quietResLogger: true,
    customAttributeKeys: { reqId: 'requestId' },
    customLogLevel: (_req, res) => (res.statusCode >= 500 ? 'error' : 'debug'),
    customSuccessObject: (req, res, { responseTime }) => line(req, res, responseTime),
    customErrorObject: (req, res, _error, { responseTime }) => line(req, res, responseTime),
    customSuccessMessage: () => 'answered',
    customErrorMessage: () => 'failed',
  })
  return (req: Request, res: Response, next) => {
    const seconds = metrics.requests.startTimer({ method: req.method })
    res.once('close', () => seconds({ route: routeOf(res), status: res.statusCode }))
    logged(req, res)
    next()
  }
}

const line = ({ method }: IncomingMessage, res: ServerResponse, ms: number) => ({
  method,
  route: routeOf(res),
  status: res.statusCode,
  ms,
})

function requestId(req: IncomingMessage, res: ServerResponse): string {
  const given = req.headers['x-request-id']
  const id = typeof given === 'string' && /^[\w-]{8,64}$/.test(given) ? given : randomUUID()
  res.setHeader('X-Request-Id', id)
  return id
}

/** The template that a router noted down, such as `/1/classes/{className}`. */
function routeOf(res: ServerResponse): string {
  return ((res as Response).locals?.route as string | undefined) ?? 'unmatched'
}
