import { createHash } from 'node:crypto'
import type { Ehrs, EhrView } from '../../records/ehrs/ehrs.ts'
import { findAnonymizedEhrs, hideSubject } from '../../records/ehrs/rights/anonymity.ts'
import { ownUri } from '../../records/fhir/elements.ts'
import type { FhirResource } from '../../records/fhir/mapping.ts'
import type { StoredPerson } from '../../records/profiles/person/persons.ts'
import { asConnection, type Profiles } from '../../records/profiles/profiles.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import { ifNotFound } from '../../schemas/errors.ts'
import { parameterError } from '../outcome/issue.ts'
import type { ResourceSearch } from '../sources/resource-search.ts'
import type {
  ExportSource,
  FhirServices,
  FoundResources,
  ResourceSource,
  ResourceType,
} from '../sources/resource-source.ts'
import {
  contactElements,
  nationalityOf,
  type StoredAddress,
  type StoredContact,
} from './people/contact-elements.ts'
import { humanName, personalElements, photoOf } from './people/human-name.ts'
import { CONTACT_PARAMETERS, NAME_PARAMETERS, searchPersons } from './people/person-search.ts'

const EHR_ID_SYSTEM = ownUri('ehr')
const USER_ID_SYSTEM = ownUri('user')

export const patientType: ResourceType = {
  type: 'Patient',
  plural: 'patients',
  profiles: [],
  interactions: ['read', 'search-type'],
  operations: {
    summary: 'http://hl7.org/fhir/uv/ips/OperationDefinition/summary',
    everything: 'http://hl7.org/fhir/OperationDefinition/Patient-everything',
    export: 'http://hl7.org/fhir/uv/bulkdata/OperationDefinition/patient-export',
  },
  sortedBy: undefined,
  parameters: {
    _id: { type: 'token', description: 'Id of the EHR' },
    _lastUpdated: { type: 'date', description: 'Time of the last change' },
    identifier: { type: 'token', description: 'Id of the EHR, or of the user whom it is about' },
    ...NAME_PARAMETERS,
    ...CONTACT_PARAMETERS,
    birthdate: { type: 'date', description: 'Date of birth' },
    gender: { type: 'token', description: 'Gender: male or female' },
    language: { type: 'token', description: 'Language in which to talk with the person' },
    active: { type: 'token', description: 'Use of the EHR; always true' },
  },
  open: (services) => new Patients(services),
}

/** Patients: one for each EHR, with as much about the person as the caller may know. */
class Patients implements ResourceSource {
  readonly #context: StoreContext
  readonly #ehrs: Ehrs
  readonly #profiles: Profiles
  readonly #publicUrl: string | undefined

  constructor({ context, ehrs, profiles, publicUrl }: FhirServices) {
    this.#context = context
    this.#ehrs = ehrs
    this.#profiles = profiles
    this.#publicUrl = publicUrl
  }

