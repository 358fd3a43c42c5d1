import { compartmentOf } from '../../records/ehrs/rights/access.ts'
import type { FhirResource } from '../../records/fhir/mapping.ts'
import { matchesToken } from '../../records/fhir/search/search-values.ts'
import type { RecordChange } from '../../records/history/changes.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import type { AuditedReads } from '../../records/store/writing/transaction.ts'
import type { AppPermit } from '../../schemas/accounts/app.ts'
import { ifNotFound, ServiceError } from '../../schemas/errors.ts'
import type {
  ExportSource,
  Interaction,
  ResourceDescription,
  ResourceSource,
  ResourceVersion,
} from './resource-source.ts'

/** The letters of the interactions in scopes. */
const LETTERS: Readonly<Record<Interaction, string>> = {
  read: 'r',
  vread: 'r',
  'history-instance': 'r',
  'history-type': 's',
  'search-type': 's',
  create: 'c',
  update: 'u',
  patch: 'u',
  delete: 'd',
}

/** The reach of an app with one interaction on one type. */
interface AppReach {
  isInCompartment: boolean
  /** The only categories; undefined: all. */
  categories: string[] | undefined
}

/**
 * The combined limits of an app's scopes. Where some name a patient and others a category, both limits hold: less than
 * each scope alone would allow, never more.
 * @returns undefined for nothing
 */
function findReach(
  { scopes, patient }: AppPermit,
  { type, parameters }: Pick<ResourceDescription, 'type' | 'parameters'>,
  interaction: Interaction,
): AppReach | undefined {
  const matchingScopes = scopes.filter(
    ({ level, type: scopeType, letters, category }) =>
      (scopeType === type || scopeType === '*') &&
      letters.includes(LETTERS[interaction]) &&
      (level !== 'patient' || patient !== undefined) &&
      (category === undefined || 'category' in parameters),
  )
  if (matchingScopes.length === 0) return undefined
  const userScopes = matchingScopes.filter(({ level }) => level !== 'patient')
  const unlimitedScopes = userScopes.filter(({ category }) => category === undefined)
  if (unlimitedScopes.length > 0) return { isInCompartment: false, categories: undefined }
  const isInCompartment = userScopes.length < matchingScopes.length
  const categories = matchingScopes.flatMap(({ category }) => category ?? [])
  return { isInCompartment, categories: categories.length < matchingScopes.length ? undefined : categories }
}

/** The reach of an app with searches of a type in an EHR. @returns undefined for nothing */
function findReachIn(
  app: AppPermit,
  description: Pick<ResourceDescription, 'type' | 'parameters'>,
  ehrId: string | null,
): AppReach | undefined {
  const reach = findReach(app, description, 'search-type')
  return reach?.isInCompartment && ehrId !== app.patient ? undefined : reach
}

/** Whether the app of a caller, if there is one, has a scope to read resources of a type. */
export const mayRead = ({ app }: Caller, description: ResourceDescription): boolean =>
  app === undefined || findReach(app, description, 'read') !== undefined

export const scopeError = (detail: string) =>
  new ServiceError('Forbidden', { detail, tokenFault: 'insufficient_scope' })

/** Whether the app of a caller, if there is one, has a scope to search a type. */
export const mayFind = ({ app }: Caller, description: ResourceDescription): boolean =>
  app === undefined || findReach(app, description, 'search-type') !== undefined

/** @throws Forbidden for nothing */
export function reachOf(
  app: AppPermit,
  description: ResourceDescription,
  interaction: Interaction,
): AppReach {
  const reach = findReach(app, description, interaction)
  if (reach) return reach
  throw scopeError(`The app has no scope for ${interaction} of ${description.type}.`)
}

/** Codes of the categories of a resource; some types have them as concepts, others as codes. */
const categoriesOf = ({ category }: FhirResource): { system?: string; code?: string }[] =>
  [category ?? []].flat().flatMap((one: unknown) => {
    if (typeof one === 'string') return [{ code: one }]
    const { coding } = (one ?? {}) as { coding?: { system?: string; code?: string }[] }
    return Array.isArray(coding) ? coding : []
  })

export const isOfCategory = (resource: FhirResource, categories: readonly string[]): boolean =>
  categories.some((category) => categoriesOf(resource).some((one) => matchesToken(one, category)))

/** Whether a version shows one of these categories. A deletion shows no resource, and has those of the version before. */
const isVersionOfCategory = (
  { resource }: ResourceVersion,
  former: FhirResource | undefined,
  categories: readonly string[],
): boolean => {
  const shownResource = resource ?? former
  return shownResource !== undefined && isOfCategory(shownResource, categories)
}

type ReadVersion = (id: string, version: number) => Promise<FhirResource>

/** Keeps the versions of one resource that have these categories. */
export async function keepCategories(
  versions: readonly ResourceVersion[],
  categories: readonly string[],
  readVersion: ReadVersion,
): Promise<ResourceVersion[]> {
  const isShown = async (one: ResourceVersion): Promise<boolean> => {
    const former = one.resource ? undefined : readVersion(one.id, one.version - 1)
    return isVersionOfCategory(one, await former?.catch(ifNotFound(undefined)), categories)
  }
  const areShown = await Promise.all(versions.map(isShown))
  return versions.filter((_, i) => areShown[i])
}

