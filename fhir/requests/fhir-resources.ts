import type { FhirResource } from '../../records/fhir/mapping.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { historyBundle, searchBundle, selectElements } from '../bundles/result-bundles.ts'
import { patientSummary } from '../operations/patient-summary.ts'
import { parsePage, parseSearch, type SearchParameters } from '../search/parse-search.ts'
import { limitToApp } from '../sources/app-limits.ts'
import type {
  FhirServices,
  Interaction,
  ResourceSource,
  ResourceType,
  ResourceWrite,
} from '../sources/resource-source.ts'
import { applyPatch, type PatchOperation } from './json-patch.ts'

/** A resource after a write. */
export interface WrittenResource {
  resource: FhirResource
  created: boolean
}

/** The resources of FHIR R4: the records of the stores, in their terms. */
export class FhirResources {
  /** The address of the API, without a slash at its end. */
  readonly base: string
  readonly #sources: ReadonlyMap<string, { description: ResourceType; source: ResourceSource }>

  constructor(base: string, types: readonly ResourceType[], services: FhirServices) {
    this.base = base
    this.#sources = new Map(
      types.map((description) => [description.type, { description, source: description.open(services) }]),
    )
  }

  /**
   * The method of a type that offers an interaction, restricted to what the app of the caller may do. @throws MethodNotAllowed; NotFound for an unknown type
   */
  #of<M extends keyof ResourceSource>(type: string, interaction: Interaction, method: M) {
    const found = this.#sources.get(type)
    if (!found) throw new ServiceError('NotFound', { detail: `There are no resources of the type ${type}.` })
    const { description, source } = found
    const perform = source[method]?.bind(source) as NonNullable<ResourceSource[M]> | undefined
    if (!perform || !description.interactions.includes(interaction))
      throw new ServiceError('MethodNotAllowed', { detail: `${type} does not support ${interaction}.` })
    return { description, perform: limitToApp(description, interaction, method, source, perform) }
  }

  /** @throws NotFound; Gone */
  async read(
    caller: Caller,
    type: string,
    id: string,
    parameters: SearchParameters = {},
  ): Promise<FhirResource> {
    const { description, perform } = this.#of(type, 'read', 'read')
    return selectElements(await perform(caller, id), parseSearch(description, parameters))
  }

  /** @throws NotFound; Gone */
  readVersion(caller: Caller, type: string, id: string, version: string): Promise<FhirResource> {
    const { perform } = this.#of(type, 'vread', 'readVersion')
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
    const { perform } = this.#of(type, 'history-instance', 'history')
    const { versions, ...rest } = await perform(caller, id, parsePage(parameters))
    return historyBundle(this.base, type, `${type}/${id}/_history`, versions, rest)
  }

  /** Searches, and returns a Bundle. @throws InvalidInput */
  async search(
    caller: Caller,
    type: string,
    parameters: SearchParameters,
    handling?: 'strict' | 'lenient',
  ): Promise<FhirResource> {
    const { description, perform } = this.#of(type, 'search-type', 'search')
    const search = parseSearch(description, parameters, handling === 'strict')
    return searchBundle(this.base, type, search, await perform(caller, search))
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
    const { perform } = this.#of(resource.resourceType, 'create', 'create')
    const existing = ifNoneExist && (await this.findOne(caller, resource.resourceType, ifNoneExist))
    if (existing) return { resource: existing, created: false }
    return { resource: await perform(caller, resource, id, options), created: true }
  }

  /** @throws NotFound; Gone; Forbidden; PreconditionFailed; RuleViolated; IdMismatch */
  async update(
    caller: Caller,
    id: string,
    resource: FhirResource,
    options: ResourceWrite,
  ): Promise<WrittenResource> {
    const { perform } = this.#of(resource.resourceType, 'update', 'update')
    if (resource.id !== id)
      throw new ServiceError('IdMismatch', {
        violations: [
          { path: `${resource.resourceType}.id`, code: 'idMismatch', message: 'must be the id in the path' },
        ],
      })
    return { resource: await perform(caller, id, resource, options), created: false }
  }

  /** Updates the only resource that a search finds, or creates it. @throws as create and update */
  async updateFound(
    caller: Caller,
    resource: FhirResource,
    query: SearchParameters,
    newId: string,
    options: ResourceWrite,
  ): Promise<WrittenResource> {
    const found = await this.findOne(caller, resource.resourceType, query)
    if (!found) return this.create(caller, resource, newId, options)
    const id = String(found.id)
    return this.update(caller, id, { ...resource, id: resource.id ?? id }, options)
  }

  /** Changes a resource by a JSON Patch. @throws as update */
  async patch(
    caller: Caller,
    { type, id }: { type: string; id: string },
    patch: readonly PatchOperation[],
    options: ResourceWrite,
  ): Promise<WrittenResource> {
    this.#of(type, 'patch', 'update')
    const now = await this.#of(type, 'patch', 'read').perform(caller, id)
    const { versionId } = now.meta as { versionId: string }
    const { expected = [Number(versionId)] } = options
    return this.update(caller, id, applyPatch(now, patch), { ...options, expected })
  }

  /** Changes the only resource that a search finds. @throws NotFound; as patch */
  async patchFound(
    caller: Caller,
    type: string,
    query: SearchParameters,
    patch: readonly PatchOperation[],
    options: ResourceWrite,
  ): Promise<WrittenResource> {
    const found = await this.findOne(caller, type, query)
    if (!found) throw new ServiceError('NotFound')
    return this.patch(caller, { type, id: String(found.id) }, patch, options)
  }

  /** Deletes a resource; one that is already deleted stays so. @throws NotFound; Forbidden; PreconditionFailed */
  async remove(caller: Caller, type: string, id: string, options: ResourceWrite): Promise<void> {
    const { perform } = this.#of(type, 'delete', 'remove')
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
    const found = await this.findOne(caller, type, query)
    if (found) await this.remove(caller, type, String(found.id), options)
  }

  /** The International Patient Summary, with what the caller may read. @throws NotFound */
  summarise(caller: Caller, id: string): Promise<FhirResource> {
    const search = async (type: string, query: SearchParameters) => {
      const { description, perform } = this.#of(type, 'search-type', 'search')
      return (await perform(caller, parseSearch(description, query, true))).resources
    }
    const sources = { base: this.base, readPatient: () => this.read(caller, 'Patient', id), search }
    return patientSummary(id, sources, new Date().toISOString())
  }

  /** The only resource that a search finds. @throws PreconditionFailed when it has no criteria, or finds several */
  async findOne(caller: Caller, type: string, query: SearchParameters): Promise<FhirResource | undefined> {
    const { description, perform } = this.#of(type, 'search-type', 'search')
    const search = parseSearch(description, query, true)
    if (search.criteria.length === 0)
      throw new ServiceError('PreconditionFailed', { detail: 'The condition must have search parameters.' })
    const { resources } = await perform(caller, { ...search, count: 2, total: false, after: undefined })
    const [found, another] = resources
    if (another)
      throw new ServiceError('PreconditionFailed', {
        detail: 'The condition fits several resources. Make it fit one.',
      })
    return found
  }
}
