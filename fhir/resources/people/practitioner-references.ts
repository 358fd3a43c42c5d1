import { elementAt, type FhirJson, isElement } from '../../../records/fhir/element-paths.ts'
import { ownUri, practitionerIdOf, userIdOf } from '../../../records/fhir/elements.ts'
import type { FhirResource } from '../../../records/fhir/mapping.ts'
import type { Profiles } from '../../../records/profiles/profiles.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import type { ResourceSource, ResourceVersion } from '../../sources/resource-source.ts'

const isUserReference = (value: FhirJson): boolean =>
  value.type === 'Practitioner' && elementAt(value, 'identifier.system') === ownUri('user')

/** The ids of users to whom an element refers. */
function usersIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(usersIn)
  if (!isElement(value)) return []
  return isUserReference(value) ? [String(userIdOf(value))] : Object.values(value).flatMap(usersIn)
}

function addReferences(value: unknown, knownUserIds: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((one) => addReferences(one, knownUserIds))
  if (!isElement(value)) return value
  if (!isUserReference(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, addReferences(one, knownUserIds)]),
    )
  const user = String(userIdOf(value))
  const id = knownUserIds.has(user) ? practitionerIdOf(user) : undefined
  return id === undefined ? value : { reference: `Practitioner/${id}`, ...value }
}

/** Resources that refer to a Practitioner if the caller can read it; otherwise they only have the user id. */
export async function showKnownPractitioners<T extends FhirResource>(
  { connections }: Pick<Profiles, 'connections'>,
  caller: Caller,
  resources: readonly T[],
): Promise<T[]> {
  const users = [...new Set(resources.flatMap(usersIn))]
  if (users.length === 0) return [...resources]
  const knownUserIds = await connections.findKnown(caller, users)
  return resources.map((one) => addReferences(one, knownUserIds) as T)
}

type WritableSource = Required<Omit<ResourceSource, 'readContent'>>

/** A source of resources that refer to users. */
export function withKnownPractitioners(source: WritableSource, profiles: Profiles): ResourceSource {
  const showAll = (caller: Caller, resources: readonly FhirResource[]) =>
    showKnownPractitioners(profiles, caller, resources)
  const show = async (caller: Caller, resource: FhirResource) =>
    (await showAll(caller, [resource]))[0] as FhirResource
  const showVersions = async (caller: Caller, versions: readonly ResourceVersion[]) => {
    const resources = await showAll(
      caller,
      versions.flatMap(({ resource }) => resource ?? []),
    )
    return versions.map((one) => ({ ...one, resource: one.resource && resources.shift() }))
  }
  return {
    read: async (caller, id) => show(caller, await source.read(caller, id)),
    readVersion: async (caller, id, version) => show(caller, await source.readVersion(caller, id, version)),
    history: async (caller, id, page) => {
      const { versions, ...rest } = await source.history(caller, id, page)
      return { ...rest, versions: await showVersions(caller, versions) }
    },
    search: async (caller, search) => {
      const { resources, ...rest } = await source.search(caller, search)
      return { ...rest, resources: await showAll(caller, resources) }
    },
    searchDeleted: (caller, search, deletedKeys) => source.searchDeleted(caller, search, deletedKeys),
    create: async (caller, resource, id, options) =>
      show(caller, await source.create(caller, resource, id, options)),
    update: async (caller, id, resource, options) =>
      show(caller, await source.update(caller, id, resource, options)),
    remove: (caller, id, options) => source.remove(caller, id, options),
    // Histories of types and exports have the user ids alone.
    collections: source.collections,
    partCollections: source.partCollections,
    versionsOf: (change) => source.versionsOf(change),
    exportPage: (caller, page, reads) => source.exportPage(caller, page, reads),
  }
}
