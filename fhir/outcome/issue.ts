import { type ErrorName, errorCode, ServiceError } from '../../schemas/errors.ts'
import { MAX_REPORTED_VIOLATIONS, shortenName, type Violation } from '../../schemas/validation/violations.ts'

/** An issue of an OperationOutcome. */
export interface OutcomeIssue {
  severity: 'error' | 'warning' | 'information'
  code: string
  details?: { coding: { system: string; code: string }[]; text: string }
  diagnostics?: string
  /** FHIRPath of the fault in the body. */
  expression?: string[]
  /** Place of a fault outside of the body: `http.date`. */
  location?: string[]
}

/** Codes of http://hl7.org/fhir/issue-type by error. */
const ISSUE_TYPES: Partial<Record<ErrorName, string>> = {
  MalformedRequest: 'structure',
  InvalidInput: 'invalid',
  IdMismatch: 'invariant',
  Unauthenticated: 'login',
  InvalidCredentials: 'login',
  Forbidden: 'forbidden',
  CrossSiteRequest: 'security',
  NotFound: 'not-found',
  MethodNotAllowed: 'not-supported',
  NotAcceptable: 'not-supported',
  UnsupportedMediaType: 'not-supported',
  DeadlineExceeded: 'timeout',
  RequestTimeout: 'timeout',
  Conflict: 'conflict',
  IdempotencyKeyInUse: 'conflict',
  IdempotencyKeyReused: 'conflict',
  Gone: 'deleted',
  PreconditionFailed: 'conflict',
  PreconditionRequired: 'required',
  ContentTooLarge: 'too-long',
  HeadersTooLarge: 'too-long',
  RuleViolated: 'business-rule',
  TooManyRequests: 'throttled',
  AccountLocked: 'throttled',
  Internal: 'exception',
  Unavailable: 'transient',
}

/** Codes of issues by the code of a violation; others follow from the error. */
const VIOLATION_TYPES: Readonly<Record<string, string>> = {
  required: 'required',
  type: 'value',
  format: 'value',
  date: 'value',
  range: 'value',
  unit: 'code-invalid',
  enum: 'code-invalid',
  'not-supported': 'not-supported',
  'too-costly': 'too-costly',
  'multiple-matches': 'multiple-matches',
  unknown: 'structure',
  duplicate: 'duplicate',
}

const PROBLEM_SYSTEM = 'urn:health-record-service:problem'

/** Where a fault is: a FHIRPath for a resource in the body, `http.` with the name for parameters and headers. */
function expressionOf(path: string): Pick<OutcomeIssue, 'expression' | 'location'> {
  const [, section, rest] = /^(body|query|path|header)(?:\.(.*))?$/.exec(path) ?? []
  if (section === undefined) return path === '' ? {} : { expression: [path] }
  // A JSON Patch is a list, whose positions are not a FHIRPath.
  const [, position, below = ''] = /^\[?(\d+)\]?(\..*)?$/.exec(rest ?? '') ?? []
  if (position !== undefined) return { location: [`http.${section}[${position}]${below}`] }
  if (section === 'body') return rest ? { expression: [rest] } : {}
  return rest ? { location: [`http.${rest}`] } : {}
}

function toIssue(error: ServiceError, violation?: Violation): OutcomeIssue {
  const code = violation && VIOLATION_TYPES[violation.code]
  return {
    severity: 'error',
    code: code ?? ISSUE_TYPES[error.error] ?? 'processing',
    details: {
      coding: [{ system: PROBLEM_SYSTEM, code: errorCode(error.error) }],
      text: error.detail ?? error.title,
    },
    ...(violation && {
      diagnostics: `${violation.path} ${violation.message}`.trimStart(),
      ...expressionOf(violation.path),
    }),
  }
}

/** The issues of an error: one for each violation. */
export const issuesOf = (error: ServiceError): OutcomeIssue[] =>
  error.violations.length > 0 ? error.violations.map((one) => toIssue(error, one)) : [toIssue(error)]

export const operationOutcome = (issue: readonly OutcomeIssue[]) => ({
  resourceType: 'OperationOutcome',
  issue,
})

/** A warning about an element that a write drops. */
const droppedElementIssue = (path: string): OutcomeIssue => ({
  severity: 'warning',
  code: 'not-supported',
  diagnostics: 'This element is not kept by the service',
  expression: [shortenName(path)],
})

/** Warnings about elements that a write drops. */
export const droppedElementWarnings = (paths: Iterable<string>): OutcomeIssue[] =>
  [...new Set(paths)].slice(0, MAX_REPORTED_VIOLATIONS).map(droppedElementIssue)

const STORED: OutcomeIssue = {
  severity: 'information',
  code: 'informational',
  diagnostics: 'The resource is stored',
}

/** The outcome of a write: the elements that it dropped, or its success. */
export const writeIssues = (paths: readonly string[]): OutcomeIssue[] =>
  paths.length > 0 ? droppedElementWarnings(paths) : [STORED]

/** @throws InvalidInput for a modifier that the search parameter does not have */
export function requireKnownModifier(
  { name, modifier }: { name: string; modifier: string | undefined },
  allowedModifiers: readonly string[] = [],
): void {
  if (modifier !== undefined && !allowedModifiers.includes(modifier))
    throw parameterError(
      `${name}:${modifier}`,
      'not-supported',
      `is not supported: ${name} has no such modifier`,
    )
}

/** The error for one faulty parameter, or element. */
export const parameterError = (name: string, code: string, message: string): ServiceError =>
  new ServiceError('InvalidInput', { violations: [{ path: name, code, message }] })
