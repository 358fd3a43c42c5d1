import { type Static, Type } from '@sinclair/typebox'
import { issuesOf, operationOutcome } from '../../fhir/outcome/issue.ts'
import { closedObject } from '../../schemas/common.ts'
import { type ErrorName, ServiceError } from '../../schemas/errors.ts'
import { challengeHeaders } from './problem-document.ts'
import type { RenderedResponse } from './rendered-response.ts'

/** Paths of the FHIR API. */
export const isFhirPath = (path: string): boolean => /^\/fhir\/R4(\/|$)/.test(path)

const text = (description: string) => Type.String({ description })

const IssueSchema = Type.Object(
  {
    severity: text('Severity: error, warning or information'),
    code: text('Code of the type of issue, for programs'),
    details: Type.Optional(
      Type.Object(
        {
          coding: Type.Array(
            Type.Object(
              { system: text('URI of the code system'), code: text('Code of the error in this service') },
              { additionalProperties: false },
            ),
            { description: 'Codes' },
          ),
          text: text('Explanation of the error'),
        },
        { additionalProperties: false, description: 'Details of the error' },
      ),
    ),
    diagnostics: Type.Optional(text('Explanation of the fault')),
    expression: Type.Optional(
      Type.Array(Type.String(), { description: 'FHIRPath of the fault in the body' }),
    ),
    location: Type.Optional(
      Type.Array(Type.String(), { description: 'Place of the fault outside of the body: `http.date`' }),
    ),
  },
  { additionalProperties: false, description: 'An issue' },
)

/** The errors of the FHIR API. */
export const OperationOutcome = closedObject('OperationOutcome', 'Issues of a request', {
  resourceType: Type.Unsafe<'OperationOutcome'>({
    type: 'string',
    enum: ['OperationOutcome'],
    description: 'Type of the resource',
  }),
  issue: Type.Array(IssueSchema, { description: 'All issues of the request' }),
})

const EXAMPLE_VIOLATION = { path: 'Observation.status', code: 'required', message: 'is required' }

export const operationOutcomeExample = (name: ErrorName): Static<typeof OperationOutcome> =>
  operationOutcome(
    issuesOf(new ServiceError(name as 'InvalidInput', { violations: [EXAMPLE_VIOLATION] })),
  ) as unknown as Static<typeof OperationOutcome>

export const createOperationOutcomeResponse = (error: ServiceError): RenderedResponse => ({
  status: error.status,
  headers: {
    'content-type': 'application/fhir+json; charset=utf-8',
    ...challengeHeaders(error),
    ...(error.version === undefined ? {} : { etag: `W/"${error.version}"` }),
    ...(error.retryAfter === undefined ? {} : { 'retry-after': String(error.retryAfter) }),
  },
  body: JSON.stringify(operationOutcome(issuesOf(error))),
})
