import type { Request, Response } from 'express'
import {
  COMMAND_TIMEOUT_MS,
  QUERY_TIMEOUT_MS,
  startCountdown,
  startDeadlineTimer,
} from '../../../records/store/reading/deadlines.ts'
import { parseErrorCode } from '../request/parse-request.ts'
import { isResponded } from './response-pipeline.ts'

interface RequestDeadline {
  /**
   * Remaining time for the database in milliseconds.
   * @throws DeadlineExceeded
   */
  timeLeft(): number
  callOff(): void
}

const REQUEST_DEADLINES = new WeakMap<Response, RequestDeadline>()

const hasNoBody = ({ headers }: Request): boolean =>
  headers['transfer-encoding'] === undefined && !Number(headers['content-length'])

/**
 * Starts the deadline of a request after its body has arrived. It includes all lookups, even authentication.
 */
export function startRequestDeadline(req: Request, res: Response): void {
  const start = () => {
    // The response may be closed already, since an error need not wait for the body. Nothing would cancel the
    // timer then.
    if (res.writableEnded) return
    const callOff = startDeadlineTimer(QUERY_TIMEOUT_MS, () =>
      res.status(408).json({ code: parseErrorCode.timeout }),
    )
    REQUEST_DEADLINES.set(res, { timeLeft: startCountdown(QUERY_TIMEOUT_MS), callOff })
    res.once('close', callOff)
  }
  if (hasNoBody(req)) start()
  else req.once('end', start)
}

/**
 * Returns the time limit for the next database command. Queries have a deadline; writes are always finished.
 * @returns undefined if the client got a timeout, after which nothing may be written
 */
export function getDatabaseTime(res: Response, asks: boolean): (() => number) | undefined {
  if (isResponded(res)) return undefined
  const deadline = REQUEST_DEADLINES.get(res)
  if (asks) return deadline?.timeLeft ?? startCountdown(QUERY_TIMEOUT_MS)
  deadline?.callOff()
  return () => COMMAND_TIMEOUT_MS
}
