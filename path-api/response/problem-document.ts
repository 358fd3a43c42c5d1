import { type Static, Type } from '@sinclair/typebox'
import { isOutage, unavailableError } from '../../records/store/documents/outage.ts'
import { isDeadlineError } from '../../records/store/reading/deadlines.ts'
import { closedObject } from '../../schemas/common.ts'
import {
  type ErrorName,
  errorCatalogue,
  errorCode,
  isInputErrorName,
  ServiceError,
} from '../../schemas/errors.ts'
import { violationSchema } from '../../schemas/validation/violation-schema.ts'
import { isConditional, type Operation } from '../operation/operation.ts'
import { etagOf } from '../reply/etag.ts'
import type { RenderedResponse } from './rendered-response.ts'

/** Errors that follow from the shape of the operation; `errors` lists the others. */
export function impliedErrors(operation: Operation): ErrorName[] {
  const { access, method, path, body } = operation
  const unsafe = method !== 'get'
  const groups: [boolean, ErrorName[]][] = [
    [true, ['MalformedRequest', 'InvalidInput', 'TooManyRequests', 'Internal', 'Unavailable']],
    [!operation.publicDocument, ['NotAcceptable']],
    [true, ['DeadlineExceeded', 'RequestTimeout', 'HeadersTooLarge']],
    [access !== 'public', ['Unauthenticated']],
    [(access !== 'public' && unsafe) || operation.setsCookie === true, ['CrossSiteRequest']],
    [access !== 'public' && access !== 'optional' && access !== 'user', ['Forbidden']],
    [operation.api === 'fhir' && access !== 'public', ['Forbidden']],
    [path.includes('{'), ['NotFound']],
    [body !== undefined, ['ContentTooLarge', 'UnsupportedMediaType']],
    [method === 'post', ['IdempotencyKeyInUse', 'IdempotencyKeyReused']],
    [isConditional(operation), ['PreconditionFailed', 'PreconditionRequired']],
  ]
  return groups.flatMap(([applies, names]) => (applies ? names : []))
}

/**
 * Converts any thrown value to an error of the catalogue. Unexpected errors become `Internal`, with the
 * cause.
 */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  if (isDeadlineError(error)) return new ServiceError('DeadlineExceeded', { cause: error })
  if (isOutage(error)) return unavailableError(error)
  return new ServiceError('Internal', { cause: error })
}

const textSchema = (description: string) => Type.String({ description })

/** Problem document (RFC 9457) with our extensions. */
export const ProblemDocument = closedObject('Problem', 'A problem document', {
  type: textSchema('Path of the description of this kind of problem'),
  title: textSchema('Title of the kind of problem'),
  status: Type.Integer({ description: 'HTTP status' }),
  detail: Type.Optional(textSchema('Explanation of this occurrence')),
  instance: textSchema('Path of the request'),
  code: Type.Unsafe<string>({
    type: 'string',
    enum: (Object.keys(errorCatalogue) as ErrorName[]).map(errorCode),
    description: 'Code of the problem, for programs',
  }),
  requestId: textSchema('Id of the request; quote it when you report a problem'),
  errors: Type.Array(
    Type.Object(
      {
        ...violationSchema.properties,
        path: textSchema(
          'Path of the invalid value: `body.name.displayName`, `query.limit`, `path.mvUid`, `header.If-Match`',
        ),
      },
      { additionalProperties: false },
    ),
    { description: 'All violations of the input' },
  ),
})

const problemTypeOf = (code: string, pathPrefix = ''): string => `${pathPrefix}/problems/${code}`

/** Example response for this error. */
export function problemExample(name: ErrorName): Static<typeof ProblemDocument> {
  const code = errorCode(name)
  const [status, title] = errorCatalogue[name]
  const violation = { path: 'body.name', code: 'required', message: 'name is required.' }
  return {
    type: problemTypeOf(code),
    title,
    status,
    instance: '/profile/n4Fq2LxT0a',
    code,
    requestId: '0f7c7a52-1b52-4b0e-8a0e-5b6c3f1d2e4a',
    errors: isInputErrorName(name) ? [violation] : [],
  }
}

/** How to authenticate, and what is wrong with the token (RFC 6750, 3). */
export const challengeHeaders = ({
  status,
  tokenFault,
}: Pick<ServiceError, 'status' | 'tokenFault'>): Record<string, string> => {
  if (status !== 401 && tokenFault === undefined) return {}
  const fault = tokenFault === undefined ? '' : `, error="${tokenFault}"`
  return { 'www-authenticate': `Bearer realm="health-record-service"${fault}` }
}

export function createProblemResponse(
  error: ServiceError,
  { path, pathPrefix, requestId }: { path: string; pathPrefix: string; requestId: string },
): RenderedResponse {
  const code = errorCode(error.error)
  const document: Static<typeof ProblemDocument> = {
    type: problemTypeOf(code, pathPrefix),
    title: error.title,
    status: error.status,
    ...(error.detail === undefined ? {} : { detail: error.detail }),
    instance: pathPrefix + path,
    code,
    requestId,
    errors: [...error.violations],
  }
  return {
    status: error.status,
    headers: {
      'content-type': 'application/problem+json',
      ...challengeHeaders(error),
      ...(error.version === undefined ? {} : { etag: etagOf(error.version) }),
      ...(error.retryAfter === undefined ? {} : { 'retry-after': String(error.retryAfter) }),
    },
    body: JSON.stringify(document),
  }
}
