import type { FhirResource } from '../../records/fhir/mapping.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import { createOrFindExisting } from '../../records/store/writing/create-or-find-existing.ts'
import { lockCondition } from '../../records/store/writing/ehr-locks.ts'
import {
  runStoreTransaction,
  type StoreContext,
  type Transaction,
} from '../../records/store/writing/transaction.ts'
import { ServiceError } from '../../schemas/errors.ts'
import {
  cutIncludeIssue,
  historyBundle,
  ignoredParameterIssue,
  searchBundle,
  selectElements,
} from '../bundles/result-bundles.ts'
import { findLastOfEachCode } from '../operations/last-observations.ts'
import { patientEverything } from '../operations/patient-everything.ts'
import { patientSummary } from '../operations/patient-summary.ts'
import { validateWrite } from '../operations/write-validation.ts'
import { operationOutcome, parameterError } from '../outcome/issue.ts'
import { listVersions } from '../resources/list-versions.ts'
import { parseIncludes } from '../search/includes.ts'
import {
  isCountOnly,
  parsePage,
  parseSearch,
  parseSince,
  type SearchParameters,
  usedParameters,
} from '../search/parse-search.ts'
import { mayFind, permitTypes } from '../sources/app-limits.ts'
import { conditionKeyOf } from '../sources/condition-key.ts'
import { limitToApp, type SourceMethod } from '../sources/limited-source.ts'
import type { ResourceSearch } from '../sources/resource-search.ts'
import type {
  FhirServices,
  FoundResources,
  Interaction,
  ResourceContent,
  ResourceSource,
  ResourceType,
  ResourceVersion,
  ResourceWrite,
} from '../sources/resource-source.ts'
import { findIncluded } from './included-resources.ts'
import { type PatchOperation, patchResource } from './json-patch.ts'
import { localReferences } from './local-references.ts'
import { requireWhole } from './whole-resources.ts'

/** A resource after a write. */
export interface WrittenResource {
  resource: FhirResource
  created: boolean
}

/** An update of a resource that was missing. */
interface FailedUpdate {
  id: string
  error: ServiceError
}

/** Handles the failure of a write because a resource is missing, maybe since another request has deleted it. */
export const ifMissing =
  <T>(handle: (error: ServiceError) => Promise<T>) =>
  (error: unknown): Promise<T> => {
    if (error instanceof ServiceError && ['NotFound', 'Gone'].includes(error.error)) return handle(error)
    throw error
  }

/** A write to be tried. */
interface ValidationRequest {
  mode: 'create' | 'update' | 'delete'
  id: string | undefined
  /** The id of a new resource. */
  newId: string
  /** undefined for a deletion. */
  resource: FhirResource | undefined
  /** Elements that would be dropped are warnings. */
  isLenient: boolean
}

/** @throws InvalidInput */
function requireResource(resource: FhirResource | undefined): FhirResource {
  if (resource) return resource
  throw parameterError('resource', 'required', 'is required in this mode')
}

const unsupportedError = (type: string, interaction: Interaction) =>
  new ServiceError('MethodNotAllowed', { detail: `${type} does not support ${interaction}.` })

/**
 * An update whose condition matches no resource creates one, unless it expects a version, or names an id.
 * @throws PreconditionFailed; RuleViolated
 */
export function requireCreatableByUpdate(type: string, id: unknown, { expected }: ResourceWrite): void {
  if (expected) throw new ServiceError('PreconditionFailed')
  if (id === undefined) return
  throw new ServiceError('RuleViolated', {
    violations: [
      {
        path: `${type}.id`,
        code: 'not-supported',
        message: 'is given by the service, and no resource matches the condition. Leave it out',
      },
    ],
  })
}

/** The first page of a search, in the usual order. */
const PLAIN_SEARCH = { order: undefined, after: undefined, total: false } as const

