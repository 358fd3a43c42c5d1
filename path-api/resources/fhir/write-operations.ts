import { operationOutcome, writeIssues } from '../../../fhir/outcome/issue.ts'
import { parseSearchQuery } from '../../../fhir/requests/bundle-entries.ts'
import type { FhirResources, WrittenResource } from '../../../fhir/requests/fhir-resources.ts'
import { type PatchOperation, PatchSchema, patchViolations } from '../../../fhir/requests/json-patch.ts'
import type { Interaction, ResourceType } from '../../../fhir/sources/resource-source.ts'
import { formatFhirJson } from '../../../records/fhir/decimal.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'
import type { Context } from '../../operation/context.ts'
import { defineOperation, type Operation } from '../../operation/operation.ts'
import { describedBody, type RawContent } from '../../reply/body-media.ts'
import { InvalidInput, locateViolation } from '../../reply/invalid-input.ts'
import { replyWith } from '../../reply/reply.ts'
import {
  type FhirOperationParts,
  fhirOperation,
  replyWithResource,
  resourceBody,
  searchParametersOf,
  sentFhirJson,
  sentResource,
} from './fhir-operation.ts'

type WriteContext = Context<'user'>

/** Collects the paths of the elements that a lenient write drops. */
function droppedElementCollector({ fhirPreferences }: WriteContext) {
  const paths: string[] = []
  const onDropped = (droppedPaths: readonly string[]) => void paths.push(...droppedPaths)
  return { paths, options: { onDropped: fhirPreferences.handling === 'lenient' ? onDropped : undefined } }
}

/** The response to a write, with as much as the client prefers; dropped elements are always reported. */
function replyToWrite(
  { resource, created }: WrittenResource,
  { fhirPreferences, fhir }: { fhirPreferences: WriteContext['fhirPreferences']; fhir: FhirResources },
  droppedPaths: readonly string[],
) {
  const location = fhir.urlOf(resource)
  // A client that found the resource by If-None-Exist learns its id as well.
  const { head } = replyWithResource(resource, created ? {} : { 'content-location': location })
  const preference = fhirPreferences.return
  const isOutcome = droppedPaths.length > 0 || preference === 'OperationOutcome'
  const body = isOutcome ? operationOutcome(writeIssues(droppedPaths)) : resource
  return replyWith(formatFhirJson(body), {
    ...head,
    created,
    empty: preference === 'minimal',
    ...(created && { location }),
  })
}

const patchBody = describedBody(PatchSchema, 'application/json-patch+json', 'application/json')

/** @throws InvalidInput */
function sentPatch(body: RawContent): PatchOperation[] {
  const json = sentFhirJson(body)
  const violations = patchViolations(json)
  if (violations.length > 0) throw new InvalidInput(violations.map(locateViolation('body')))
  return json as PatchOperation[]
}

const IN_RESOURCE = /^[A-Z]\w*\./

/** Locates the faults of a condition, which is not in the body. @throws InvalidInput */
const locateCondition = (locate: (fault: Violation) => Violation) => (error: unknown) => {
  if (!(error instanceof ServiceError) || error.error !== 'InvalidInput') throw error
  if (error.violations.some(({ path }) => IN_RESOURCE.test(path))) throw error
  throw new InvalidInput(error.violations.map(locate))
}

const inQuery = locateCondition(locateViolation('query'))
const inIfNoneExist = locateCondition(({ code, path, message }) =>
  locateViolation('header')({ code, path: 'If-None-Exist', message: `has a fault: ${path} ${message}` }),
)

const ERRORS = ['RuleViolated', 'Conflict', 'Gone'] as const

/** The operations that write resources of a type. */
export const WRITE_OPERATIONS: Partial<
  Record<Interaction, (resourceType: ResourceType, parts: FhirOperationParts) => Operation[]>
