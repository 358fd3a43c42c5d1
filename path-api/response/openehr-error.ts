import { type Static, Type } from '@sinclair/typebox'
import { closedObject } from '../../schemas/common.ts'
import { type ErrorName, errorCatalogue, errorCode, type ServiceError } from '../../schemas/errors.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { etagOf } from '../reply/etag.ts'
import { challengeHeaders, ProblemDocument, problemExample } from './problem-document.ts'
import type { RenderedResponse } from './rendered-response.ts'

/** Paths of the openEHR REST API. */
export const isOpenEhrPath = (path: string): boolean => /^\/openehr\/v1(\/|$)/.test(path)

/** The error of ITS-REST with our code and the places of the violations. */
export const OpenEhrError = closedObject('OpenEhrError', 'An error of the openEHR REST API', {
  message: Type.String({ description: 'Explanation of the error' }),
  code: ProblemDocument.properties.code,
  requestId: ProblemDocument.properties.requestId,
  validationErrors: Type.Array(Type.String(), { description: 'All violations of the input, as sentences' }),
  errors: ProblemDocument.properties.errors,
})

/** ITS-REST: a missing If-Match is a 400. */
export const openEhrStatusOf = (name: ErrorName): number =>
  name === 'PreconditionRequired' ? 400 : errorCatalogue[name][0]

export function openEhrErrorExample(name: ErrorName): Static<typeof OpenEhrError> {
  const { title, code, requestId, errors } = problemExample(name)
  return { message: title, code, requestId, validationErrors: errors.map(({ message }) => message), errors }
}

/** In ITS-REST, a missing header is invalid input. */
const MISSING_VERSION: Violation = {
  path: 'header.If-Match',
  code: 'required',
  message: 'If-Match must name the version that may be overwritten.',
}

export function createOpenEhrErrorResponse(
  { error, title, detail, violations, version, retryAfter, tokenFault }: ServiceError,
  { path, requestId }: { path: string; requestId: string },
): RenderedResponse {
  const listedViolations = error === 'PreconditionRequired' ? [MISSING_VERSION] : [...violations]
  const document: Static<typeof OpenEhrError> = {
    message: detail ?? title,
    code: errorCode(error),
    requestId,
    validationErrors: listedViolations.map(({ message }) => message),
    errors: listedViolations,
  }
  const status = openEhrStatusOf(error)
  return {
    status,
    headers: {
      'content-type': 'application/json',
      ...challengeHeaders({ status, tokenFault }),
      ...(version === undefined ? {} : { etag: etagOf(version), location: versionPathOf(path, version) }),
      ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
    },
    body: JSON.stringify(document),
  }
}

/** The path of the latest version, below the path of the change. */
const versionPathOf = (path: string, uid: number | string): string =>
  /\/(ehr_status|directory)\/?$/.test(path)
    ? path.replace(/\/?$/, `/${uid}`)
    : path.replace(/(?<![^/])[^/]*\/?$/, String(uid))
