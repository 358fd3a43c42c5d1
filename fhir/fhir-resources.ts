import type { FhirResource } from '../records/fhir/mapping.ts'
import type { Caller } from '../records/store/documents/caller.ts'
import { ServiceError } from '../schemas/errors.ts'
import { historyBundle, searchBundle } from './bundle.ts'
import { resourceTypes } from './resource-types.ts'
import type {
  FhirServices,
  ResourceSource,
  ResourceType,
  ResourceWrite,
} from './resources/resource-source.ts'
import { parsePage, parseSearch, type SearchParameters } from './search/parse-search.ts'

/** The resources of FHIR R4: the records of the stores, in their terms. */
export class FhirResources {
  /** The address of the API, without a slash at its end. */
  readonly base: string
  readonly #sources: ReadonlyMap<string, { description: ResourceType; source: ResourceSource }>

  constructor(base: string, services: FhirServices) {
    this.base = base
    this.#sources = new Map(
      resourceTypes.map((description) => [
        description.type,
        { description, source: description.open(services) },
      ]),
    )
  }

  /** @throws NotFound for a type that is not served */
  #of(type: string) {
    const found = this.#sources.get(type)
    if (!found)
      throw new ServiceError('NotFound', { detail: `This service has no resources of the type ${type}.` })
    return found
  }

  /** @throws NotFound; Gone */
  read(caller: Caller, type: string, id: string): Promise<FhirResource> {
    return this.#of(type).source.read(caller, id)
  }

  /** @throws NotFound; Gone */
  readVersion(caller: Caller, type: string, id: string, version: number): Promise<FhirResource> {
    const { source } = this.#of(type)
    if (!source.readVersion) throw new ServiceError('NotFound')
    return source.readVersion(caller, id, version)
  }

  /** The versions of a resource, as a Bundle. @throws NotFound */
  async history(
    caller: Caller,
    type: string,
    id: string,
    parameters: SearchParameters,
  ): Promise<FhirResource> {
    const { source } = this.#of(type)
    if (!source.history) throw new ServiceError('NotFound')
    const { versions, ...rest } = await source.history(caller, id, parsePage(parameters))
    return historyBundle(this.base, type, `${type}/${id}/_history`, versions, rest)
  }

  /** Searches, and returns a Bundle. @throws InvalidInput */
  async search(
    caller: Caller,
    type: string,
    parameters: SearchParameters,
    strict = false,
  ): Promise<FhirResource> {
    const { description, source } = this.#of(type)
    const search = parseSearch(description, parameters, strict)
    return searchBundle(this.base, type, search, await source.search(caller, search))
  }

  /** @throws RuleViolated; NotFound; Forbidden */
  create(caller: Caller, resource: FhirResource, id: string, options: ResourceWrite): Promise<FhirResource> {
    const { source } = this.#of(resource.resourceType)
    if (!source.create) throw new ServiceError('NotFound')
    return source.create(caller, resource, id, options)
  }

  /** @throws NotFound; Gone; Forbidden; PreconditionFailed; RuleViolated */
  update(caller: Caller, id: string, resource: FhirResource, options: ResourceWrite): Promise<FhirResource> {
    const { source } = this.#of(resource.resourceType)
    if (!source.update) throw new ServiceError('NotFound')
    return source.update(caller, id, resource, options)
  }

  /** @throws NotFound; Gone; Forbidden; PreconditionFailed */
  remove(caller: Caller, type: string, id: string, options: ResourceWrite): Promise<void> {
    const { source } = this.#of(type)
    if (!source.remove) throw new ServiceError('NotFound')
    return source.remove(caller, id, options)
  }
}
