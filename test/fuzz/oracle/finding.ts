import type { FuzzRequest, FuzzResponse } from '../generator/context/fuzz-request.ts'

/** A fault of the service, with the requests that may have caused it. */
export interface Finding {
  /** `5xx`, `no answer`, `planted`. With route and status it distinguishes findings. */
  kind: string
  status?: number
  /** The response or log line; shown in part. */
  detail: string
  asks: FuzzRequest[]
}

/** The key that distinguishes findings. */
export const findingKeyOf = ({ kind, status, asks: [ask] }: Finding): string =>
  [kind, ask?.route.replace(/\?.*/, ''), status].join(' ')

const isJson = ({ headers, json }: FuzzResponse): boolean =>
  /[/+]json\b/.test(String(headers['content-type'])) && json !== undefined

/**
 * Refusals have the form of their family. The class family is below `/1/`; its functions are at the root,
 * too.
 */
function isWellFormed({ path }: FuzzRequest, { json, status }: FuzzResponse): boolean {
  const { code, error, title, message, validationErrors, resourceType, issue } = json as Record<
    string,
    unknown
  >
  const ofClasses = typeof code === 'number' && typeof error === 'string'
  const ofPaths = typeof code === 'string' && typeof title === 'string'
  const ofOpenEhr = typeof code === 'string' && typeof message === 'string' && Array.isArray(validationErrors)
  const ofFhir = resourceType === 'OperationOutcome' && Array.isArray(issue) && issue.length > 0
  // A request that is too large never reaches a family.
  if (ofPaths && status === 431) return true
  if (path.startsWith('/openehr/v1')) return ofOpenEhr
  if (path.startsWith('/fhir/R4')) return ofFhir
  // RFC 6749, section 5.2; what never reaches the endpoint has the usual form.
  const ofOAuth = typeof error === 'string' && /^[a-z_]+$/.test(error)
  if (ofOAuth && /^\/auth\/(smart\/|token([/?]|$))/.test(path)) return true
  return ofClasses || (ofPaths && !path.startsWith('/1/'))
}

const INTERNAL_ERROR_CODE = 1
/** The class family's substitute for a 5xx, in a batch or alone. */
const isInternal = (json: unknown): boolean =>
  [json].flat().some((part) => {
    const { error, code } = (part ?? {}) as { error?: { code?: unknown }; code?: unknown }
    return code === INTERNAL_ERROR_CODE || error?.code === INTERNAL_ERROR_CODE
  })

/**
 * The faults of a response.
 * @param shows whether it contains data that the sender may not see
 */
export function findResponseFindings(ask: FuzzRequest, answer: FuzzResponse, shows: boolean): Finding[] {
  const { status, text } = answer
  const kinds: [boolean, string][] = [
    [status >= 500, 'a 5xx'],
    [status < 500 && ask.family === 'class' && isInternal(answer.json), 'an internal error in an answer'],
    [shows, 'data of another user'],
  ]
  const isPage = ask.page || (status === 404 && ask.headers.accept === 'text/html')
  const bodiless = ask.method === 'HEAD' || (text === '' && status < 400)
  if (status >= 400 && !bodiless && !isPage)
    kinds.push(
      [!isJson(answer), 'an error response without JSON'],
      [isJson(answer) && !isWellFormed(ask, answer), 'an error response in another form'],
    )
  return kinds.filter(([is]) => is).map(([, kind]) => ({ kind, status, detail: text, asks: [ask] }))
}

interface LogLine {
  requestId?: string
  level?: string
  msg?: string
  err?: { name?: string; message?: string; stack?: string }
}
const HARMLESS_LEVELS = ['trace', 'debug', 'info', 'warn']

/**
 * The fault of a line of the service's output: it is not a log line, or it reports an error.
 * @param asks the pending requests by their id
 */
export function findLineFinding(text: string, asks: ReadonlyMap<string, FuzzRequest>): Finding | undefined {
  let line: LogLine = {}
  try {
    line = JSON.parse(text)
  } catch {
    return { kind: 'output that is no log', detail: text, asks: [...asks.values()] }
  }
  if (HARMLESS_LEVELS.includes(line.level ?? '')) return undefined
  const { requestId = '', msg, err } = line
  const ask = asks.get(requestId)
  const kind = [`log: ${msg}`, err?.name, err?.stack?.split('\n')[0]?.trim()].filter(Boolean).join(', ')
  return { kind, detail: text, asks: ask ? [ask] : [...asks.values()] }
}
