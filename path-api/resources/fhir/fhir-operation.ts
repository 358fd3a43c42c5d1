import { Type } from '@sinclair/typebox'
import { parameterError } from '../../../fhir/outcome/issue.ts'
import { type Include, includeName, knownIncludes } from '../../../fhir/search/includes.ts'
import type { ResourceContent, ResourceType } from '../../../fhir/sources/resource-source.ts'
import { formatFhirJson, mayHaveDecimals, parseFhirJson } from '../../../records/fhir/decimal.ts'
import { elementAt, isElement } from '../../../records/fhir/element-paths.ts'
import type { FhirResource } from '../../../records/fhir/mapping.ts'
import { withArticle } from '../../../schemas/common.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Context } from '../../operation/context.ts'
import type { Operation } from '../../operation/operation.ts'
import { describedBody, type RawContent } from '../../reply/body-media.ts'
import { malformedInput } from '../../reply/invalid-input.ts'
import { replyWith } from '../../reply/reply.ts'

export const FHIR_PATH = '/fhir/R4'

/** The common part of all operations of the FHIR API. */
export const fhirOperation = { source: 'FHIR R4', extra: true, api: 'fhir' } as const

const MEDIA_TYPES = ['application/fhir+json', 'application/json', 'application/json+fhir'] as const

export const resourceSchema = (type: string) =>
  Type.Unsafe<object>({
    type: 'object',
    additionalProperties: true,
    description: `FHIR R4 ${type}`,
    properties: { resourceType: { type: 'string', enum: [type], description: 'Type of the resource' } },
    required: ['resourceType'],
  })

/** A body or reply that is a resource of this type. @param contentTypes of the content that it may have instead */
export function resourceBody(type: string, contentTypes: readonly string[] = []) {
  const [first = '', ...otherTypes] = [...contentTypes, ...MEDIA_TYPES]
  return describedBody(resourceSchema(type), first, ...otherTypes)
}

export const resourceIdField = (type: string, example: string) =>
  Type.String({ pattern: '^[A-Za-z0-9.-]{1,64}$', description: `Id of the ${type}`, examples: [example] })

export const versionField = Type.String({
  pattern: '^[A-Za-z0-9.-]{1,64}$',
  description: 'Version of the resource',
  examples: ['1'],
})

/** A parameter of a search, which may be repeated. */
const searchField = (description: string, example: string) =>
  Type.Unsafe<string | string[]>({
    documented: { type: 'string' },
    description,
    examples: [example],
  })

/** Patients of an operation that is not a search. */
export const patientField = searchField('Patient: the id of an EHR', 'Patient/e5RtGb81Xz')

/** The parameters by which clients choose the form of results. */
export const resultParameters = {
  _since: Type.Optional(searchField('Only versions from this time on', '2026-03-01T08:30:00Z')),
  _type: Type.Optional(searchField('Only resources of these types', 'Observation,Condition')),
  _count: Type.Optional(searchField('Maximum number of resources in a page, at most 1,000', '20')),
  _sort: Type.Optional(searchField('Order; a minus before the parameter reverses it', '-date')),
  _total: Type.Optional(searchField('Count all matches: accurate, or none', 'accurate')),
  _summary: Type.Optional(searchField('Extent of the resources: true, text, data, count or false', 'false')),
  _elements: Type.Optional(searchField('Names of the elements to show', 'status')),
  _cursor: Type.Optional(searchField('Position of a page, from the link next', 'WzE3Nzk5NSwiYSJd')),
  _format: Type.Optional(searchField('Media type of the response', 'json')),
}

/** Parameters that FHIR allows in every request. The service writes JSON in one line, however it is asked. */
const generalParameters = {
  _format: resultParameters._format,
  _pretty: Type.Optional(searchField('Indentation of the response, which the service ignores', 'false')),
}

/** A filter that an export does not know would be missing in its files, so that they have too much. */
const isExport = ({ path }: Operation): boolean => path.endsWith('/$export')

/**
 * An operation with the parameters that every request may have. One that reads ignores unknown parameters, unless the
 * client prefers that it refuses them.
 */
export function withGeneralParameters(operation: Operation): Operation {
  const properties = { ...generalParameters, ...operation.query.properties }
  const isOpen = operation.query.additionalProperties === true
  const ignoresUnknown = !isOpen && operation.method === 'get' && !isExport(operation)
  return {
    ...operation,
    query: Type.Object(properties, { additionalProperties: isOpen || ignoresUnknown }),
    ...(ignoresUnknown && {
      openQuery: true,
      handle: (input, context) =>
        operation.handle({ ...input, query: knownParameters(input.query, properties, context) }, context),
    }),
  }
}

/** @throws InvalidInput for unknown parameters, if the client prefers that */
function knownParameters(query: object, properties: object, { fhirPreferences }: Context): object {
  const unknown = Object.keys(query).find((name) => !Object.hasOwn(properties, name))
  if (unknown === undefined) return query
  if (fhirPreferences.handling === 'strict')
    throw parameterError(unknown, 'not-supported', 'is not a parameter of this operation')
  return Object.fromEntries(Object.entries(query).filter(([name]) => Object.hasOwn(properties, name)))
}

