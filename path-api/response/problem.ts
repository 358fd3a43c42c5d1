import { type Static, Type } from '@sinclair/typebox'
import { isOutage, unavailable } from '../../records/store/documents/outage.ts'
import { isOverdue } from '../../records/store/reading/deadline.ts'
import { closed } from '../../schemas/common.ts'
import { type ErrorName, errorCode, errors, isInputFault, ServiceError } from '../../schemas/errors.ts'
import { etagOf } from '../answer/etag.ts'
import type { Operation } from '../operation/operation.ts'
import type { Rendered } from './rendered.ts'

/** Errors that any operation of this shape may answer; its own stand in its `errors`. */
export function impliedErrors({ access, method, path, body, ifMatch }: Operation): ErrorName[] {
  const unsafe = method !== 'get'
  const groups: [boolean, ErrorName[]][] = [
    [
      true,
      ['MalformedRequest', 'InvalidInput', 'NotAcceptable', 'TooManyRequests', 'Internal', 'Unavailable'],
    ],
    [true, ['DeadlineExceeded', 'HeadersTooLarge']],
    [access !== 'public', ['Unauthenticated']],
    [access !== 'public' && unsafe, ['CrossSiteRequest']],
    [access !== 'public' && access !== 'optional' && access !== 'user', ['Forbidden']],
    [path.includes('{'), ['NotFound']],
    [body !== undefined, ['ContentTooLarge', 'UnsupportedMediaType']],
    [method === 'post', ['IdempotencyKeyInUse', 'IdempotencyKeyReused']],
    [method === 'put' || method === 'delete', ['PreconditionFailed']],
    [ifMatch === 'required', ['PreconditionRequired']],
  ]
  return groups.flatMap(([applies, names]) => (applies ? names : []))
}

/** Whatever was thrown, as an error of the catalogue. What nobody foresaw is `Internal`, with its cause. */
export function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown
  if (isOverdue(thrown)) return new ServiceError('DeadlineExceeded', { cause: thrown })
  if (isOutage(thrown)) return unavailable(thrown)
  return new ServiceError('Internal', { cause: thrown })
}

const text = (description: string) => Type.String({ description })

/** The problem document of RFC 9457, with what we add to it. */
export const Problem = closed('Problem', 'What went wrong', {
  type: text('Path of a description of this kind of problem'),
  title: text('The kind of problem in words'),
  status: Type.Integer({ description: 'The HTTP status' }),
  detail: Type.Optional(text('What is particular to this occurrence')),
  instance: text('The path of the request'),
  code: Type.Unsafe<string>({
    type: 'string',
    enum: (Object.keys(errors) as ErrorName[]).map(errorCode),
    description: 'The kind of problem, for programs',
  }),
  requestId: text('Quote it when you report a problem'),
  errors: Type.Array(
    Type.Object(
      {
        path: text('Where: `body.name.displayName`, `query.limit`, `path.mvUid`, `header.If-Match`'),
        code: text('What, for programs'),
        message: text('What, in a sentence'),
        line: Type.Optional(Type.Integer({ description: 'Of a query: the line, counted from 1' })),
        column: Type.Optional(Type.Integer({ description: 'Of a query: the column, counted from 1' })),
      },
      { additionalProperties: false },
    ),
    { description: 'Everything that is wrong with the input' },
  ),
})

const typeOf = (code: string): string => `/problems/${code}`

/** What a client may get for this error. */
export function problemExample(name: ErrorName): Static<typeof Problem> {
  const code = errorCode(name)
  const [status, title] = errors[name]
  const violation = { path: 'body.name', code: 'required', message: 'name is required.' }
  return {
    type: typeOf(code),
    title,
    status,
    instance: '/profile/n4Fq2LxT0a',
    code,
    requestId: '0f7c7a52-1b52-4b0e-8a0e-5b6c3f1d2e4a',
    errors: isInputFault(name) ? [violation] : [],
  }
}

/** The error as a problem document. */
export function problem(error: ServiceError, instance: string, requestId: string): Rendered {
  const code = errorCode(error.error)
  const document: Static<typeof Problem> = {
    type: typeOf(code),
    title: error.title,
    status: error.status,
    ...(error.detail === undefined ? {} : { detail: error.detail }),
    instance,
    code,
    requestId,
    errors: [...error.violations],
  }
  return {
    status: error.status,
    headers: {
      'content-type': 'application/problem+json',
      ...(error.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      ...(error.version === undefined ? {} : { etag: etagOf(error.version) }),
      ...(error.retryAfter === undefined ? {} : { 'retry-after': String(error.retryAfter) }),
    },
    body: JSON.stringify(document),
  }
}
