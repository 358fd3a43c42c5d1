import type { Answer, Ask } from '../generator/world/ask.ts'

/** Something that must not happen, with the requests that may have led to it. */
export interface Finding {
  /** `5xx`, `no answer`, `planted`: with route and status what tells findings apart. */
  kind: string
  status?: number
  /** What was answered or logged; shown in part. */
  told: string
  asks: Ask[]
}

/** What tells one finding from another. */
export const keyOf = ({ kind, status, asks: [ask] }: Finding): string =>
  [kind, ask?.route.replace(/\?.*/, ''), status].join(' ')

const isJson = ({ headers, json }: Answer): boolean =>
  /[/+]json\b/.test(String(headers['content-type'])) && json !== undefined

/** A refusal says what every refusal of its family says; the class family is below `/1/`, its functions at the root, too. */
function isWellFormed({ path }: Ask, { json, status }: Answer): boolean {
  const { code, error, title } = json as { code?: unknown; error?: unknown; title?: unknown }
  const ofClasses = typeof code === 'number' && typeof error === 'string'
  const ofPaths = typeof code === 'string' && typeof title === 'string'
  // What is too large for a request never reaches a family.
  return ofClasses || (ofPaths && (status === 431 || !path.startsWith('/1/')))
}

const internalError = 1
/** In a batch or alone: what the class family says instead of a 5xx. */
const isInternal = (json: unknown): boolean =>
  [json].flat().some((part) => {
    const { error, code } = (part ?? {}) as { error?: { code?: unknown }; code?: unknown }
    return code === internalError || error?.code === internalError
  })

/**
 * What is wrong with an answer.
 * @param shows whether it shows what the one who asked may not see
 */
export function findingsIn(ask: Ask, answer: Answer, shows: boolean): Finding[] {
  const { status, text } = answer
  const kinds: [boolean, string][] = [
    [status >= 500, 'a 5xx'],
    [status < 500 && ask.family === 'class' && isInternal(answer.json), 'an internal error in an answer'],
    [shows, 'what somebody else has written'],
  ]
  const bodiless = ask.method === 'HEAD' || (text === '' && status < 400)
  if (status >= 400 && !bodiless && !ask.page)
    kinds.push(
      [!isJson(answer), 'a refusal that is no JSON'],
      [isJson(answer) && !isWellFormed(ask, answer), 'a refusal in another form'],
    )
  return kinds.filter(([is]) => is).map(([, kind]) => ({ kind, status, told: text, asks: [ask] }))
}

interface Line {
  requestId?: string
  level?: number
  msg?: string
  err?: { name?: string; message?: string; stack?: string }
}
const errorLevel = 50

/**
 * What is wrong with a line of the service's output: it is no line of the log, or one of an error.
 * @param asks what is being asked, by the id of the request
 */
export function findingInLine(text: string, asks: ReadonlyMap<string, Ask>): Finding | undefined {
  let line: Line = {}
  try {
    line = JSON.parse(text)
  } catch {
    return { kind: 'output that is no log', told: text, asks: [...asks.values()] }
  }
  if ((line.level ?? 0) < errorLevel) return undefined
  const { requestId = '', msg, err } = line
  const ask = asks.get(requestId)
  const kind = [`log: ${msg}`, err?.name, err?.stack?.split('\n')[0]?.trim()].filter(Boolean).join(', ')
  return { kind, told: text, asks: ask ? [ask] : [...asks.values()] }
}
