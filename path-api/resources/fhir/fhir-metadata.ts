import { Type } from '@sinclair/typebox'
import { capabilityStatement } from '../../../fhir/capability-statement.ts'
import { describedTypes } from '../../../fhir/resource-types.ts'
import packageJson from '../../../package.json' with { type: 'json' }
import { defineOperation } from '../../operation/operation.ts'
import { replyWithCacheableText } from '../../reply/cacheable-text.ts'
import { smartUrls } from '../smart-urls.ts'
import { FHIR_PATH, fhirOperation, resourceBody } from './fhir-operation.ts'

/** FHIR defines these parameters for this request, so strict handling must not refuse them. */
const ignoredField = Type.Optional(
  Type.String({ description: 'Extent of the description, which is always whole', examples: ['true'] }),
)

const STARTED_AT = new Date().toISOString()

export const fhirMetadataOperations = [
  defineOperation({
    ...fhirOperation,
    id: 'describeFhirCapabilities',
    method: 'get',
    path: `${FHIR_PATH}/metadata`,
    query: {
      mode: Type.Optional(
        Type.Unsafe<string>({
          type: 'string',
          enum: ['full', 'normative'],
          examples: ['full'],
          description: 'Extent of the description, which is always the same',
        }),
      ),
      _summary: ignoredField,
      _elements: ignoredField,
    },
    summary: 'Get the capabilities of the FHIR API',
    access: 'public',
    reply: [200, resourceBody('CapabilityStatement')],
    handle: (_, { fhir, publicUrl }) => {
      const definition = {
        base: fhir.base,
        version: packageJson.version,
        since: STARTED_AT,
        oauth: smartUrls(publicUrl),
      }
      const text = JSON.stringify(capabilityStatement(describedTypes, definition))
      return replyWithCacheableText(text, 'application/fhir+json; charset=utf-8', {
        'cache-control': 'public, max-age=3600',
        'access-control-allow-origin': '*',
      })
    },
  }),
]
