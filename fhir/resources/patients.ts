import { searchWordsOf } from '../../records/conditions/search-words.ts'
import type { Ehrs, EhrView } from '../../records/ehrs/ehrs.ts'
import { findAnonymizedEhrs, hideSubject } from '../../records/ehrs/rights/anonymity.ts'
import { ownUri, STRUCTURES } from '../../records/fhir/elements.ts'
import type { FhirResource } from '../../records/fhir/mapping.ts'
import { parseToken, unescapeText } from '../../records/fhir/search-values.ts'
import { asConnection, type Profiles } from '../../records/profiles/profiles.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import { ifNotFound } from '../../schemas/errors.ts'
import { parameterError, requireKnownModifier } from '../outcome/issue.ts'
import { fitsPeriod } from '../search/search-period.ts'
import type { ResourceSearch, SearchCriterion } from '../sources/resource-search.ts'
import type {
  ExportSource,
  FoundResources,
  ResourceSource,
  ResourceType,
} from '../sources/resource-source.ts'

type Person = Awaited<ReturnType<Profiles['persons']['get']>>

const EHR_ID_SYSTEM = ownUri('ehr')
const USER_ID_SYSTEM = ownUri('user')

/** Parts of a family name, by the extensions of a HumanName. */
const FAMILY_PARTS = {
  prefixFamilyName: 'humanname-own-prefix',
  familyName: 'humanname-own-name',
  prefixFamilyNameSpouse: 'humanname-partner-prefix',
  familyNameSpouse: 'humanname-partner-name',
} as const

const QUALIFIER = `${STRUCTURES}/iso21090-EN-qualifier`

/** A person's name. */
function humanName({ name }: Person) {
  const {
    displayName,
    familyName,
    prefixFamilyName,
    givenName,
    initials,
    honorificPrefix,
    honorificPostfix,
  } = name
  const family = [prefixFamilyName, familyName].filter(Boolean).join(' ')
  const parts = Object.entries(FAMILY_PARTS).flatMap(([field, extension]) => {
    const valueString = name[field as keyof typeof FAMILY_PARTS]
    return valueString ? [{ url: `${STRUCTURES}/${extension}`, valueString }] : []
  })
  const given = [givenName, initials].filter(Boolean)
  // The second list says which of the first are initials.
  const qualifiers = [...(givenName ? [null] : []), { extension: [{ url: QUALIFIER, valueCode: 'IN' }] }]
  return {
    use: 'official',
    text: displayName,
    ...(family && { family, ...(parts.length > 0 && { _family: { extension: parts } }) }),
    ...(given.length > 0 && { given, ...(initials && { _given: qualifiers }) }),
    ...(honorificPrefix && { prefix: [honorificPrefix] }),
    ...(honorificPostfix && { suffix: [honorificPostfix] }),
  }
}

const GENDERS = { MALE: 'male', FEMALE: 'female' } as const

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
    name: { type: 'string', description: 'Beginning of a part of the name' },
    family: { type: 'string', description: 'Beginning of the family name' },
    given: { type: 'string', description: 'Beginning of the given name' },
    birthdate: { type: 'date', description: 'Date of birth' },
    gender: { type: 'token', description: 'Gender: male or female' },
    active: { type: 'token', description: 'Use of the EHR; always true' },
  },
  open: ({ context, ehrs, profiles }) => new Patients(context, ehrs, profiles),
}

/** Patients: one for each EHR, with as much about the person as the caller may know. */
class Patients implements ResourceSource {
  readonly #context: StoreContext
  readonly #ehrs: Ehrs
  readonly #profiles: Profiles

  constructor(context: StoreContext, ehrs: Ehrs, profiles: Profiles) {
    this.#context = context
    this.#ehrs = ehrs
    this.#profiles = profiles
  }