  async read(caller: Caller, id: string): Promise<FhirResource> {
    const [ehr, anonymizedIds] = await Promise.all([
      this.#ehrs.get(caller, id),
      findAnonymizedEhrs(this.#context, caller),
    ])
    return this.#show(caller, hideSubject(ehr, anonymizedIds))
  }

  async exportPage(
    caller: Caller,
    { ehrId, since }: Parameters<ExportSource['exportPage']>[1],
  ): Promise<FoundResources> {
    const patient = await this.read(caller, ehrId).catch(ifNotFound(undefined))
    const { lastUpdated = '' } = (patient?.meta ?? {}) as { lastUpdated?: string }
    return { resources: patient && (!since || new Date(lastUpdated) >= since) ? [patient] : [] }
  }

  search(caller: Caller, search: ResourceSearch): Promise<FoundResources> {
    return searchPersons(search, async (ids) => {
      const ehrs = ids ? await this.#findByIds(caller, ids) : await this.#findReadable(caller)
      return Promise.all(ehrs.map((ehr) => this.#show(caller, ehr)))
    })
  }

  /** @throws InvalidInput for too many */
  async #findByIds(caller: Caller, ids: readonly string[]): Promise<EhrView[]> {
    if (ids.length > MAX_EHRS)
      throw parameterError('_id', 'too-costly', `must have at most ${MAX_EHRS} values`)
    const [anonymizedIds, ...ehrs] = await Promise.all([
      findAnonymizedEhrs(this.#context, caller),
      ...ids.map((id) => this.#ehrs.get(caller, id).catch(ifNotFound(undefined))),
    ])
    return ehrs.flatMap((ehr) => (ehr ? hideSubject(ehr, anonymizedIds) : []))
  }

  /** @throws InvalidInput for a caller of too many EHRs */
  async #findReadable(caller: Caller): Promise<EhrView[]> {
    const { items, next } = await this.#ehrs.list(caller, { limit: MAX_EHRS })
    if (next !== null)
      throw parameterError('_id', 'too-costly', 'must be given: you may read too many patients to search')
    return items
  }

  async #show(caller: Caller, { id, version, subjectId, updatedAt }: EhrView): Promise<FhirResource> {
    const subject = subjectId === null ? undefined : await this.#findSubject(caller, subjectId)
    const { person, contacts = [], addresses = [] } = subject ?? {}
    const isSelf = caller.userId === subjectId
    const parts = [...(person ? [person] : []), ...contacts, ...addresses]
    return {
      resourceType: 'Patient',
      id,
      meta: {
        versionId: [version, ...(person ? [versionOf(person, contacts, addresses)] : [])].join('.'),
        lastUpdated: [updatedAt, ...parts.map((one) => one.updatedAt)].sort().at(-1),
      },
      ...(isSelf && nationalityOf(person?.nationality ?? null)),
      identifier: [
        { system: EHR_ID_SYSTEM, value: id },
        ...(subjectId === null ? [] : [{ system: USER_ID_SYSTEM, value: subjectId }]),
      ],
      active: true,
      ...(person && { name: [humanName(person)], ...photoOf(person, this.#publicUrl) }),
      ...contactElements(contacts, addresses),
      ...(person && isSelf && personalElements(person)),
    }
  }

  /** The subject; connected users see name, picture and contacts, others and helpers nothing. */
  async #findSubject(caller: Caller, mvUid: string): Promise<Subject | undefined> {
    if (caller.helper) return undefined
    const { persons, contacts, addresses, connections } = this.#profiles
    const isSelf = caller.userId === mvUid
    if (!isSelf && !(await connections.areConnected(caller.userId, mvUid))) return undefined
    const reader = asConnection(caller, mvUid)
    const owner = { mvUid, relationId: null }
    const none = { items: [] }
    const [person, ofContacts, ofAddresses] = await Promise.all([
      persons.get(reader, mvUid).catch(ifNotFound(undefined)),
      contacts.list(reader, owner, CONTACTS).catch(ifNotFound(none)),
      // An app with a grant for the Patient sees the addresses, too.
      isSelf
        ? addresses.list({ ...caller, compartment: undefined }, owner, CONTACTS).catch(ifNotFound(none))
        : none,
    ])
    return person && { person, contacts: ofContacts.items, addresses: ofAddresses.items }
  }
}

interface Subject {
  person: StoredPerson
  contacts: readonly StoredContact[]
  addresses: readonly StoredAddress[]
}

/** The most contacts of a Patient, and the most addresses. */
const CONTACTS = { limit: 100 }

/** Contacts and addresses have versions of their own, and can be deleted. */
function versionOf(person: StoredPerson, ...details: (readonly (StoredContact | StoredAddress)[])[]): string {
  const versions = details.flat().map(({ id, version }) => `${id}/${version}`)
  const digest = createHash('sha256').update(versions.join()).digest('hex').slice(0, 12)
  return [person.version, ...(versions.length > 0 ? [digest] : [])].join('.')
}

/** The most EHRs that a search covers. */
const MAX_EHRS = 100
