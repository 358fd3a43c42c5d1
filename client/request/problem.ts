import type { components } from '../generated/api.ts'

type ProblemDocument = components['schemas']['Problem']

/** An invalid value of the input: `path` says where, such as `body.systolic`. */
export type Violation = ProblemDocument['errors'][number]

/** Problems that the client finds itself: nothing was received, not in time, or not from this service. */
type LocalCode = 'network-error' | 'timeout' | 'not-json'

export type ProblemCode = ProblemDocument['code'] | LocalCode

interface ProblemFields {
  /** HTTP status; 0 without a response. */
  status: number
  /** For programs. A server that is not this service may send any text. */
  code: ProblemCode | (string & {})
  /** For people. */
  title: string
  detail?: string | undefined
  /** Everything that is wrong with the input. */
  errors?: readonly Violation[]
  /** Quote it when you report the problem. */
  requestId?: string | undefined
  /** Seconds after which a retry may succeed. */
  retryAfter?: number | undefined
  cause?: unknown
}

/** The only error of this client, except an abort by the caller. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly status: number
  readonly code: ProblemFields['code']
  readonly title: string
  readonly detail: string | undefined
  readonly errors: readonly Violation[]
  readonly requestId: string | undefined
  readonly retryAfter: number | undefined

  constructor({ status, code, title, detail, errors = [], requestId, retryAfter, cause }: ProblemFields) {
    const violations = errors.map(({ path, message }) => `${path}: ${message}`)
    super([detail ?? title, ...violations].join('\n'), { cause })
    this.status = status
    this.code = code
    this.title = title
    this.detail = detail
    this.errors = errors
    this.requestId = requestId
    this.retryAfter = retryAfter
  }
}

/** Whether an error is a Problem; with codes, whether it has one of these. */
export const isProblem = (error: unknown, ...codes: ProblemCode[]): error is Problem =>
  error instanceof Problem && (codes.length === 0 || (codes as string[]).includes(error.code))

/** Reads what a server answers to a refused request: a problem document, or the error of the class family. */
export async function readProblem(response: Response): Promise<Problem> {
  const text = await response.text()
  const wait = response.headers.get('retry-after')
  // A date, which this service does not send, counts as no wait that is asked for.
  const retryAfter = wait && /^\d+$/.test(wait) ? Number(wait) : undefined
  const { status } = response
  try {
    const body = JSON.parse(text)
    const title = body.title ?? body.error
    if (typeof title === 'string')
      return new Problem({ ...body, status, code: String(body.code), title, retryAfter })
  } catch {}
  return new Problem({
    status,
    code: `http-${status}`,
    title: `${status} ${response.statusText}`.trim(),
    retryAfter,
  })
}

/** The code of a failed connection, such as ECONNREFUSED, is in the cause of the error; browsers tell none. */
const describeCause = ({ cause, message }: Error & { code?: unknown }): string =>
  cause instanceof Error ? String((cause as { code?: unknown }).code ?? cause.message) : message

export const createNetworkProblem = (cause: unknown): Problem =>
  new Problem({
    status: 0,
    code: 'network-error',
    title: 'The service cannot be reached',
    cause,
    detail: `The service cannot be reached (${describeCause(cause as Error)})`,
  })

/** Input that the client does not send. */
export const createInputProblem = (fields: Pick<ProblemFields, 'detail' | 'errors' | 'cause'>): Problem =>
  new Problem({ status: 0, code: 'invalid-input', title: 'The request cannot be sent', ...fields })
