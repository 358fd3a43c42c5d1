import { elementAt } from '../../../records/fhir/element-paths.ts'
import { defineOperation } from '../../operation/operation.ts'
import { FHIR_PATH, fhirOperation, replyWithBundle, resourceBody, sentResource } from './fhir-operation.ts'

export const fhirBundleOperations = [
  defineOperation({
    ...fhirOperation,
    id: 'executeFhirBundle',
    method: 'post',
    path: FHIR_PATH,
    summary: 'Carry out a batch or a transaction',
    description:
      'At most 500 entries, each of which counts against the rate limits. A transaction is carried out as a whole or not at all.',
    access: 'user',
    body: resourceBody('Bundle'),
    limits: { bytes: 4 * 1024 * 1024, values: 100_000 },
    reply: [200, resourceBody('Bundle')],
    errors: [
      ...(['RuleViolated', 'Conflict', 'Gone', 'PreconditionFailed', 'Forbidden', 'NotFound'] as const),
      ...(['IdMismatch', 'MethodNotAllowed'] as const),
    ],
    countRequests: ({ body: { json } }) => {
      const entries = elementAt(json, 'entry')
      return Array.isArray(entries) ? entries.length : 1
    },
    handle: async ({ body }, { caller, fhirBundles, fhirPreferences: preferences, newId, isRetry }) =>
      replyWithBundle(
        await fhirBundles.execute(sentResource(body, 'Bundle'), { caller, preferences, newId, isRetry }),
      ),
  }),
]
