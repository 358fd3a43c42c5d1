import { Type } from '@sinclair/typebox'
import { resourceTypes } from '../../../fhir/resource-types.ts'
import { RESULT_PARAMETERS } from '../../../fhir/search/parse-search.ts'
import type { Interaction, ResourceType } from '../../../fhir/sources/resource-source.ts'
import { defineOperation, type Operation } from '../../operation/operation.ts'
import { formBody } from '../../reply/body-media.ts'
import {
  FHIR_PATH,
  fhirOperation,
  includeParametersOf,
  operationPartsOf,
  patientField,
  replyWithBundle,
  replyWithContent,
  replyWithResource,
  resourceBody,
  resultParameters,
  searchParametersOf,
  versionField,
} from './fhir-operation.ts'
import { WRITE_OPERATIONS } from './write-operations.ts'

const { _count, _cursor, _format, _summary, _elements, _since } = resultParameters
const pageParameters = { _count, _cursor, _format }

/** The common part of the histories of a type and of all types. */
const historyOperation = {
  method: 'get',
  query: { ...pageParameters, _since, patient: Type.Optional(patientField) },
  description:
    'Returns the versions that you may read, newest first, at most 100 in a page. Without a patient it covers your patients, at most 20.',
  access: 'user',
  reply: [200, resourceBody('Bundle')],
} as const

const FORM_OPTIONS = { additionalProperties: true, description: 'Parameters' }

/** Parameters of the URL and of the form. All conditions of both hold; of other parameters, that of the form. */
const joinParameters = (ofUrl: object, ofForm: object): Record<string, unknown> => {
  const parameters: Record<string, unknown> = { ...ofUrl, ...ofForm }
  for (const [name, values] of Object.entries(ofUrl))
    if (Object.hasOwn(ofForm, name) && !RESULT_PARAMETERS.includes(name))
      parameters[name] = [values, ofForm[name as keyof typeof ofForm]].flat()
  return parameters
}

/** The operations that read resources of a type. */
const READ_OPERATIONS: Partial<Record<Interaction, (resourceType: ResourceType) => Operation[]>> = {
  read: (resourceType) => {
    const { path, params, one } = operationPartsOf(resourceType)
    return [
      defineOperation({
        ...fhirOperation,
        id: `readFhir${resourceType.type}`,
        method: 'get',
        path,
        params,
        query: { _format, _summary, _elements },
        summary: `Get ${one}`,
        access: resourceType.readers ?? 'record',
        reply: [200, resourceBody(resourceType.type, resourceType.contentTypes), 'versioned'],
        errors: ['Gone'],
        handle: async ({ params: { id }, query }, { caller, fhir, accepted }) =>
          resourceType.contentTypes?.includes(accepted)
            ? replyWithContent(await fhir.readContent(caller, resourceType.type, String(id)))
            : replyWithResource(await fhir.read(caller, resourceType.type, String(id), query)),
      }),
    ]
  },
  vread: (resourceType) => {
    const { path, params, one } = operationPartsOf(resourceType)
    return [
      defineOperation({
        ...fhirOperation,
        id: `readFhir${resourceType.type}Version`,
        method: 'get',
        path: `${path}/_history/{versionId}`,
        params: { ...params, versionId: versionField },
        summary: `Get a version of ${one}`,
        access: 'record',
        reply: [200, resourceBody(resourceType.type), 'versioned'],
        errors: ['Gone'],
        handle: async ({ params: pathParameters }, { caller, fhir }) =>
          replyWithResource(
            await fhir.readVersion(
              caller,
              resourceType.type,
              String(pathParameters.id),
              pathParameters.versionId,
            ),
          ),
      }),
    ]
  },
  'history-instance': (resourceType) => {
    const { path, params, one } = operationPartsOf(resourceType)
    return [
      defineOperation({
        ...fhirOperation,
        id: `listFhir${resourceType.type}Versions`,
        method: 'get',
        path: `${path}/_history`,
        params,
        query: { ...pageParameters, _since },
        summary: `List the versions of ${one}`,
        access: 'record',
        reply: [200, resourceBody('Bundle')],
        handle: async ({ params: { id }, query }, { caller, fhir }) =>
          replyWithBundle(await fhir.history(caller, resourceType.type, String(id), query)),
      }),
    ]
  },
  'history-type': (resourceType) => {
    const { typePath } = operationPartsOf(resourceType)
    return [
      defineOperation({
        ...fhirOperation,
        ...historyOperation,
        id: `listFhir${resourceType.type}Changes`,
        path: `${typePath}/_history`,
        summary: `List the versions of ${resourceType.plural}`,
        handle: async ({ query }, { caller, fhir }) =>
          replyWithBundle(await fhir.changes(caller, resourceType.type, query)),
      }),
    ]
  },
  'search-type': (resourceType) => {
    const { typePath } = operationPartsOf(resourceType)
    const query = { ...searchParametersOf(resourceType), ...includeParametersOf(resourceType, resourceTypes) }
    const common = {
      ...fhirOperation,
      summary: `Search for ${resourceType.plural}`,
      access: resourceType.readers ?? 'user',
      reply: [200, resourceBody('Bundle')],
      errors: resourceType.searchErrors ?? [],
    } as const
    return [
      defineOperation({
        ...common,
        id: `searchFhir${resourceType.type}`,
        method: 'get',
        path: typePath,
        query,
        openQuery: true,
        handle: async ({ query: parameters }, { caller, fhir, fhirPreferences }) =>
          replyWithBundle(await fhir.search(caller, resourceType.type, parameters, fhirPreferences.handling)),
      }),
      defineOperation({
        ...common,
        id: `searchFhir${resourceType.type}ByForm`,
        method: 'post',
        path: `${typePath}/_search`,
        openQuery: true,
        description: 'The same search with a form, so that URLs contain no patient data.',
        // openapi-generator's Java client has a variable "entity" where it sends a form.
        body: formBody(Type.Omit(Type.Object(query), ['entity'], FORM_OPTIONS)),
        handle: async ({ query: parameters, body }, { caller, fhir, fhirPreferences }) =>
          replyWithBundle(
            await fhir.search(
              caller,
              resourceType.type,
              joinParameters(parameters, body),
              fhirPreferences.handling,
            ),
          ),
      }),
    ]
  },
}

export const fhirResourceOperations: readonly Operation[] = [
  defineOperation({
    ...fhirOperation,
    ...historyOperation,
    id: 'listFhirChanges',
    path: `${FHIR_PATH}/_history`,
    summary: 'List the versions of all resources',
    handle: async ({ query }, { caller, fhir }) =>
      replyWithBundle(await fhir.changes(caller, undefined, query)),
  }),
  ...resourceTypes.flatMap((resourceType) =>
    resourceType.interactions.flatMap(
      (interaction) =>
        READ_OPERATIONS[interaction]?.(resourceType) ??
        WRITE_OPERATIONS[interaction]?.(resourceType, operationPartsOf(resourceType)) ??
        [],
    ),
  ),
]