/** The caller, whose app may be limited to its patient. The stores then find only records of that EHR. */
export const withinReach = (caller: Caller, app: AppPermit, isInCompartment: boolean): Caller => ({
  ...caller,
  compartment: isInCompartment && app.patient !== undefined ? compartmentOf(app.patient) : undefined,
})

/** Requires that the app of a caller, if there is one, has a scope for an interaction. @throws Forbidden */
export function requireScope({ app }: Caller, type: ResourceDescription, interaction: Interaction): void {
  if (app) reachOf(app, type, interaction)
}

/**
 * Finds out what an app may get of several types at once: those for which it has scopes, and the caller who reaches their
 * patients.
 * @param isNamed whether the app has named the types, and so expects all of them
 * @throws Forbidden
 */
export function permitTypes<T extends ResourceDescription>(
  caller: Caller,
  types: readonly T[],
  isNamed: boolean,
): { types: readonly T[]; permittedCaller: Caller } {
  const { app } = caller
  if (!app) return { types, permittedCaller: caller }
  const permittedTypes = isNamed ? types : types.filter((one) => mayFind(caller, one))
  if (permittedTypes.length === 0) throw scopeError('The app has no scope for any of these resources.')
  const isInCompartment = permittedTypes.every((one) => reachOf(app, one, 'search-type').isInCompartment)
  return { types: permittedTypes, permittedCaller: withinReach(caller, app, isInCompartment) }
}

/** Refuses a file that an app would not get now. @param permitAtRequest what the app might do when it asked for it @throws Forbidden */
export function requireNoWiderExport(
  { app: currentPermit }: Caller,
  permitAtRequest: AppPermit | undefined,
  types: readonly ResourceDescription[],
): void {
  if (!currentPermit || !permitAtRequest) return
  const isWider = types.some((type) => {
    const current = reachOf(currentPermit, type, 'search-type')
    const former = reachOf(permitAtRequest, type, 'search-type')
    const { categories } = current
    return (
      (current.isInCompartment &&
        (!former.isInCompartment || currentPermit.patient !== permitAtRequest.patient)) ||
      (categories && !former.categories?.every((one) => categories.includes(one)))
    )
  })
  if (isWider) throw scopeError('The app has fewer scopes now than this export.')
}

/** Restricts each line of an export to what the app of a caller may find. */
export const limitExport = (description: ResourceDescription, source: ExportSource): ExportSource => ({
  async exportPage(caller, page, reads) {
    const { app } = caller
    if (!app) return source.exportPage(caller, page, reads)
    const { isInCompartment, categories } = reachOf(app, description, 'search-type')
    if (isInCompartment && page.ehrId !== app.patient) return { resources: [] }
    const pageReads: AuditedReads = { accesses: [] }
    const exportedPage = await source.exportPage(withinReach(caller, app, isInCompartment), page, pageReads)
    const resources = categories
      ? exportedPage.resources.filter((one) => isOfCategory(one, categories))
      : exportedPage.resources
    // The app does not see a page of other categories: it has one kind of records.
    if (resources.length > 0 || exportedPage.resources.length === 0)
      reads.accesses.push(...pageReads.accesses)
    return { ...exportedPage, resources }
  },
})

/** Restricts the versions that a change has created to those that the app of a caller may find. */
export function limitVersions(
  { app }: Caller,
  description: ResourceDescription,
  source: Pick<ResourceSource, 'versionsOf'>,
  change: RecordChange,
): ResourceVersion[] {
  const versions = source.versionsOf?.(change) ?? []
  if (!app) return versions
  const reach = findReachIn(app, description, change.ehrId)
  if (!reach) return []
  const { categories } = reach
  if (!categories) return versions
  const former =
    source.versionsOf?.({ ...change, action: 'create', before: null, after: change.before }) ?? []
  const formerOf = ({ id }: ResourceVersion) => former.find((one) => one.id === id)?.resource
  return versions.filter((one) => isVersionOfCategory(one, formerOf(one), categories))
}

/** Restricts the versions of one resource to those that the app of a caller may find. @throws NotFound for none */
export async function limitHistory(
  caller: Caller,
  description: ResourceDescription,
  source: ResourceSource,
  versions: readonly ResourceVersion[],
): Promise<ResourceVersion[]> {
  const { app } = caller
  if (!app) return [...versions]
  const reaches = versions.map(({ ehrId = null }) => findReachIn(app, description, ehrId))
  const [reach] = reaches
  if (reaches.includes(undefined) || !reach) throw new ServiceError('NotFound')
  const { categories } = reach
  if (!categories) return [...versions]
  return keepCategories(versions, categories, async (id, version) => {
    if (!source.readVersion) throw new ServiceError('NotFound')
    return source.readVersion(caller, id, version)
  })
}

/**
 * Whether the app of a caller may find all records of a kind in an EHR.
 * @param description the type that shows them; undefined: none
 * @param haveCategory whether all of them have a category
 */
export function mayFindAll(
  { app }: Caller,
  description: ResourceDescription | undefined,
  ehrId: string,
  haveCategory: (category: string) => boolean,
): boolean {
  if (!app) return true
  const reach = findReachIn(app, description ?? { type: '', parameters: {} }, ehrId)
  return reach !== undefined && (reach.categories?.some(haveCategory) ?? true)
}