/** The values in a resource of Parameters, by their names. @throws InvalidInput for names that the operation does not have */
function valuesInParameters(body: RawContent, allowedParameters: object): Record<string, string[]> {
  if (body.bytes.length === 0) return {}
  const { parameter = [] } = sentResource(body, 'Parameters')
  const values: Record<string, string[]> = {}
  for (const [i, one] of (Array.isArray(parameter) ? parameter : []).entries()) {
    const { name, ...rest } = (one ?? {}) as Record<string, unknown>
    const [, value] = Object.entries(rest).find(([key]) => key.startsWith('value')) ?? []
    const text = elementAt(value, 'reference') ?? value
    const isScalar = ['string', 'number', 'boolean'].includes(typeof text)
    if (typeof name !== 'string' || !Object.hasOwn(allowedParameters, name) || !isScalar)
      throw parameterError(
        `Parameters.parameter[${i}]`,
        'not-supported',
        'must be a parameter of the operation',
      )
    values[name] = [...(values[name] ?? []), String(text)]
  }
  return values
}

/** An operation by GET, and the same by POST with a resource of Parameters. */
export const withPost = (operation: Operation): Operation[] => [
  operation,
  {
    ...operation,
    id: `${operation.id}ByParameters`,
    method: 'post',
    body: resourceBody('Parameters'),
    handle: ({ params, query, body }, context) => {
      const values = valuesInParameters(body as RawContent, operation.query.properties)
      const single = Object.entries(values).map(([name, texts]) => [
        name,
        texts.length > 1 ? texts : texts[0],
      ])
      return operation.handle(
        { params, query: { ...query, ...Object.fromEntries(single) }, body: undefined },
        context,
      )
    },
  },
]

const utf8 = new TextDecoder()

/** The JSON of a body, with the digits of its decimals. */
export function sentFhirJson({ json, bytes }: RawContent): unknown {
  if (json === undefined) return undefined
  const text = utf8.decode(bytes)
  return mayHaveDecimals(text) ? parseFhirJson(text) : json
}

/** The resource in a body. @throws MalformedRequest; InvalidInput for another type */
export const sentResource = (body: RawContent, type: string): FhirResource =>
  requireResource(sentFhirJson(body), type)

/** @throws MalformedRequest for anything but a resource; InvalidInput for one of another type */
export function requireResource(value: unknown, type: string): FhirResource {
  if (!isElement(value)) throw malformedInput('body', '', 'type', 'must be a resource in JSON')
  const resource = value as FhirResource
  if (resource.resourceType === type) return resource
  throw new ServiceError('InvalidInput', {
    violations: [{ path: 'resourceType', code: 'enum', message: `must be ${type}` }],
  })
}

const fhirEtag = (version: string): string => `W/"${version}"`

const metaOf = ({ meta }: FhirResource) => (meta ?? {}) as { versionId?: string; lastUpdated?: string }

/** A reply with a resource; one that has versions has an ETag. */
export function replyWithResource(resource: FhirResource, headers: Readonly<Record<string, string>> = {}) {
  const { versionId = '', lastUpdated } = metaOf(resource)
  return replyWith(formatFhirJson(resource), {
    version: versionId,
    headers: {
      'content-type': 'application/fhir+json; charset=utf-8',
      ...(versionId !== '' && { etag: fhirEtag(versionId) }),
      ...(lastUpdated !== undefined && { 'last-modified': new Date(lastUpdated).toUTCString() }),
      ...headers,
    },
  })
}

/** A reply with the content that a resource wraps. */
export const replyWithContent = ({ type, content, versionId, lastUpdated }: ResourceContent) =>
  replyWith(content, {
    version: versionId,
    headers: {
      'content-type': type,
      vary: 'Accept',
      etag: fhirEtag(versionId),
      'last-modified': new Date(lastUpdated).toUTCString(),
    },
  })

/** A reply with a Bundle or another resource without versions. */
export const replyWithBundle = (bundle: FhirResource) =>
  replyWith(formatFhirJson(bundle), { headers: { 'content-type': 'application/fhir+json; charset=utf-8' } })

const EXAMPLE_ID = 'm4RtYu78Io'

/** The common part of the operations of one resource type. */
export const operationPartsOf = ({ type }: ResourceType) => ({
  typePath: `${FHIR_PATH}/${type}`,
  path: `${FHIR_PATH}/${type}/{id}` as const,
  params: { id: resourceIdField(type, EXAMPLE_ID) },
  one: withArticle(type),
})

const { _since, _type, ...searchResultParameters } = resultParameters

export const searchParametersOf = ({ parameters }: ResourceType) => ({
  ...Object.fromEntries(
    Object.entries(parameters).map(([name, { description }]) => [
      name,
      Type.Optional(searchField(description, EXAMPLE_VALUES[name] ?? 'final')),
    ]),
  ),
  ...searchResultParameters,
})

/** The parameters by which a search includes other resources, with their values. */
export function includeParametersOf(resourceType: ResourceType, types: readonly ResourceType[]) {
  const field = (description: string, includes: readonly Include[]) => {
    const names = [...new Set(includes.map(includeName))]
    return Type.Optional(searchField(`${description}: *, ${names.join(', ')}`, names[0] ?? '*'))
  }
  const { forward, reverse } = knownIncludes(resourceType, types)
  return {
    ...(forward.length > 0 && { _include: field('Resources to include that the matches refer to', forward) }),
    ...(reverse.length > 0 && {
      _revinclude: field('Resources to include that refer to the matches', reverse),
    }),
  }
}

const EXAMPLE_VALUES: Readonly<Record<string, string>> = {
  patient: 'Patient/e5RtGb81Xz',
  subject: 'Patient/e5RtGb81Xz',
  date: 'ge2026-03-01',
  code: 'http://loinc.org|85354-9',
}

export type FhirOperationParts = ReturnType<typeof operationPartsOf>
