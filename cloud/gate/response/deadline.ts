import type { Request, Response } from 'express'
import { COMMAND_MS, countdown, QUERY_MS, whenOverdue } from '../../../records/store/reading/deadline.ts'
import { code } from '../request/parse-request.ts'
import { isAnswered } from './answer.ts'

interface Deadline {
  /** For the database, in milliseconds. @throws DeadlineExceeded */
  timeLeft(): number
  callOff(): void
}

const deadlines = new WeakMap<Response, Deadline>()

const isBare = ({ headers }: Request): boolean =>
  headers['transfer-encoding'] === undefined && !Number(headers['content-length'])

/** A request has so long from when it has come as a whole, whatever is looked up for it: who asks, to begin with. */
export function startDeadline(req: Request, res: Response): void {
  const start = () => {
    // A refusal need not wait for the body to end: its answer may be closed by now, and nothing would call this off.
    if (res.writableEnded) return
    const callOff = whenOverdue(QUERY_MS, () => res.status(408).json({ code: code.timeout }))
    deadlines.set(res, { timeLeft: countdown(QUERY_MS), callOff })
    res.once('close', callOff)
  }
  if (isBare(req)) start()
  else req.once('end', start)
}

/**
 * Queries end in time; writes are finished. @returns how long the database has for the next command; undefined when the
 * client has got a timeout: nothing may be written then
 */
export function timeFor(res: Response, asks: boolean): (() => number) | undefined {
  if (isAnswered(res)) return undefined
  const deadline = deadlines.get(res)
  if (asks) return deadline?.timeLeft ?? countdown(QUERY_MS)
  deadline?.callOff()
  return () => COMMAND_MS
}
