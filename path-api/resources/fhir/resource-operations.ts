import { Type } from '@sinclair/typebox'
import { resourceTypes } from '../../../fhir/resource-types.ts'
import type { Interaction, ResourceType } from '../../../fhir/resources/resource-source.ts'
import { withArticle } from '../../../schemas/common.ts'
import { defineOperation, type Operation } from '../../operation/operation.ts'
import { formBody } from '../../reply/body-media.ts'
import {
  FHIR_PATH,
  fhirOperation,
  replyWithBundle,
  replyWithResource,
  resourceBody,
  resourceIdField,
  resultParameters,
  searchField,
  versionField,
} from './fhir-operation.ts'

const EXAMPLE_ID = 'm4RtYu78Io'

/** What the operations of one resource type share. */
const commonOf = ({ type }: ResourceType) => ({
  typePath: `${FHIR_PATH}/${type}`,
  path: `${FHIR_PATH}/${type}/{id}` as const,
  params: { id: resourceIdField(type, EXAMPLE_ID) },
  one: withArticle(type),
})

const searchParametersOf = ({ parameters }: ResourceType) => ({
  ...Object.fromEntries(
    Object.entries(parameters).map(([name, { description }]) => [
      name,
      Type.Optional(searchField(description, EXAMPLE_VALUES[name] ?? 'final')),
    ]),
  ),
  ...resultParameters,
})

const EXAMPLE_VALUES: Readonly<Record<string, string>> = {
  patient: 'Patient/e5RtGb81Xz',
  subject: 'Patient/e5RtGb81Xz',
  date: 'ge2026-03-01',
  code: 'http://loinc.org|85354-9',
}

const { _count, _cursor } = resultParameters
const pageParameters = { _count, _cursor }

/** The operations of a resource type by interaction. */
const OPERATIONS: Partial<Record<Interaction, (of: ResourceType) => Operation[]>> = {
  read: (of) => {
    const { path, params, one } = commonOf(of)
    return [
      defineOperation({
        ...fhirOperation,
        id: `readFhir${of.type}`,
        method: 'get',
        path,
        params,
        summary: `Read ${one}`,
        access: of.readers ?? 'record',
        reply: [200, resourceBody(of.type), 'versioned'],
        errors: ['Gone'],
        handle: async ({ params: { id } }, { caller, fhir }) =>
          replyWithResource(await fhir.read(caller, of.type, String(id))),
      }),
    ]
  },
  vread: (of) => {
    const { path, params, one } = commonOf(of)
    return [
      defineOperation({
        ...fhirOperation,
        id: `readFhir${of.type}Version`,
        method: 'get',
        path: `${path}/_history/{versionId}`,
        params: { ...params, versionId: versionField },
        summary: `Read a version of ${one}`,
        access: 'record',
        reply: [200, resourceBody(of.type), 'versioned'],
        errors: ['Gone'],
        handle: async ({ params: given }, { caller, fhir }) =>
          replyWithResource(
            await fhir.readVersion(caller, of.type, String(given.id), Number(given.versionId)),
          ),
      }),
    ]
  },
  'history-instance': (of) => {
    const { path, params, one } = commonOf(of)
    return [
      defineOperation({
        ...fhirOperation,
        id: `listFhir${of.type}Versions`,
        method: 'get',
        path: `${path}/_history`,
        params,
        query: pageParameters,
        summary: `List the versions of ${one}`,
        access: 'record',
        reply: [200, resourceBody('Bundle')],
        handle: async ({ params: { id }, query }, { caller, fhir }) =>
          replyWithBundle(await fhir.history(caller, of.type, String(id), query)),
      }),
    ]
  },
  'search-type': (of) => {
    const { typePath } = commonOf(of)
    const query = searchParametersOf(of)
    const common = {
      ...fhirOperation,
      summary: `Search for ${of.plural}`,
      access: 'user',
      reply: [200, resourceBody('Bundle')],
    } as const
    return [
      defineOperation({
        ...common,
        id: `searchFhir${of.type}`,
        method: 'get',
        path: typePath,
        query,
        openQuery: true,
        handle: async ({ query: parameters }, { caller, fhir, isStrict }) =>
          replyWithBundle(await fhir.search(caller, of.type, parameters, isStrict)),
      }),
      defineOperation({
        ...common,
        id: `searchFhir${of.type}ByForm`,
        method: 'post',
        path: `${typePath}/_search`,
        query,
        openQuery: true,
        description: 'The same search with a form, so that no address contains data of patients.',
        body: formBody(Type.Object(query, { additionalProperties: true, description: 'Parameters' })),
        handle: async ({ query: parameters, body }, { caller, fhir, isStrict }) =>
          replyWithBundle(await fhir.search(caller, of.type, { ...parameters, ...body }, isStrict)),
      }),
    ]
  },
}

export const fhirResourceOperations: readonly Operation[] = resourceTypes.flatMap((of) =>
  of.interactions.flatMap((interaction) => OPERATIONS[interaction]?.(of) ?? []),
)