/** The resources of FHIR R4: the records of the stores, in their terms. */
export class FhirResources {
  /** The URL of the API, without a slash at its end. */
  readonly base: string
  readonly #types: readonly ResourceType[]
  readonly #context: StoreContext
  readonly #services: FhirServices
  readonly #sources: ReadonlyMap<string, { description: ResourceType; source: ResourceSource }>

  constructor(base: string, types: readonly ResourceType[], services: FhirServices) {
    this.base = base
    this.#types = types
    this.#context = services.context
    this.#services = services
    this.#sources = new Map(
      types.map((description) => [description.type, { description, source: description.open(services) }]),
    )
  }

  /** A type that offers an interaction, and its source. @throws MethodNotAllowed; NotFound for an unknown type */
  #sourceOf(type: string, interaction: Interaction) {
    const typeAndSource = this.#sources.get(type)
    if (!typeAndSource)
      throw new ServiceError('NotFound', { detail: `There are no resources of the type ${type}.` })
    if (!typeAndSource.description.interactions.includes(interaction))
      throw unsupportedError(type, interaction)
    return typeAndSource
  }

  /** A method of a source, restricted to what the app of the caller may do. @throws MethodNotAllowed; NotFound */
  #methodOf<M extends SourceMethod>(type: string, interaction: Interaction, method: M) {
    const { description, source } = this.#sourceOf(type, interaction)
    if (!source[method]) throw unsupportedError(type, interaction)
    const limited = limitToApp(description, interaction, source)
    return { description, perform: limited[method].bind(limited) as NonNullable<ResourceSource[M]> }
  }

  /** The URL of a version of a resource, or of the resource if its versions cannot be read. */
  urlOf({ resourceType, id, meta }: FhirResource): string {
    const url = `${this.base}/${resourceType}/${id}`
    const hasVersions = this.#sources.get(resourceType)?.description.interactions.includes('vread')
    return hasVersions ? `${url}/_history/${(meta as { versionId: string }).versionId}` : url
  }

  /** @throws NotFound; Gone */
  async read(
    caller: Caller,
    type: string,
    id: string,
    parameters: SearchParameters = {},
  ): Promise<FhirResource> {
    const { description, perform } = this.#methodOf(type, 'read', 'read')
    return selectElements(await perform(caller, id), parseSearch(description, parameters))
  }

  /** The content that a resource wraps. @throws NotFound; Gone */
  readContent(caller: Caller, type: string, id: string): Promise<ResourceContent> {
    return this.#methodOf(type, 'read', 'readContent').perform(caller, id)
  }

  /** @throws NotFound; Gone */
  readVersion(caller: Caller, type: string, id: string, version: string): Promise<FhirResource> {
    const { perform } = this.#methodOf(type, 'vread', 'readVersion')
    if (!/^\d{1,9}$/.test(version)) throw new ServiceError('NotFound')
    return perform(caller, id, Number(version))
  }

  /** The versions of a resource, as a Bundle. @throws NotFound */
  async history(
    caller: Caller,
    type: string,
    id: string,
    parameters: SearchParameters,
  ): Promise<FhirResource> {
    const { perform } = this.#methodOf(type, 'history-instance', 'history')
    const since = parseSince(parameters)
    const historyPage = await perform(caller, id, parsePage(parameters))
    const countsOnly = isCountOnly(parameters)
    const isShown = ({ at }: ResourceVersion) => !countsOnly && (!since || new Date(at) >= since)
    const versions = historyPage.versions.filter(isShown)
    const isCut = versions.length < historyPage.versions.length
    const rest = { next: isCut ? null : historyPage.next, ...(!since && { total: historyPage.total }) }
    const path = `${this.base}/${type}/${id}/_history`
    return historyBundle(this.base, path, usedParameters(parameters), versions, rest)
  }

  /** The changes of all resources of a type, or of all types, as a Bundle. @throws InvalidInput */
  async changes(
    caller: Caller,
    type: string | undefined,
    parameters: SearchParameters,
  ): Promise<FhirResource> {
    if (isCountOnly(parameters))
      throw parameterError('_count', 'too-costly', 'can be 0 only in the history of one resource')
    const withHistory = this.#types.filter(({ interactions }) => interactions.includes('history-type'))
    const types = type === undefined ? withHistory.map((one) => one.type) : [type]
    const typesAndSources = types.map((one) => this.#sourceOf(one, 'history-type'))
    const descriptions = typesAndSources.map(({ description }) => description)
    const { permittedCaller } = permitTypes(caller, descriptions, type !== undefined)
    const { versions, next } = await listVersions(
      this.#services,
      permittedCaller,
      typesAndSources,
      parameters,
      this.base,
    )
    const path = `${this.base}${type === undefined ? '' : `/${type}`}/_history`
    return historyBundle(this.base, path, usedParameters(parameters), versions, { next })
  }

  /** Searches, and returns a Bundle. @throws InvalidInput */
  async search(
    caller: Caller,
    type: string,
    parameters: SearchParameters,
    handling?: 'strict' | 'lenient',
  ): Promise<FhirResource> {
    const { description, perform } = this.#methodOf(type, 'search-type', 'search')
    const search = parseSearch(description, parameters, { strict: handling === 'strict', base: this.base })
    const descriptionOf = (one: string) => this.#methodOf(one, 'search-type', 'search').description
    const includes = parseIncludes(description, this.#types, parameters, (one) =>
      mayFind(caller, descriptionOf(one)),
    )
    const matches = await perform(caller, search)
    const { resources: included, cut } = await findIncluded(matches.resources, includes, {
      descriptionOf,
      search: (one, criteria, count) => this.#find(caller, one, { ...PLAIN_SEARCH, criteria, count }),
    })
    const issues = [...search.ignoredParameters.map(ignoredParameterIssue), ...cut.map(cutIncludeIssue)]
    return searchBundle(this.base, `${this.base}/${type}`, search, matches, { included, issues })
  }

  /**
   * Creates a resource, unless a search already finds one.
   * @throws RuleViolated; NotFound; Forbidden; PreconditionFailed when the search finds several
   */
  async create(
    caller: Caller,
    resource: FhirResource,
    id: string,
    { ifNoneExist, ...options }: ResourceWrite & { ifNoneExist?: SearchParameters | undefined },
  ): Promise<WrittenResource> {
    const existing = ifNoneExist && (await this.findOne(caller, resource.resourceType, ifNoneExist))
    if (existing) return { resource: existing, created: false }
    if (ifNoneExist) return this.createUnlessFound(caller, resource, id, ifNoneExist, options)
    const { perform } = this.#methodOf(resource.resourceType, 'create', 'create')
    requireWhole(resource)
    const local = localReferences(resource, this.base)
    return { resource: await perform(caller, local, id, options), created: true }
  }

  /** Creates a resource under a lock of its condition, so that simultaneous requests create one resource. */
  async createUnlessFound(
    caller: Caller,
    resource: FhirResource,
    id: string,
    condition: SearchParameters,
    options: ResourceWrite,
  ): Promise<WrittenResource> {
    const { resourceType: type } = resource
    const createIn = async (tx: Transaction): Promise<WrittenResource> => {
      await lockCondition(this.#context, tx, this.conditionKey(type, condition))
      const match = await this.findOne(caller, type, condition)
      if (match) return { resource: match, created: false }
      return this.create(caller, resource, id, { ...options, tx })
    }
    if (options.tx) return createIn(options.tx)
    const { admission } = caller
    return createOrFindExisting(
      () => runStoreTransaction(this.#context, createIn, { admission }),
      async () => ({ resource: await this.read(caller, type, id), created: true }),
    )
  }

  /** A transaction may create resources of one group at the same time; undefined: alone. */
  creationGroupOf(resource: FhirResource): string | undefined {
    return this.#sources.get(resource.resourceType)?.source.creationGroupOf?.(resource)
  }

  /** @throws NotFound; Gone; Forbidden; PreconditionFailed; RuleViolated; IdMismatch */
  async update(
    caller: Caller,
    id: string,
    resource: FhirResource,
    options: ResourceWrite,
  ): Promise<WrittenResource> {
    const { perform } = this.#methodOf(resource.resourceType, 'update', 'update')
    if (resource.id !== id)
      throw new ServiceError('IdMismatch', {
        violations: [
          {
            path: `${resource.resourceType}.id`,
            code: 'idMismatch',
            message: 'must be the id of the resource to update',
          },
        ],
      })
    requireWhole(resource)
    const local = localReferences(resource, this.base)
    return { resource: await perform(caller, id, local, options), created: false }
  }

  /**
   * Updates the only resource that a search finds, or creates it, unless a version is expected.
   * @param failure of an update of a resource that the search has found
   * @throws as create and update, but not when another request deletes what the search has found
   */
  async updateFound(
    caller: Caller,
    resource: FhirResource,
    query: SearchParameters,
    newId: string,
    options: ResourceWrite,
    failure?: FailedUpdate,
  ): Promise<WrittenResource> {
    const match = await this.findOne(caller, resource.resourceType, query)
    // The resource exists: something else is missing.
    if (failure && match?.id === failure.id) throw failure.error
    if (!match) requireCreatableByUpdate(resource.resourceType, resource.id, options)
    const result = match ? undefined : await this.createUnlessFound(caller, resource, newId, query, options)
    if (result?.created) return result
    const id = String((match ?? result?.resource)?.id)
    return this.update(caller, id, { ...resource, id: resource.id ?? id }, options).catch(
      ifMissing((error) => this.updateFound(caller, resource, query, newId, options, { id, error })),
    )
  }

  /** Changes a resource by a JSON Patch. @throws as update */
  async patch(
    caller: Caller,
    { type, id }: { type: string; id: string },
    patch: readonly PatchOperation[],
    options: ResourceWrite,
  ): Promise<WrittenResource> {
    this.#methodOf(type, 'patch', 'update')
    const currentResource = await this.#methodOf(type, 'patch', 'read').perform(caller, id)
    const { versionId } = currentResource.meta as { versionId: string }
    const { expected = [Number(versionId)] } = options
    const resource = patchResource(currentResource, patch)
    if (resource.resourceType !== type)
      throw parameterError(`${type}.resourceType`, 'not-supported', 'cannot change')
    return this.update(caller, id, resource, { ...options, expected })
  }

  /** Changes the only resource that a search finds. @throws NotFound; as patch */
  async patchFound(
    caller: Caller,
    type: string,
    query: SearchParameters,
    patch: readonly PatchOperation[],
    options: ResourceWrite,
  ): Promise<WrittenResource> {
    const match = await this.findOne(caller, type, query)
    if (!match) throw new ServiceError('NotFound')
    return this.patch(caller, { type, id: String(match.id) }, patch, options)
  }

  /** Deletes a resource; one that is already deleted stays so. @throws NotFound; Forbidden; PreconditionFailed */
  async remove(caller: Caller, type: string, id: string, options: ResourceWrite): Promise<void> {
    const { perform } = this.#methodOf(type, 'delete', 'remove')
    await perform(caller, id, options).catch((error) => {
      if (!(error instanceof ServiceError) || error.error !== 'Gone') throw error
    })
  }

  /** Deletes the only resource that a search finds, if there is one. @throws as remove */
  async removeFound(
    caller: Caller,
    type: string,
    query: SearchParameters,
    options: ResourceWrite,
  ): Promise<void> {
    const match = await this.findOne(caller, type, query)
    if (match) await this.remove(caller, type, String(match.id), options)
  }

  /** Searches without a Bundle. @throws as search */
  #find = (caller: Caller, type: string, search: ResourceSearch): Promise<FoundResources> =>
    this.#methodOf(type, 'search-type', 'search').perform(caller, search)

  /** The International Patient Summary, with what the caller may read. @throws NotFound */
  summarise(caller: Caller, id: string): Promise<FhirResource> {
    const search = async (type: string, query: SearchParameters, newestOfCode?: number) => {
      const { description } = this.#methodOf(type, 'search-type', 'search')
      if (!mayFind(caller, description)) return undefined
      if (newestOfCode !== undefined)
        return { resources: await this.#findLast(caller, type, { ...query, max: String(newestOfCode) }) }
      return this.#find(caller, type, parseSearch(description, query, { strict: true }))
    }
    const sources = { base: this.base, readPatient: () => this.read(caller, 'Patient', id), search }
    return patientSummary(id, sources, new Date().toISOString())
  }

  /** A page of all resources of a patient. @throws NotFound; InvalidInput */
  async everything(caller: Caller, id: string, parameters: SearchParameters): Promise<FhirResource> {
    const patientResources = await patientEverything(id, this.#types, parameters, {
      mayFind: (one) => mayFind(caller, one),
      readPatient: () => this.read(caller, 'Patient', id),
      search: (type, search) => this.#find(caller, type, search),
    })
    return this.#resultBundle(`Patient/${id}/$everything`, parameters, patientResources)
  }

  /** The newest resources of each code, as a Bundle. @throws InvalidInput */
  async lastOfEachCode(caller: Caller, type: string, parameters: SearchParameters): Promise<FhirResource> {
    const resources = await this.#findLast(caller, type, parameters)
    return this.#resultBundle(`${type}/$lastn`, parameters, { resources })
  }

  #findLast(caller: Caller, type: string, parameters: SearchParameters): Promise<FhirResource[]> {
    const { description } = this.#methodOf(type, 'search-type', 'search')
    return findLastOfEachCode({ description, base: this.base }, parameters, (search) =>
      this.#find(caller, type, search),
    )
  }

  #resultBundle(path: string, parameters: SearchParameters, matches: FoundResources): FhirResource {
    const used = usedParameters(parameters)
    return searchBundle(this.base, `${this.base}/${path}`, { used, summary: 'false', elements: [] }, matches)
  }

  /** Finds the issues that a write would have, and stores nothing. @throws NotFound; Gone */
  async validate(
    caller: Caller,
    type: string,
    { mode, id, newId, resource, isLenient }: ValidationRequest,
  ): Promise<FhirResource> {
    if (id !== undefined) await this.read(caller, type, id)
    const write = (options: ResourceWrite) => {
      if (mode === 'create') return this.create(caller, requireResource(resource), newId, options)
      const targetId = id ?? resource?.id
      if (typeof targetId !== 'string') throw parameterError('id', 'required', 'is required in this mode')
      return mode === 'delete'
        ? this.remove(caller, type, targetId, options)
        : this.update(caller, targetId, requireResource(resource), options)
    }
    return operationOutcome(await validateWrite(this.#context, write, isLenient))
  }

  /** The same text for the same condition, however a client spells it. @throws InvalidInput */
  conditionKey(type: string, query: SearchParameters): string {
    const { description } = this.#methodOf(type, 'search-type', 'search')
    const { criteria } = parseSearch(description, query, { strict: true, base: this.base })
    return conditionKeyOf(description, criteria)
  }

  /** The only resource that a search finds. @throws PreconditionFailed when it has no criteria, or finds several */
  async findOne(caller: Caller, type: string, query: SearchParameters): Promise<FhirResource | undefined> {
    const { description, perform } = this.#methodOf(type, 'search-type', 'search')
    const search = parseSearch(description, query, { strict: true, base: this.base })
    if (search.criteria.length === 0)
      throw new ServiceError('PreconditionFailed', { detail: 'The condition must have search parameters.' })
    const { resources } = await perform(caller, { ...search, count: 2, total: false, after: undefined })
    const [match, another] = resources
    if (another)
      throw new ServiceError('PreconditionFailed', {
        detail: 'The condition matches several resources. Change it so that it matches one.',
        violations: [
          { path: '', code: 'multiple-matches', message: 'Several resources match the condition' },
        ],
      })
    return match
  }
}