  async read(caller: Caller, id: string): Promise<FhirResource> {
    const [ehr, unnamed] = await Promise.all([
      this.#ehrs.get(caller, id),
      findAnonymizedEhrs(this.#context, caller),
    ])
    return this.#show(caller, hideSubject(ehr, unnamed))
  }

  async exportPage(
    caller: Caller,
    { ehrId, since }: Parameters<ExportSource['exportPage']>[1],
  ): Promise<FoundResources> {
    const patient = await this.read(caller, ehrId).catch(ifNotFound(undefined))
    const { lastUpdated = '' } = (patient?.meta ?? {}) as { lastUpdated?: string }
    return { resources: patient && (!since || new Date(lastUpdated) >= since) ? [patient] : [] }
  }

  async search(caller: Caller, { criteria, count, after, total }: ResourceSearch): Promise<FoundResources> {
    const ids = criteria.find(({ name, modifier }) => name === '_id' && modifier === undefined)?.values
    const rest = criteria.filter(({ name }) => name !== '_id' || ids === undefined)
    const all = ids ? await this.#named(caller, ids) : await this.#readable(caller)
    const shown = await Promise.all(all.map((ehr) => this.#show(caller, ehr)))
    const found = shown.filter((patient) => rest.every((criterion) => fits(patient, criterion)))
    const start = after === undefined ? 0 : found.findIndex(({ id }) => id === after) + 1
    const resources = found.slice(start, start + count)
    const isLast = start + count >= found.length
    return {
      resources,
      ...(!isLast && count > 0 && { next: String(resources.at(-1)?.id) }),
      ...(total && { total: found.length }),
    }
  }

  async #named(caller: Caller, ids: readonly string[]): Promise<EhrView[]> {
    const named = ids.slice(0, MAX_EHRS)
    const [unnamed, ...found] = await Promise.all([
      findAnonymizedEhrs(this.#context, caller),
      ...named.map((id) => this.#ehrs.get(caller, id).catch(ifNotFound(undefined))),
    ])
    return found.flatMap((ehr) => (ehr ? hideSubject(ehr, unnamed) : []))
  }

  /** @throws InvalidInput for a caller of too many EHRs */
  async #readable(caller: Caller): Promise<EhrView[]> {
    const { items, next } = await this.#ehrs.list(caller, { limit: MAX_EHRS })
    if (next !== null)
      throw parameterError('_id', 'too-costly', 'must be given: you may read too many patients to search')
    return items
  }

  async #show(caller: Caller, { id, version, subjectId, updatedAt }: EhrView): Promise<FhirResource> {
    const person = subjectId === null ? undefined : await this.#findPerson(caller, subjectId)
    const isSelf = caller.userId === subjectId
    return {
      resourceType: 'Patient',
      id,
      meta: {
        versionId: person ? `${version}.${person.version}` : String(version),
        lastUpdated: person && person.updatedAt > updatedAt ? person.updatedAt : updatedAt,
      },
      identifier: [
        { system: EHR_ID_SYSTEM, value: id },
        ...(subjectId === null ? [] : [{ system: USER_ID_SYSTEM, value: subjectId }]),
      ],
      active: true,
      ...(person && { name: [humanName(person)] }),
      ...(person && isSelf && personalElements(person)),
    }
  }

  /** The person of the subject; connected users see the name alone, others nothing. */
  async #findPerson(caller: Caller, mvUid: string): Promise<Person | undefined> {
    const isKnown =
      caller.userId === mvUid || (await this.#profiles.connections.areConnected(caller.userId, mvUid))
    if (!isKnown) return undefined
    return this.#profiles.persons.get(asConnection(caller, mvUid), mvUid).catch(ifNotFound(undefined))
  }
}

/** A search covers at most so many EHRs. */
const MAX_EHRS = 100

const personalElements = ({ gender, birthDate, language }: Person) => ({
  ...(gender && { gender: GENDERS[gender] }),
  ...(birthDate && { birthDate }),
  ...(language && {
    communication: [
      { language: { coding: [{ system: 'urn:ietf:bcp:47', code: language }] }, preferred: true },
    ],
  }),
})

const LIST_OF_TOKENS = ['identifier', 'gender', 'active']

/** The texts of a patient by search parameter. */
function textsOf({ name }: FhirResource, parameter: string): string[] {
  const [human] = (name ?? []) as { text?: string; family?: string; given?: string[] }[]
  const { text, family, given = [] } = human ?? {}
  const all = parameter === 'family' ? [family] : parameter === 'given' ? given : [text, family, ...given]
  return all.filter((one) => one !== undefined)
}

const tokensOf = ({ identifier, gender, active }: FhirResource, parameter: string) =>
  parameter === 'identifier'
    ? (identifier as { system: string; value: string }[]).map(({ system, value }) => ({
        system,
        code: value,
      }))
    : [{ system: undefined, code: String(parameter === 'gender' ? gender : active) }]

/** Whether a patient fits a criterion. The EHRs of a caller are few, so no index serves it. */
function fits(patient: FhirResource, { name, modifier, values }: SearchCriterion): boolean {
  if (modifier === 'missing') return values.includes(String(!isPresent(patient, name)))
  requireKnownModifier({ name, modifier }, ['exact', 'contains', 'not'])
  const found = values.some((text) => fitsValue(patient, name, text, modifier))
  return modifier === 'not' ? !found : found
}

const isPresent = (patient: FhirResource, name: string): boolean =>
  name === 'birthdate'
    ? 'birthDate' in patient
    : ['name', 'family', 'given'].includes(name)
      ? textsOf(patient, name).length > 0
      : name in patient

function fitsValue(patient: FhirResource, name: string, text: string, modifier: string | undefined): boolean {
  if (LIST_OF_TOKENS.includes(name)) {
    const { system, code } = parseToken(text)
    return tokensOf(patient, name).some(
      (one) =>
        (code === undefined || one.code === code) &&
        (!system || one.system === undefined || one.system === system),
    )
  }
  if (name === '_lastUpdated')
    return fitsPeriod(String((patient.meta as { lastUpdated: string }).lastUpdated), name, text)
  if (name === 'birthdate')
    return patient.birthDate !== undefined && fitsPeriod(String(patient.birthDate), name, text)
  return fitsText(textsOf(patient, name), unescapeText(text), modifier)
}

function fitsText(texts: readonly string[], sought: string, modifier: string | undefined): boolean {
  if (modifier === 'exact') return texts.includes(sought)
  const plain = (one: string) => searchWordsOf(one).join(' ')
  return texts.some((one) =>
    modifier === 'contains'
      ? plain(one).includes(plain(sought))
      : plain(one).startsWith(plain(sought)) ||
        searchWordsOf(one).some((word) => word.startsWith(plain(sought))),
  )
}
