import {
  MAX_REPORTED_VIOLATIONS,
  shortenText,
  shortenViolation,
  type Violation,
} from './validation/violations.ts'

/**
 * The error catalogue: HTTP status and title of every error. The path family shows an error as a problem
 * document (RFC 9457) whose `code` is the name in kebab-case. Rules and stores throw errors by name: `throw
 * new ServiceError('NotFound')`.
 */
export const errorCatalogue = {
  MalformedRequest: [400, 'The request cannot be read'],
  InvalidInput: [400, 'The input is not valid for this operation'],
  IdMismatch: [400, 'The id in the body differs from the id in the path'],
  GrantRefused: [400, 'The token is refused'],
  Unauthenticated: [401, 'A valid token is required'],
  InvalidCredentials: [
    401,
    'The e-mail address or the password is wrong, or the address is not confirmed yet',
  ],
  ClientRefused: [401, 'The app or the system is not known, or has not proved who it is'],
  IdentityRefused: [401, 'The external identity provider does not confirm this login'],
  Forbidden: [403, 'You do not have permission for this'],
  WrongPassword: [403, 'The password is wrong'],
  PasswordRequired: [
    403,
    'The current password is required. Send it as currentPassword, or log in again and retry within 10 minutes',
  ],
  AccountNotFound: [403, 'There is no account for this login'],
  CrossSiteRequest: [403, 'A cookie cannot authenticate a request from another site'],
  NotFound: [404, 'The resource does not exist, or you have no access to it'],
  MethodNotAllowed: [405, 'This path does not support this method'],
  NotAcceptable: [406, 'The response is not available in a media type that the client accepts'],
  DeadlineExceeded: [408, 'The query took too long'],
  RequestTimeout: [408, 'The request took more than 30 seconds to arrive'],
  Conflict: [409, 'The request conflicts with the current state'],
  IdempotencyKeyInUse: [409, 'The first request with this Idempotency-Key is still being answered'],
  Gone: [410, 'The resource is no longer available'],
  LinkExpired: [410, 'The link has expired or has been used'],
  PreconditionFailed: [412, 'The resource has changed since it was read'],
  ContentTooLarge: [413, 'The body is too large'],
  UnsupportedMediaType: [415, 'The media type of the body is not supported'],
  RuleViolated: [422, 'The input breaks a rule'],
  IdempotencyKeyReused: [422, 'This Idempotency-Key was already used for a different request'],
  PreconditionRequired: [428, 'If-Match with the ETag of a version is required'],
  TooManyRequests: [429, 'Too many requests'],
  AccountLocked: [429, 'The account is locked for five minutes after too many wrong passwords'],
  HeadersTooLarge: [431, 'The path or the headers are too large'],
  Internal: [500, 'The service failed; report the requestId to its operator'],
  IdentityProviderFailed: [
    502,
    'The external identity provider refuses this service; report the requestId to its operator',
  ],
  Unavailable: [503, 'The service is temporarily unavailable'],
} as const satisfies Record<string, readonly [status: number, title: string]>

export type ErrorName = keyof typeof errorCatalogue

/** Errors of the input, which list every violation. */
export type InputErrorName = {
  [Name in ErrorName]: (typeof errorCatalogue)[Name][0] extends 400 | 422 ? Name : never
}[ErrorName]

export const isInputErrorName = (name: ErrorName): name is InputErrorName =>
  [400, 422].includes(errorCatalogue[name][0])

interface ErrorDetails {
  /** Explanation of this occurrence in a sentence, without patient data. */
  detail?: string
  violations?: readonly Violation[]
  /** Current version, for the ETag of a 412 or 409. */
  version?: number | string
  /** Seconds after which a retry makes sense. */
  retryAfter?: number
  /** What is wrong with the access token (RFC 6750, 3.1). */
  tokenFault?: 'invalid_token' | 'insufficient_scope'
  cause?: unknown
}

/** 'NotFound' -> 'not-found': the `code` that clients see. */
export function errorCode(name: ErrorName): string {
  return name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase()
}

/** An error of the catalogue, thrown by rules, stores and handlers. Each family has its own format. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly error: ErrorName
  readonly status: number
  readonly title: string
  readonly detail: string | undefined
  readonly violations: readonly Violation[]
  readonly version: number | string | undefined
  readonly retryAfter: number | undefined
  readonly tokenFault: ErrorDetails['tokenFault']

  constructor(error: InputErrorName, details: ErrorDetails & Required<Pick<ErrorDetails, 'violations'>>)
  constructor(error: Exclude<ErrorName, InputErrorName>, details?: ErrorDetails)
  constructor(error: ErrorName, details: ErrorDetails = {}) {
    const [status, title] = errorCatalogue[error]
    const detail = details.detail && shortenText(details.detail)
    super(detail ?? title, { cause: details.cause })
    this.error = error
    this.status = status
    this.title = title
    this.detail = detail
    this.violations = details.violations?.slice(0, MAX_REPORTED_VIOLATIONS).map(shortenViolation) ?? []
    this.version = details.version
    this.retryAfter = details.retryAfter
    this.tokenFault = details.tokenFault
  }
}

/** Handles a rejection: this value if something does not exist. @throws any other error */
export const ifNotFound =
  <T>(value: T) =>
  (error: unknown): T => {
    if (error instanceof ServiceError && error.error === 'NotFound') return value
    throw error
  }
