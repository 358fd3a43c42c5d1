import type { Request, RequestHandler } from 'express'
import { LRUCache } from 'lru-cache'
import { respondToRefusal } from '../../cloud/http/response/response-pipeline.ts'
import { createErrorResponse } from '../../path-api/response/error-response.ts'
import { writeResponse } from '../../path-api/response/rendered-response.ts'
import type { AdmissionControl } from '../../records/limits/admission/admission-control.ts'
import { MessageMemory } from '../../records/limits/admission/message-memory.ts'
import { ipKey } from '../../records/limits/rate-limiter.ts'
import { errorCode } from '../../schemas/errors.ts'
import { reserveMessageMemory } from './message-counting.ts'

/** Credentials whose accounts are remembered. */
const MAX_CREDENTIALS = 10_000

/** Probes are answered even while the service refuses other requests. */
const PROBE_PATH = /^\/(health\/(live|ready)|1\/health)\/?$/

/** The unchecked credentials of a request; the SDK for JavaScript sends them in the body. */
const credentialOf = ({ headers }: Request): string | undefined =>
  headers.authorization ??
  [headers['x-parse-session-token'], headers.authtoken, headers.cookie]
    .flat()
    .find((one) => one !== undefined)

interface EarlyRefusalOptions {
  /** Whether a path belongs to the class family. */
  isClassFamily(path: string): boolean
  /** Path of PUBLIC_URL. */
  pathPrefix: string
}

/**
 * Refuses requests at once while the service is overloaded. To authenticate a request takes about as long as to carry
 * out a short one. So the account of a credential is remembered; only authentication tells who it is.
 */
export function refuseEarly(
  admissionControl: AdmissionControl,
  { isClassFamily, pathPrefix }: EarlyRefusalOptions,
): RequestHandler {
  const accounts = new LRUCache<string, string>({ max: MAX_CREDENTIALS })
  const messages = new MessageMemory()
  return (request: Request & { id?: unknown }, response, next) => {
    if (PROBE_PATH.test(request.path)) return next()
    const credential = credentialOf(request)
    const account = credential === undefined ? undefined : accounts.get(credential)
    if (credential !== undefined && account === undefined)
      response.once('close', () => {
        if (typeof response.locals.account === 'string') accounts.set(credential, response.locals.account)
      })
    const refusal =
      (account === undefined ? undefined : admissionControl.findEarlyRefusal(account)) ??
      reserveMessageMemory(messages, account ?? ipKey(request.ip ?? ''), request, response)
    if (!refusal) return next()
    if (isClassFamily(request.path)) return respondToRefusal(refusal, response)
    response.locals.refusal = errorCode(refusal.error)
    const requestInfo = { path: request.path, pathPrefix, requestId: String(request.id) }
    writeResponse(response, createErrorResponse(refusal, requestInfo), pathPrefix).catch(() =>
      response.destroy(),
    )
  }
}
