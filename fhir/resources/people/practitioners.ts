import { ownUri, practitionerIdOf, userIdOfPractitioner } from '../../../records/fhir/elements.ts'
import type { FhirResource } from '../../../records/fhir/mapping.ts'
import type { StoredPerson } from '../../../records/profiles/person/persons.ts'
import { asConnection, type Profiles } from '../../../records/profiles/profiles.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import { ifNotFound, ServiceError } from '../../../schemas/errors.ts'
import { parameterError } from '../../outcome/issue.ts'
import type { ResourceSearch } from '../../sources/resource-search.ts'
import type { FoundResources, ResourceSource, ResourceType } from '../../sources/resource-source.ts'
import { humanName, photoOf } from './human-name.ts'
import { NAME_PARAMETERS, searchPersons } from './person-search.ts'

/** The most users that a search covers if it names none. */
const MAX_USERS = 100

/** Users as practitioners: the caller, and the users who are connected with the caller. A helper sees none. */
class Practitioners implements ResourceSource {
  readonly #profiles: Profiles
  readonly #publicUrl: string | undefined

  constructor(profiles: Profiles, publicUrl: string | undefined) {
    this.#profiles = profiles
    this.#publicUrl = publicUrl
  }

  async read(caller: Caller, id: string): Promise<FhirResource> {
    const mvUid = userIdOfPractitioner(id)
    const knownUserIds = await this.#profiles.connections.findKnown(caller, [mvUid])
    if (!knownUserIds.has(mvUid)) throw new ServiceError('NotFound')
    caller.onAccess?.(mvUid)
    return this.#show(await this.#profiles.persons.get(asConnection(caller, mvUid), mvUid))
  }

  search(caller: Caller, search: ResourceSearch): Promise<FoundResources> {
    const { connections, persons } = this.#profiles
    return searchPersons(search, async (ids) => {
      const users = ids
        ? await connections.findKnown(caller, ids.map(userIdOfPractitioner))
        : await this.#listKnownUsers(caller)
      const knownPersons = await Promise.all(
        [...users].map((mvUid) =>
          persons.get(asConnection(caller, mvUid), mvUid).catch(ifNotFound(undefined)),
        ),
      )
      return knownPersons.flatMap((person) => (person ? this.#show(person) : []))
    })
  }

  /** @throws InvalidInput for a caller with too many connections */
  async #listKnownUsers(caller: Caller): Promise<string[]> {
    if (caller.helper) return []
    const { items, next } = await this.#profiles.connections.listConnected(caller, MAX_USERS)
    if (next !== null)
      throw parameterError('_id', 'too-costly', 'must be given: you know too many users to search')
    return [caller.userId, ...items]
  }

  #show(person: StoredPerson): FhirResource {
    const { id: mvUid, version, updatedAt } = person
    return {
      resourceType: 'Practitioner',
      id: practitionerIdOf(mvUid) ?? mvUid,
      meta: { versionId: String(version), lastUpdated: updatedAt },
      identifier: [{ system: ownUri('user'), value: mvUid }],
      active: true,
      name: [humanName(person)],
      ...photoOf(person, this.#publicUrl),
    }
  }
}

/** The users whose names and pictures a user sees. */
export const practitionerType: ResourceType = {
  type: 'Practitioner',
  plural: 'users who are connected with you',
  profiles: [],
  interactions: ['read', 'search-type'],
  parameters: {
    _id: { type: 'token', description: 'Id of the user' },
    _lastUpdated: { type: 'date', description: 'Time of the last change' },
    identifier: { type: 'token', description: 'User id' },
    ...NAME_PARAMETERS,
    active: { type: 'token', description: 'Always true' },
  },
  sortedBy: undefined,
  open: ({ profiles, publicUrl }) => new Practitioners(profiles, publicUrl),
}
