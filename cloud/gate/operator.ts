import type { Response } from 'express'
import type { Caller } from '../../records/store/documents/caller.ts'
import type { Serves } from './request/classes.ts'
import { code, type ParseRequest, Refusal } from './request/parse-request.ts'
import { isList, isRetrieval, plainPath, type RequestPart } from './request/request-parts.ts'
import { beforeAnswer } from './response/answer.ts'

/** What tools such as Parse Dashboard ask besides objects. */
const aboutServer = /^\/(serverinfo|config|schemas(\/[^/]+)?)$/

/** Whether a request comes from somebody who looks at everything with the READ_ONLY_MASTER_KEY. */
export const isOperators = ({ auth }: ParseRequest): boolean => auth.isReadOnly === true

/** Whether that is offered to such a one alone. */
export const isForOperators = (req: ParseRequest): boolean =>
  isOperators(req) && req.method === 'GET' && aboutServer.test(plainPath(req.path))

/** @throws Refusal for who does not say who they are, and for whatever is no read */
export function requireReading(req: ParseRequest, parts: readonly RequestPart[]): void {
  if (operatorName(req) === undefined)
    throw new Refusal(
      403,
      code.forbidden,
      'Reads with the READ_ONLY_MASTER_KEY are audited: name yourself in the header X-Operator, 1 to 100 letters, digits or .@_- and spaces',
    )
  const reads = parts.length > 0 && parts.every((part) => isList(part) || isRetrieval(part))
  if (!isForOperators(req) && !reads)
    throw new Refusal(403, code.forbidden, 'The READ_ONLY_MASTER_KEY only reads')
}

function operatorName(req: ParseRequest): string | undefined {
  const name = req.get('x-operator')?.trim() ?? ''
  return /^[\w.@ -]{1,100}$/.test(name) ? name : undefined
}

/** An operator as the audit knows them. */
export const operatorOf = (req: ParseRequest): Caller => ({
  userId: `operator ${operatorName(req) ?? ''}`,
  roles: [],
  application: 'class family',
  requestId: req.get('x-request-id') ?? '',
  unrestricted: true,
})

/** Without the others Parse Dashboard offers no page that shows objects; what they stand for is refused. */
const needed = new Set(['read', 'addField', 'removeField', 'addClass', 'removeClass'])

/** Tells an operator of what they can do and see only: to read, and the classes that are served. */
export function narrowAnswer(res: Response, serves: Serves): void {
  beforeAnswer(res, async (body) => {
    const { features, results } = (body ?? {}) as { features?: Features; results?: { className: string }[] }
    for (const feature of Object.values(features ?? {}))
      for (const name of Object.keys(feature)) feature[name] = needed.has(name)
    if (results) results.splice(0, results.length, ...results.filter(({ className }) => serves(className)))
  })
}

type Features = Record<string, Record<string, boolean>>
