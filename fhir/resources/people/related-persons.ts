import type { Ehrs } from '../../../records/ehrs/ehrs.ts'
import { subjectOf } from '../../../records/ehrs/rights/access.ts'
import { TERMINOLOGY } from '../../../records/fhir/elements.ts'
import type { FhirResource } from '../../../records/fhir/mapping.ts'
import type { Profiles } from '../../../records/profiles/profiles.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import type { PageRequest } from '../../../records/store/reading/pages.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { searchWithin } from '../../search/search-within.ts'
import type { ResourceSearch } from '../../sources/resource-search.ts'
import type { FoundResources, ResourceSource, ResourceType } from '../../sources/resource-source.ts'
import { patientIdOf } from '../patients-of-caller.ts'
import { humanName, personalElements } from './human-name.ts'
import { matchesPerson } from './person-search.ts'

type StoredRelation = Awaited<ReturnType<Profiles['relations']['get']>>

/** Codes of v3-RoleCode that say the same as our types. */
const ROLE_CODES: Readonly<Record<string, string>> = {
  PARENT: 'PRN',
  CHILD: 'CHILD',
  SIBLING: 'SIB',
  FRIEND: 'FRND',
  NEIGHBOUR: 'NBOR',
  GUARDIAN: 'GUARD',
  FAMILY_MEMBER: 'FAMMEMB',
  FOSTER_PARENT: 'PRNFOST',
}

function relationshipOf(type: string) {
  const code = ROLE_CODES[type]
  return {
    ...(code !== undefined && { coding: [{ system: `${TERMINOLOGY}/v3-RoleCode`, code }] }),
    text: type,
  }
}

const relatedPersonOf = (ehrId: string, relation: StoredRelation): FhirResource => ({
  resourceType: 'RelatedPerson',
  id: `${ehrId}.${relation.relationId}`,
  meta: { versionId: String(relation.version), lastUpdated: relation.updatedAt },
  active: true,
  patient: { reference: `Patient/${ehrId}` },
  ...(relation.type && { relationship: [relationshipOf(relation.type)] }),
  name: [humanName(relation)],
  ...personalElements(relation),
})

/** The relations of a person. They belong to the account, so that each EHR about the person shows them. */
class RelatedPersons implements ResourceSource {
  readonly #ehrs: Ehrs
  readonly #profiles: Profiles

  constructor(ehrs: Ehrs, profiles: Profiles) {
    this.#ehrs = ehrs
    this.#profiles = profiles
  }

  async read(caller: Caller, id: string): Promise<FhirResource> {
    const [ehrId = '', number = ''] = id.split('.')
    if (!/^\d{1,9}$/.test(number)) throw new ServiceError('NotFound')
    await this.#requireSubject(caller, ehrId)
    return relatedPersonOf(ehrId, await this.#profiles.relations.get(caller, caller.userId, Number(number)))
  }

  search(caller: Caller, search: ResourceSearch): Promise<FoundResources> {
    return searchWithin<StoredRelation>(search, {
      name: 'patient',
      readPage: async (patient: string, page: PageRequest) => {
        await this.#requireSubject(caller, patientIdOf(patient))
        return this.#profiles.relations.list(caller, caller.userId, page)
      },
      matches: (relation, criterion, patient) =>
        matchesPerson(relatedPersonOf(patientIdOf(patient), relation), criterion),
      show: async (relations, patient) =>
        relations.map((relation) => relatedPersonOf(patientIdOf(patient), relation)),
    })
  }

  /** @throws NotFound for all but the subject, helpers too, since relations are private */
  async #requireSubject(caller: Caller, ehrId: string): Promise<void> {
    const { id: _id, ...ehr } = await this.#ehrs.get(caller, ehrId)
    if (caller.helper || subjectOf(ehr) !== caller.userId) throw new ServiceError('NotFound')
  }
}

/** The relations of a patient, for the patient alone. */
export const relatedPersonType: ResourceType = {
  type: 'RelatedPerson',
  plural: 'relations of yours',
  profiles: [],
  interactions: ['read', 'search-type'],
  parameters: {
    patient: { type: 'reference', description: 'Patient: the id of an EHR about you, which must be given' },
    name: { type: 'string', description: 'Beginning of a part of the name' },
    gender: { type: 'token', description: 'Gender: male or female' },
    birthdate: { type: 'date', description: 'Date of birth' },
    relationship: { type: 'token', description: 'Code of the relation' },
    active: { type: 'token', description: 'Always true' },
    _id: { type: 'token', description: 'Id of the relation' },
    _lastUpdated: { type: 'date', description: 'Time of the last change' },
  },
  sortedBy: undefined,
  open: ({ ehrs, profiles }) => new RelatedPersons(ehrs, profiles),
}
