import { Composition } from '../../../records/compositions/composition-record.ts'
import type { Ehrs } from '../../../records/ehrs/ehrs.ts'
import { ownUri, TERMINOLOGY, userReference } from '../../../records/fhir/elements.ts'
import { type FhirForm, type FhirResource, isMapped } from '../../../records/fhir/mapping.ts'
import { userIdOfSearch } from '../../../records/fhir/search/search-parameters.ts'
import { matchesToken } from '../../../records/fhir/search/search-values.ts'
import { classKindOf, isClassName } from '../../../records/kinds.ts'
import type { Profiles } from '../../../records/profiles/profiles.ts'
import type { AuditEntry } from '../../../records/store/audit/audit-log.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { SERVICE_NAME } from '../../../schemas/text/service-name.ts'
import { matchesPeriod } from '../../search/search-period.ts'
import { matchByTests, searchWithin } from '../../search/search-within.ts'
import { mayFindAll } from '../../sources/app-limits.ts'
import type { ResourceSearch } from '../../sources/resource-search.ts'
import type {
  FhirServices,
  FoundResources,
  ResourceDescription,
  ResourceSource,
  ResourceType,
} from '../../sources/resource-source.ts'
import { patientIdOf } from '../patients-of-caller.ts'
import { startsWithText } from '../people/person-search.ts'
import { showKnownPractitioners } from '../people/practitioner-references.ts'

const ACTIONS: Readonly<Record<string, { action: string; interaction: string }>> = {
  create: { action: 'C', interaction: 'create' },
  read: { action: 'R', interaction: 'read' },
  query: { action: 'E', interaction: 'search-type' },
  update: { action: 'U', interaction: 'update' },
  delete: { action: 'D', interaction: 'delete' },
}

const OUTCOMES: Readonly<Record<string, string>> = { done: '0', denied: '4', refused: '4' }

/** The mapping of the records that an entry names. */
const formOf = (type: string): FhirForm | undefined =>
  isClassName(type) ? classKindOf(type).fhir : undefined

/** The resource type of the records that an entry names, or of those that they follow from; undefined: none. */
function resourceTypeOf(type: string): string | undefined {
  if (type === 'Ehr') return 'Patient'
  if (type === Composition.collection) return 'DocumentReference'
  const form = formOf(type)
  if (isMapped(form)) return form.type
  return form && 'shownAs' in form ? form.shownAs : undefined
}

/** A record that was accessed: by its resource, or by its id if FHIR does not show it. */
function whatOf(type: string, id: string) {
  const isResource = type === 'Ehr' || type === Composition.collection || isMapped(formOf(type))
  return isResource
    ? { reference: `${resourceTypeOf(type)}/${id}` }
    : { identifier: { system: ownUri(`record:${type}`), value: id } }
}

/** The request that accessed a record; what the service does by itself has none. */
const requestsOf = ({ requestId }: AuditEntry) =>
  requestId === ''
    ? []
    : [
        {
          what: { identifier: { system: ownUri('request'), value: requestId } },
          type: { system: `${TERMINOLOGY}/audit-entity-type`, code: '4', display: 'Other' },
        },
      ]

const TYPE = { system: `${TERMINOLOGY}/audit-event-type`, code: 'rest' }
const SUBTYPE_SYSTEM = 'http://hl7.org/fhir/restful-interaction'

/** An entry of the audit, as of IHE's profile of basic audit log patterns. */
function auditEventOf(ehrId: string, entry: AuditEntry): FhirResource {
  const { action } = interactionOf(entry)
  const at = entry.at.toISOString()
  return {
    resourceType: 'AuditEvent',
    id: entry._id,
    meta: { versionId: '1', lastUpdated: at },
    type: { ...TYPE, display: 'RESTful Operation' },
    subtype: [subtypeOf(entry)],
    action,
    recorded: at,
    outcome: OUTCOMES[entry.outcome] ?? '0',
    agent: [
      { who: userReference(entry.userId), requestor: true },
      ...(entry.onBehalfOf === undefined ? [] : [{ who: userReference(entry.onBehalfOf), requestor: false }]),
      { name: entry.application, requestor: false },
    ],
    source: { observer: { display: SERVICE_NAME } },
    entity: [
      {
        what: { reference: `Patient/${ehrId}` },
        role: { system: `${TERMINOLOGY}/object-role`, code: '1', display: 'Patient' },
      },
      ...entry.ids
        .filter((id) => !(entry.type === 'Ehr' && id === ehrId))
        .map((id) => ({ what: whatOf(entry.type, id) })),
      ...(entry.asked
        ? [{ query: Buffer.from(entry.asked).toString('base64'), description: entry.type }]
        : []),
      ...requestsOf(entry),
    ],
  }
}

