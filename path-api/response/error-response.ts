import type { ServiceError } from '../../schemas/errors.ts'
import { createOAuthErrorResponse, isOAuthPath } from './oauth-error.ts'
import { createOpenEhrErrorResponse, isOpenEhrPath } from './openehr-error.ts'
import { createOperationOutcomeResponse, isFhirPath } from './operation-outcome.ts'
import { createProblemResponse } from './problem-document.ts'
import type { RenderedResponse } from './rendered-response.ts'

/** The response to an error, in the format of the API to which the path belongs. */
export function createErrorResponse(
  error: ServiceError,
  request: { path: string; pathPrefix: string; requestId: string },
): RenderedResponse {
  if (isFhirPath(request.path)) return createOperationOutcomeResponse(error)
  if (isOAuthPath(request.path)) return createOAuthErrorResponse(error)
  const path = shortenPath(request.path)
  return isOpenEhrPath(path)
    ? createOpenEhrErrorResponse(error, { path, requestId: request.requestId })
    : createProblemResponse(error, request)
}

/** EHRbase's clients expect the openEHR REST API below `/rest`. */
export const shortenPath = (path: string): string => path.replace(/^\/rest(?=\/openehr\/v1(\/|$))/, '')
