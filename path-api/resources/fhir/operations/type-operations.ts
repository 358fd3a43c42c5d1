import { Type } from '@sinclair/typebox'
import { resourceTypes } from '../../../../fhir/resource-types.ts'
import type { ResourceType } from '../../../../fhir/sources/resource-source.ts'
import { STRUCTURES } from '../../../../records/fhir/elements.ts'
import type { FhirResource } from '../../../../records/fhir/mapping.ts'
import { ServiceError } from '../../../../schemas/errors.ts'
import type { Context } from '../../../operation/context.ts'
import { defineOperation, type Operation } from '../../../operation/operation.ts'
import type { RawContent } from '../../../reply/body-media.ts'
import {
  fhirOperation,
  operationPartsOf,
  replyWithBundle,
  requireResource,
  resourceBody,
  searchParametersOf,
  sentFhirJson,
  withPost,
} from '../fhir-operation.ts'

const VALIDATION_MODES = ['create', 'update', 'delete'] as const
type ValidationMode = (typeof VALIDATION_MODES)[number]

const modeField = Type.Optional(
  Type.Unsafe<ValidationMode>({
    type: 'string',
    enum: VALIDATION_MODES,
    examples: ['create'],
    description: 'Kind of the write: create, update or delete',
  }),
)

const profileField = Type.Optional(
  Type.String({
    description: 'Profile that the resource must have',
    examples: ['http://hl7.org/fhir/StructureDefinition/bodyweight'],
  }),
)

interface SentValidation {
  mode: ValidationMode
  resource: FhirResource | undefined
  profile?: string | undefined
}

/** The resource with the profile. The write refuses a profile that the service does not support for it. */
function claimProfile({ resource, profile }: SentValidation): FhirResource | undefined {
  if (!resource || profile === undefined || profile === `${STRUCTURES}/${resource.resourceType}`)
    return resource
  const meta = (resource.meta ?? {}) as { profile?: unknown }
  return { ...resource, meta: { ...meta, profile: [...new Set([meta.profile ?? []].flat()), profile] } }
}

/** The resource and the mode in a body, which may be a resource of Parameters. @throws InvalidInput */
function sentValidation(body: RawContent, type: string, mode: ValidationMode): SentValidation {
  if (body.bytes.length === 0 && mode === 'delete') return { mode, resource: undefined }
  const json = sentFhirJson(body)
  const { resourceType, parameter } = (json ?? {}) as FhirResource
  if (resourceType !== 'Parameters') return { mode, resource: requireResource(json, type) }
  const validation: SentValidation = { mode, resource: undefined }
  for (const [i, one] of (Array.isArray(parameter) ? parameter : []).entries()) {
    const {
      name,
      resource,
      valueCode,
      valueUri,
      valueCanonical = valueUri,
    } = (one ?? {}) as Record<string, unknown>
    if (name === 'mode' && VALIDATION_MODES.includes(valueCode as ValidationMode))
      validation.mode = valueCode as ValidationMode
    else if (name === 'profile' && typeof valueCanonical === 'string') validation.profile = valueCanonical
    else if (name === 'resource') validation.resource = requireResource(resource, type)
    else
      throw new ServiceError('InvalidInput', {
        violations: [
          {
            path: `Parameters.parameter[${i}]`,
            code: 'not-supported',
            message: 'must be the resource, its profile, or a mode: create, update or delete',
          },
        ],
      })
  }
  return validation
}

/** The reply to a request that validates a write: the issues that the write would have. */
async function replyWithIssues(
  { type }: ResourceType,
  {
    body,
    id,
    mode,
    profile,
  }: { body: RawContent; id: string | undefined } & Omit<SentValidation, 'resource'>,
  { caller, fhir, fhirPreferences, newId }: Context<'user'>,
) {
  const input = sentValidation(body, type, mode)
  const request = { mode: input.mode, resource: claimProfile({ profile, ...input }) }
  const isLenient = fhirPreferences.handling === 'lenient'
  return replyWithBundle(await fhir.validate(caller, type, { ...request, id, newId: newId(), isLenient }))
}

const LAST_CRITERIA = ['patient', 'subject', 'code', 'category', 'date', 'status', '_format']

/** Operations by name, for the types that have them. */
const TYPE_OPERATIONS: Readonly<Record<string, (resourceType: ResourceType) => Operation[]>> = {
  validate: (resourceType) => {
    const { typePath, path, params, one } = operationPartsOf(resourceType)
    const common = {
      ...fhirOperation,
      method: 'post',
      query: { mode: modeField, profile: profileField },
      description:
        'Checks all that the write checks, such as rights and rules, and stores nothing. The OperationOutcome has its issues.',
      body: resourceBody(resourceType.type),
      reply: [200, resourceBody('OperationOutcome')],
    } as const
    return [
      defineOperation({
        ...common,
        id: `validateFhir${resourceType.type}`,
        path: `${typePath}/$validate`,
        summary: `Check whether ${one} could be written`,
        access: 'user',
        handle: ({ query: { mode = 'create', profile }, body }, context) =>
          replyWithIssues(resourceType, { body, id: undefined, mode, profile }, context),
      }),
      defineOperation({
        ...common,
        id: `validateFhir${resourceType.type}Change`,
        path: `${path}/$validate`,
        params,
        summary: `Check whether ${one} could be changed or deleted`,
        access: 'record',
        errors: ['Gone'],
        handle: ({ params: { id }, query: { mode = 'update', profile }, body }, context) =>
          replyWithIssues(resourceType, { body, id: String(id), mode, profile }, context),
      }),
    ]
  },
  lastn: (resourceType) => {
    const { typePath } = operationPartsOf(resourceType)
    const criteria = Object.entries(searchParametersOf(resourceType)).filter(([name]) =>
      LAST_CRITERIA.includes(name),
    )
    const max = Type.Optional(
      Type.String({ description: 'Number of resources of each code, at most 100', examples: ['1'] }),
    )
    return withPost(
      defineOperation({
        ...fhirOperation,
        id: `listLastFhir${resourceType.type}s`,
        method: 'get',
        path: `${typePath}/$lastn`,
        query: { max, ...Object.fromEntries(criteria) },
        summary: `List the newest ${resourceType.plural} of each code`,
        description: 'Returns those of one patient, which must be named.',
        access: 'user',
        reply: [200, resourceBody('Bundle')],
        errors: ['ContentTooLarge'],
        handle: async ({ query }, { caller, fhir }) =>
          replyWithBundle(await fhir.lastOfEachCode(caller, resourceType.type, query)),
      }),
    )
  },
}

export const fhirTypeOperations: readonly Operation[] = resourceTypes.flatMap((resourceType) =>
  Object.keys(resourceType.operations ?? {}).flatMap((name) => TYPE_OPERATIONS[name]?.(resourceType) ?? []),
)
