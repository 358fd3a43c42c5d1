import { Composition } from '../../../records/compositions/composition-record.ts'
import type { Ehrs } from '../../../records/ehrs/ehrs.ts'
import {
  ownUri,
  referencedId,
  TERMINOLOGY,
  userIdOfPractitioner,
  userReference,
} from '../../../records/fhir/elements.ts'
import { type FhirResource, isMapped } from '../../../records/fhir/mapping.ts'
import { parseToken } from '../../../records/fhir/search-values.ts'
import { classKindOf, isClassName } from '../../../records/kinds.ts'
import type { Profiles } from '../../../records/profiles/profiles.ts'
import type { AuditEntry } from '../../../records/store/audit/audit-log.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { fitsPeriod } from '../../search/search-period.ts'
import { searchWithin } from '../../search/search-within.ts'
import type { ResourceSearch, SearchCriterion } from '../../sources/resource-search.ts'
import type { FoundResources, ResourceSource, ResourceType } from '../../sources/resource-source.ts'
import { patientIdOf } from '../patients-of-caller.ts'
import { showKnownPractitioners } from '../people/practitioner-references.ts'

const ACTIONS: Readonly<Record<string, { action: string; interaction: string }>> = {
  create: { action: 'C', interaction: 'create' },
  read: { action: 'R', interaction: 'read' },
  query: { action: 'E', interaction: 'search-type' },
  update: { action: 'U', interaction: 'update' },
  delete: { action: 'D', interaction: 'delete' },
}

const OUTCOMES: Readonly<Record<string, string>> = { done: '0', denied: '4', refused: '4' }

/** A record that was accessed: by its resource, or by its id if FHIR does not show it. */
function whatOf(type: string, id: string) {
  if (type === 'Ehr') return { reference: `Patient/${id}` }
  if (type === Composition.collection) return { reference: `DocumentReference/${id}` }
  const form = isClassName(type) ? classKindOf(type).fhir : undefined
  return isMapped(form)
    ? { reference: `${form.type}/${id}` }
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

/** An entry of the audit, as of IHE's profile of basic audit log patterns. */
function auditEventOf(ehrId: string, entry: AuditEntry): FhirResource {
  const { action, interaction } = ACTIONS[entry.action] ?? { action: 'E', interaction: 'operation' }
  const at = entry.at.toISOString()
  return {
    resourceType: 'AuditEvent',
    id: entry._id,
    meta: { versionId: '1', lastUpdated: at },
    type: { system: `${TERMINOLOGY}/audit-event-type`, code: 'rest', display: 'RESTful Operation' },
    subtype: [{ system: 'http://hl7.org/fhir/restful-interaction', code: interaction }],
    action,
    recorded: at,
    outcome: OUTCOMES[entry.outcome] ?? '0',
    agent: [
      { who: userReference(entry.userId), requestor: true },
      ...(entry.onBehalfOf === undefined ? [] : [{ who: userReference(entry.onBehalfOf), requestor: false }]),
      { name: entry.application, requestor: false },
    ],
    source: { observer: { display: 'Health Record Service' } },
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
  action: { type: 'token', description: 'Action: C, R, U, D, or E for a query' },
  outcome: { type: 'token', description: 'Outcome: 0 for success, 4 if the access was refused' },
  agent: { type: 'reference', description: 'User, by the id' },
} as const

/** The texts of an event by search parameter. */
const TEXTS: Readonly<Record<string, (entry: AuditEntry) => string>> = {
  action: ({ action }) => ACTIONS[action]?.action ?? 'E',
  outcome: ({ outcome }) => OUTCOMES[outcome] ?? '0',
  agent: ({ userId }) => userId,
}

const fits = (entry: AuditEntry, { name, values }: SearchCriterion): boolean =>
  values.some((text) =>
    name === 'date'
      ? fitsPeriod(entry.at.toISOString(), name, text)
      : TEXTS[name]?.(entry) === (name === 'agent' ? agentIdOf(text) : parseToken(text).code),
  )

const agentIdOf = (text: string): string => userIdOfPractitioner(referencedId(text, 'Practitioner') ?? text)

class AuditEvents implements ResourceSource {
  readonly #ehrs: Ehrs
  readonly #profiles: Profiles

  constructor(ehrs: Ehrs, profiles: Profiles) {
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
      readPage: (patient, page) => this.#ehrs.listAccesses(caller, patientIdOf(patient), page),
      fits,
      show: (entries, patient) => {
        const shown = entries.map((entry) => auditEventOf(patientIdOf(patient), entry))
        return showKnownPractitioners(this.#profiles, caller, shown)
      },
    })
  }
}

/** The audit of a patient, for those who may read it in the path family. Nobody writes it. */
export const auditEventType: ResourceType = {
  type: 'AuditEvent',
  plural: 'accesses to the data of a patient',
  profiles: [],
  interactions: ['search-type'],
  parameters: PARAMETERS,
  sortedBy: undefined,
  searchErrors: ['Forbidden'],
  open: ({ ehrs, profiles }) => new AuditEvents(ehrs, profiles),
}