> = {
  create: (resourceType, { typePath, one }) => [
    defineOperation({
      ...fhirOperation,
      id: `createFhir${resourceType.type}`,
      method: 'post',
      path: typePath,
      summary: `Create ${one}`,
      description:
        'With If-None-Exist, a resource that the search finds is returned in place of a new one. Elements that the ' +
        'service does not keep are refused; with `Prefer: handling=lenient` they are left out, and the response names them.',
      access: resourceType.readers ?? 'user',
      body: resourceBody(resourceType.type),
      reply: [200, resourceBody(resourceType.type), 'versioned'],
      creates: true,
      errors: [...ERRORS, 'PreconditionFailed', 'Forbidden', 'NotFound'],
      handle: async ({ body }, context) => {
        const { caller, fhir, fhirPreferences, newId } = context
        const { paths, options } = droppedElementCollector(context)
        const { ifNoneExist: condition } = fhirPreferences
        const ifNoneExist = condition === undefined ? undefined : parseSearchQuery(condition)
        const resource = sentResource(body, resourceType.type)
        const creation = fhir.create(caller, resource, newId(), { ...options, ifNoneExist })
        const result = await creation.catch(inIfNoneExist)
        return replyToWrite(result, context, paths)
      },
    }),
  ],
  update: (resourceType, { typePath, path, params, one }) => [
    defineOperation({
      ...fhirOperation,
      id: `updateFhir${resourceType.type}`,
      method: 'put',
      path,
      params,
      summary: `Replace ${one}`,
      access: resourceType.readers ?? 'record',
      body: resourceBody(resourceType.type),
      reply: [200, resourceBody(resourceType.type), 'versioned'],
      errors: [...ERRORS, 'IdMismatch'],
      handle: async ({ params: { id }, body }, context) => {
        const { paths, options } = droppedElementCollector(context)
        const { caller, fhir, ifMatch: expected } = context
        const resource = sentResource(body, resourceType.type)
        return replyToWrite(
          await fhir.update(caller, String(id), resource, { ...options, expected }),
          context,
          paths,
        )
      },
    }),
    defineOperation({
      ...fhirOperation,
      id: `updateFoundFhir${resourceType.type}`,
      method: 'put',
      path: typePath,
      summary: `Replace the ${resourceType.type} that a search finds, or create it`,
      access: resourceType.readers ?? 'user',
      query: searchParametersOf(resourceType),
      openQuery: true,
      body: resourceBody(resourceType.type),
      reply: [200, resourceBody(resourceType.type), 'versioned'],
      creates: true,
      errors: [...ERRORS, 'IdMismatch', 'Forbidden', 'NotFound'],
      handle: async ({ query, body }, context) => {
        const { caller, fhir, ifMatch: expected, newId } = context
        const { paths, options } = droppedElementCollector(context)
        const resource = sentResource(body, resourceType.type)
        const update = fhir.updateFound(caller, resource, query, newId(), { ...options, expected })
        return replyToWrite(await update.catch(inQuery), context, paths)
      },
    }),
  ],
  patch: (resourceType, { typePath, path, params, one }) => {
    const common = {
      ...fhirOperation,
      method: 'patch',
      body: patchBody,
      reply: [200, resourceBody(resourceType.type), 'versioned'],
    } as const
    return [
      defineOperation({
        ...common,
        id: `patchFhir${resourceType.type}`,
        path,
        params,
        summary: `Update ${one} by a JSON Patch`,
        access: resourceType.readers ?? 'record',
        errors: [...ERRORS, 'IdMismatch'],
        handle: async ({ params: { id }, body }, context) => {
          const { caller, fhir, ifMatch: expected } = context
          const { paths, options } = droppedElementCollector(context)
          const one = { type: resourceType.type, id: String(id) }
          const result = await fhir.patch(caller, one, sentPatch(body), { ...options, expected })
          return replyToWrite(result, context, paths)
        },
      }),
      defineOperation({
        ...common,
        id: `patchFoundFhir${resourceType.type}`,
        path: typePath,
        summary: `Update the ${resourceType.type} that a search finds by a JSON Patch`,
        access: resourceType.readers ?? 'user',
        query: searchParametersOf(resourceType),
        openQuery: true,
        errors: [...ERRORS, 'IdMismatch', 'Forbidden', 'NotFound'],
        handle: async ({ query, body }, context) => {
          const { caller, fhir, ifMatch: expected } = context
          const { paths, options } = droppedElementCollector(context)
          const conditions = { ...options, expected }
          const patch = fhir.patchFound(caller, resourceType.type, query, sentPatch(body), conditions)
          const result = await patch.catch(inQuery)
          return replyToWrite(result, context, paths)
        },
      }),
    ]
  },
  delete: (resourceType, { typePath, path, params, one }) => [
    defineOperation({
      ...fhirOperation,
      id: `deleteFhir${resourceType.type}`,
      method: 'delete',
      path,
      params,
      summary: `Delete ${one}`,
      access: resourceType.readers ?? 'record',
      reply: [204],
      errors: ['Conflict', 'RuleViolated'],
      handle: async ({ params: { id } }, { caller, fhir, ifMatch: expected }) =>
        fhir.remove(caller, resourceType.type, String(id), { expected }),
    }),
    defineOperation({
      ...fhirOperation,
      id: `deleteFoundFhir${resourceType.type}`,
      method: 'delete',
      path: typePath,
      summary: `Delete the ${resourceType.type} that a search finds`,
      access: resourceType.readers ?? 'user',
      query: searchParametersOf(resourceType),
      openQuery: true,
      reply: [204],
      errors: ['Conflict', 'RuleViolated', 'Forbidden', 'NotFound'],
      handle: async ({ query }, { caller, fhir, ifMatch: expected }) =>
        fhir.removeFound(caller, resourceType.type, query, { expected }),
    }),
  ],
}
