import type { Response } from 'express'
import type { Caller } from '../../records/store/documents/caller.ts'
import { type ParseRequest, parseErrorCode, Refusal } from './request/parse-request.ts'
import { isList, isRetrieval, normalizePath, type RequestPart } from './request/request-parts.ts'
import type { IsServedClass } from './request/served-classes.ts'
import { runBeforeResponse } from './response/response-pipeline.ts'

/** Server information that tools such as Parse Dashboard request besides objects. */
const SERVER_INFO_PATH = /^\/(serverinfo|config|schemas(\/[^/]+)?)$/

/** Whether a request has the READ_ONLY_MASTER_KEY. */
export const isReadOnlyRequest = ({ auth }: ParseRequest): boolean => auth.isReadOnly === true

/** Whether only read-only access may use an endpoint. */
export const isReadOnlyEndpoint = (req: ParseRequest): boolean =>
  isReadOnlyRequest(req) && req.method === 'GET' && SERVER_INFO_PATH.test(normalizePath(req.path))

/** @throws Refusal for a request without a name of the operator, or for a write */
export function requireReadOnlyUse(req: ParseRequest, parts: readonly RequestPart[]): void {
  if (operatorNameOf(req) === undefined)
    throw new Refusal(
      403,
      parseErrorCode.forbidden,
      'Reads with the READ_ONLY_MASTER_KEY are audited. Send your name in the header X-Operator: 1 to 100 letters, digits, spaces, or . @ _ -',
    )
  const reads = parts.length > 0 && parts.every((part) => isList(part) || isRetrieval(part))
  if (!isReadOnlyEndpoint(req) && !reads)
    throw new Refusal(
      403,
      parseErrorCode.forbidden,
      'The READ_ONLY_MASTER_KEY can read objects, but not write them or call functions.',
    )
}

function operatorNameOf(req: ParseRequest): string | undefined {
  const name = req.get('x-operator')?.trim() ?? ''
  return /^[\w.@ -]{1,100}$/.test(name) ? name : undefined
}

/** Audit identity of an operator. */
export const operatorCallerOf = (req: ParseRequest): Caller => ({
  userId: `operator ${operatorNameOf(req) ?? ''}`,
  roles: [],
  application: 'class family',
  requestId: req.get('x-request-id') ?? '',
  unrestricted: true,
})

/** Parse Dashboard shows no object pages without these features. Their operations are refused. */
const SHOWN_FEATURES = new Set(['read', 'addField', 'removeField', 'addClass', 'removeClass'])

/** Restricts the response for operators to reading and to the served classes. */
export function narrowResponse(res: Response, serves: IsServedClass): void {
  runBeforeResponse(res, async (body) => {
    const { features, results } = (body ?? {}) as { features?: Features; results?: { className: string }[] }
    for (const feature of Object.values(features ?? {}))
      for (const name of Object.keys(feature)) feature[name] = SHOWN_FEATURES.has(name)
    if (results) results.splice(0, results.length, ...results.filter(({ className }) => serves(className)))
  })
}

type Features = Record<string, Record<string, boolean>>