const PARAMETERS = {
  patient: { type: 'reference', description: 'Patient: the id of an EHR, which must be given' },
  date: { type: 'date', description: 'Time of the access' },
  type: { type: 'token', description: 'Type: always rest' },
  subtype: { type: 'token', description: 'Interaction: create, read, search-type, update or delete' },
  action: { type: 'token', description: 'Action: C, R, U, D, or E for a query' },
  outcome: { type: 'token', description: 'Outcome: 0 for success, 4 if the access was refused' },
  agent: { type: 'reference', description: 'User, by the id' },
  'agent-name': { type: 'string', description: 'Beginning of the name of the application' },
  entity: { type: 'reference', description: 'Resource that was accessed' },
} as const

type ParameterName = Exclude<keyof typeof PARAMETERS, 'patient'>

const interactionOf = ({ action }: AuditEntry) => ACTIONS[action] ?? { action: 'E', interaction: 'operation' }

const subtypeOf = (entry: AuditEntry) => ({ system: SUBTYPE_SYSTEM, code: interactionOf(entry).interaction })

/** The references to what an entry is about. */
const entitiesOf = ({ ehrId, type, ids }: AuditEntry) => [
  `Patient/${ehrId}`,
  ...ids.flatMap((id) => whatOf(type, id).reference ?? []),
]

/** Whether an entry matches the text of a search parameter. */
const TESTS: Readonly<Record<ParameterName, (entry: AuditEntry, text: string) => boolean>> = {
  date: ({ at }, text) => matchesPeriod(at.toISOString(), 'date', text),
  type: (_, text) => matchesToken(TYPE, text),
  subtype: (entry, text) => matchesToken(subtypeOf(entry), text),
  action: (entry, text) => matchesToken({ code: interactionOf(entry).action }, text),
  outcome: ({ outcome }, text) => matchesToken({ code: OUTCOMES[outcome] ?? '0' }, text),
  agent: ({ userId, onBehalfOf }, text) => [userId, onBehalfOf].includes(userIdOfSearch({ text })),
  'agent-name': ({ application }, text) => startsWithText(application, text),
  entity: (entry, text) => entitiesOf(entry).includes(text),
}

const matches = matchByTests(TESTS)

/** Entries of the audit. An app learns who accessed the data when, and what, if it may find that. */
class AuditEvents implements ResourceSource {
  readonly #types: ReadonlyMap<string, ResourceDescription>
  readonly #ehrs: Ehrs
  readonly #profiles: Profiles

  /** @param types those of the records that entries name */
  constructor(types: readonly ResourceDescription[], { ehrs, profiles }: FhirServices) {
    this.#types = new Map(types.map((one) => [one.type, one]))
    this.#ehrs = ehrs
    this.#profiles = profiles
  }

  /** An entry is found by its patient alone. */
  async read(): Promise<never> {
    throw new ServiceError('NotFound')
  }

  search(caller: Caller, search: ResourceSearch): Promise<FoundResources> {
    return searchWithin<AuditEntry>(search, {
      name: 'patient',
      readPage: async (patient, page) => {
        const ehrId = patientIdOf(patient)
        const { items, ...rest } = await this.#ehrs.listAccesses(caller, ehrId, page)
        return { ...rest, items: items.map((entry) => this.#withoutHidden(caller, ehrId, entry)) }
      },
      matches: matches,
      show: (entries, patient) => {
        const auditEvents = entries.map((entry) => auditEventOf(patientIdOf(patient), entry))
        return showKnownPractitioners(this.#profiles, caller, auditEvents)
      },
    })
  }

  /** An entry without the records that the scopes of the caller's app hide. */
  #withoutHidden(caller: Caller, ehrId: string, { asked, ...entry }: AuditEntry): AuditEntry {
    const form = formOf(entry.type)
    const haveCategory = (text: string) => isMapped(form) && form.search.category?.where({ text }) === true
    const description = this.#types.get(resourceTypeOf(entry.type) ?? '')
    if (!mayFindAll(caller, description, ehrId, haveCategory)) return { ...entry, type: 'Ehr', ids: [] }
    return { ...entry, ...(asked !== undefined && { asked }) }
  }
}

/** The audit of a patient, for those who may read it in the path family. Nobody writes it. */
export const auditEventType = (types: readonly ResourceDescription[]): ResourceType => ({
  type: 'AuditEvent',
  plural: 'accesses to the data of a patient',
  profiles: [],
  interactions: ['search-type'],
  parameters: PARAMETERS,
  sortedBy: undefined,
  searchErrors: ['Forbidden'],
  open: (services) => new AuditEvents(types, services),
})
