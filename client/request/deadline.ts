import { Problem } from './problem.ts'

/**
 * Does the work until the time is over or the caller's signal aborts, even if the work itself goes on. It forwards the
 * signal by a listener: what AbortSignal.any returns, or the signal of a Request, can be lost in a garbage collection.
 * @throws Problem, or the reason of the caller's signal
 */
export async function withDeadline<T>(
  outer: AbortSignal | undefined,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer?.throwIfAborted()
  const timeout = new Problem({ status: 0, code: 'timeout', title: `No answer within ${timeoutMs} ms` })
  const ending = new AbortController()
  const { signal } = ending
  const end = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const timer = setTimeout(() => ending.abort(timeout), timeoutMs)
  const forward = () => ending.abort(outer?.reason)
  outer?.addEventListener('abort', forward)
  try {
    return await Promise.race([work(signal), end])
  } finally {
    clearTimeout(timer)
    outer?.removeEventListener('abort', forward)
  }
}
