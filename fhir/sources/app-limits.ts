import { compartmentOf } from '../../records/ehrs/rights/access.ts'
import type { FhirResource } from '../../records/fhir/mapping.ts'
import { parseToken } from '../../records/fhir/search-values.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import type { AppPermit } from '../../schemas/accounts/app.ts'
import { ServiceError } from '../../schemas/errors.ts'
import type { ResourceSearch } from './resource-search.ts'
import type { Interaction, ResourceDescription, ResourceSource, ResourceVersion } from './resource-source.ts'

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

/** The methods of a source that act for a caller. */
export type SourceMethod = Exclude<keyof ResourceSource, 'collections' | 'versionsOf' | 'exportPage'>

/** How far an app reaches with one interaction on one type. */
interface AppReach {
  isInCompartment: boolean
  /** The only categories; undefined: all. */
  categories: string[] | undefined
}

/**
 * What the scopes of an app allow together. Where some name a patient and others a category, both limits hold: less than
 * each scope alone would allow, never more.
 * @throws Forbidden
 */
function reachOf(
  { scopes, patient }: AppPermit,
  { type, parameters }: ResourceDescription,
  interaction: Interaction,
): AppReach {
  const fitting = scopes.filter(
    ({ level, type: of, letters, category }) =>
      (of === type || of === '*') &&
      letters.includes(LETTERS[interaction]) &&
      (level !== 'patient' || patient !== undefined) &&
      (category === undefined || 'category' in parameters),
  )
  if (fitting.length === 0)
    throw new ServiceError('Forbidden', { detail: `The app has no scope for ${interaction} of ${type}.` })
  const isOfUser = fitting.filter(({ level }) => level !== 'patient')
  const whole = isOfUser.filter(({ category }) => category === undefined)
  if (whole.length > 0) return { isInCompartment: false, categories: undefined }
  const isInCompartment = isOfUser.length < fitting.length
  const categories = fitting.flatMap(({ category }) => category ?? [])
  return { isInCompartment, categories: categories.length < fitting.length ? undefined : categories }
}

/** Codes of the categories of a resource; some types have them as concepts, others as codes. */
const categoriesOf = ({ category }: FhirResource): { system?: string; code?: string }[] =>
  [category ?? []].flat().flatMap((one: unknown) => {
    if (typeof one === 'string') return [{ code: one }]
    const { coding } = (one ?? {}) as { coding?: { system?: string; code?: string }[] }
    return Array.isArray(coding) ? coding : []
  })

const isOfCategory = (resource: FhirResource, categories: readonly string[]): boolean =>
  categories
    .map(parseToken)
    .some(({ system, code }) =>
      categoriesOf(resource).some((one) => one.code === code && (!system || one.system === system)),
    )

type Rest = readonly unknown[]
type Method = (caller: Caller, ...rest: never[]) => Promise<unknown>

/** A resource of another category looks as if it did not exist. */
function hideOthers<T extends FhirResource | undefined>(resource: T, categories: readonly string[]): T {
  if (resource && !isOfCategory(resource, categories)) throw new ServiceError('NotFound')
  return resource
}

function requireCategory(resource: FhirResource, categories: readonly string[]): void {
  if (isOfCategory(resource, categories)) return
  throw new ServiceError('Forbidden', { detail: 'The app has no scope for resources of this category.' })
}

/** A method of a source, restricted to categories. */
type LimitedMethod = (
  perform: (...rest: Rest) => Promise<unknown>,
  categories: readonly string[],
  rest: Rest,
  readNow: (id: unknown) => Promise<FhirResource>,
) => Promise<unknown>

const shown: LimitedMethod = async (perform, categories, rest) =>
  hideOthers((await perform(...rest)) as FhirResource, categories)

/** A method that is not named here is refused to an app with limited categories. */
const BY_CATEGORY: Partial<Record<SourceMethod, LimitedMethod>> = {
  read: shown,
  readVersion: shown,
  history: async (perform, categories, rest) => {
    const found = (await perform(...rest)) as { versions: ResourceVersion[] }
    for (const { resource } of found.versions) hideOthers(resource, categories)
    return found
  },
  search: (perform, categories, [search, ...rest]) => {
    const { criteria, ...others } = search as ResourceSearch
    const own = { name: 'category', modifier: undefined, values: categories }
    return perform({ ...others, criteria: [...criteria, own] }, ...rest)
  },
  create: (perform, categories, [resource, ...rest]) => {
    requireCategory(resource as FhirResource, categories)
    return perform(resource, ...rest)
  },
  update: async (perform, categories, [id, resource, ...rest], readNow) => {
    hideOthers(await readNow(id), categories)
    requireCategory(resource as FhirResource, categories)
    return perform(id, resource, ...rest)
  },
  remove: async (perform, categories, [id, ...rest], readNow) => {
    hideOthers(await readNow(id), categories)
    return perform(id, ...rest)
  },
}

const withinReach = (caller: Caller, app: AppPermit, isInCompartment: boolean): Caller => ({
  ...caller,
  compartment: isInCompartment && app.patient !== undefined ? compartmentOf(app.patient) : undefined,
})

/** The caller of an access to several types at once, restricted to what the app may do with all of them. @throws Forbidden */
export function limitCaller(
  caller: Caller,
  types: readonly ResourceDescription[],
  interaction: Interaction,
): Caller {
  const { app } = caller
  if (!app) return caller
  const reaches = types.map((one) => reachOf(app, one, interaction))
  if (reaches.some(({ categories }) => categories !== undefined)) throw limitedToCategoriesError()
  return withinReach(
    caller,
    app,
    reaches.some(({ isInCompartment }) => isInCompartment),
  )
}

const limitedToCategoriesError = () =>
  new ServiceError('Forbidden', { detail: 'The scopes of the app are limited to categories.' })

/**
 * Restricts a method of a source to what the app of a caller may do. Every access to resources goes through here; other
 * callers are not restricted. The compartment of a patient holds in the stores: every query asks for the permission
 * entry that all records of the EHR have.
 */
export function limitToApp<M extends SourceMethod>(
  description: ResourceDescription,
  interaction: Interaction,
  method: M,
  source: ResourceSource,
  perform: NonNullable<ResourceSource[M]>,
): NonNullable<ResourceSource[M]> {
  const limited = async (caller: Caller, ...rest: never[]): Promise<unknown> => {
    const { app } = caller
    const work = perform as Method
    if (!app) return work(caller, ...rest)
    const { isInCompartment, categories } = reachOf(app, description, interaction)
    const by = withinReach(caller, app, isInCompartment)
    const performAs = (...given: Rest) => work(by, ...(given as never[]))
    if (categories === undefined) return performAs(...rest)
    const byCategory = BY_CATEGORY[method]
    if (!byCategory) throw limitedToCategoriesError()
    return byCategory(performAs, categories, rest, (id) => source.read(by, String(id)))
  }
  return limited as unknown as NonNullable<ResourceSource[M]>
}
