import type { FhirResource } from '../../records/fhir/mapping.ts'
import type { ChangedRecord } from '../../records/history/changes.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import type { PageRequest } from '../../records/store/reading/pages.ts'
import type { AppPermit } from '../../schemas/accounts/app.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { isOfCategory, keepCategories, reachOf, scopeError, withinReach } from './app-limits.ts'
import { criterionOf, type ResourceSearch, type SearchCriteria } from './resource-search.ts'
import type { Interaction, ResourceDescription, ResourceSource, ResourceWrite } from './resource-source.ts'

/** The methods of a source that act for a caller. */
export type SourceMethod = Exclude<
  keyof ResourceSource,
  'collections' | 'partCollections' | 'versionsOf' | 'exportPage' | 'creationGroupOf'
>

/** The caller with the compartment of the app, and the categories that it may reach; undefined: all. */
interface AppLimits {
  caller: Caller
  categories: readonly string[] | undefined
}

/** Whether this is the Patient that the scope fhirUser names. */
const isUser = ({ userEhr }: AppPermit, { type }: ResourceDescription, id: string | undefined): boolean =>
  type === 'Patient' && userEhr !== undefined && userEhr === id

/** A resource of another category looks as if it did not exist. @throws NotFound */
function hideOtherCategories(resource: FhirResource, { categories }: AppLimits): FhirResource {
  if (categories && !isOfCategory(resource, categories)) throw new ServiceError('NotFound')
  return resource
}

/** @throws Forbidden */
function requireCategory(resource: FhirResource, { categories }: AppLimits): void {
  if (categories && !isOfCategory(resource, categories))
    throw scopeError('The app has no scope for resources of this category.')
}

function searchInCategories<S extends SearchCriteria>(search: S, { categories }: AppLimits): S {
  if (!categories) return search
  return { ...search, criteria: [...search.criteria, criterionOf('category', categories)] }
}

/** A source, restricted to what the app of a caller may do with one interaction. Other callers are not restricted. */
class LimitedSource implements Pick<ResourceSource, SourceMethod> {
  readonly #description: ResourceDescription
  readonly #interaction: Interaction
  readonly #source: Required<ResourceSource>

  constructor(description: ResourceDescription, interaction: Interaction, source: ResourceSource) {
    this.#description = description
    this.#interaction = interaction
    // Clients of this class call only methods that the source has.
    this.#source = source as Required<ResourceSource>
  }

  /** @param readId the id of the only resource to read @throws Forbidden */
  #limitsOf(caller: Caller, readId?: string): AppLimits {
    const { app } = caller
    if (!app) return { caller, categories: undefined }
    if (this.#interaction === 'read' && isUser(app, this.#description, readId))
      return { caller: withinReach(caller, app, false), categories: undefined }
    const { isInCompartment, categories } = reachOf(app, this.#description, this.#interaction)
    return { caller: withinReach(caller, app, isInCompartment), categories }
  }

  async read(caller: Caller, id: string) {
    const limits = this.#limitsOf(caller, id)
    return hideOtherCategories(await this.#source.read(limits.caller, id), limits)
  }

  async readContent(caller: Caller, id: string) {
    const limits = this.#limitsOf(caller, id)
    if (limits.categories) throw scopeError('The scopes of the app are limited to categories.')
    return this.#source.readContent(limits.caller, id)
  }

  async readVersion(caller: Caller, id: string, version: number) {
    const limits = this.#limitsOf(caller)
    return hideOtherCategories(await this.#source.readVersion(limits.caller, id, version), limits)
  }

  async history(caller: Caller, id: string, page: PageRequest) {
    const limits = this.#limitsOf(caller)
    const historyPage = await this.#source.history(limits.caller, id, page)
    if (!limits.categories) return historyPage
    const versions = await keepCategories(historyPage.versions, limits.categories, (oneId, version) =>
      this.#source.readVersion(limits.caller, oneId, version),
    )
    if (versions.length === historyPage.versions.length) return historyPage
    if (versions.length === 0) throw new ServiceError('NotFound')
    return { ...historyPage, versions, total: undefined }
  }

  async search(caller: Caller, search: ResourceSearch) {
    const limits = this.#limitsOf(caller)
    return this.#source.search(limits.caller, searchInCategories(search, limits))
  }

  async searchDeleted(caller: Caller, search: SearchCriteria, deletedKeys: readonly ChangedRecord[]) {
    const limits = this.#limitsOf(caller)
    return this.#source.searchDeleted(limits.caller, searchInCategories(search, limits), deletedKeys)
  }

  async create(caller: Caller, resource: FhirResource, id: string, options: ResourceWrite) {
    const limits = this.#limitsOf(caller)
    requireCategory(resource, limits)
    return this.#source.create(limits.caller, resource, id, options)
  }

  async update(caller: Caller, id: string, resource: FhirResource, options: ResourceWrite) {
    const limits = this.#limitsOf(caller)
    await this.#requireReachable(limits, id)
    requireCategory(resource, limits)
    return this.#source.update(limits.caller, id, resource, options)
  }

  async remove(caller: Caller, id: string, options: ResourceWrite) {
    const limits = this.#limitsOf(caller)
    await this.#requireReachable(limits, id)
    return this.#source.remove(limits.caller, id, options)
  }

  /** @throws NotFound if the present resource has another category */
  async #requireReachable(limits: AppLimits, id: string): Promise<void> {
    if (limits.categories) hideOtherCategories(await this.#source.read(limits.caller, id), limits)
  }
}

/**
 * Restricts a source to what the app of a caller may do with an interaction. Every access to resources goes through
 * here. The compartment of a patient holds in the stores: every query asks for the permission entry that all records of
 * the EHR have.
 */
export const limitToApp = (
  description: ResourceDescription,
  interaction: Interaction,
  source: ResourceSource,
): LimitedSource => new LimitedSource(description, interaction, source)
