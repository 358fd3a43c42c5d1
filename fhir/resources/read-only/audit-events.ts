import type { Ehrs } from '../../../records/ehrs/ehrs.ts'
import { ownUri, referencedId, TERMINOLOGY } from '../../../records/fhir/elements.ts'
import { type FhirResource, isMapped } from '../../../records/fhir/mapping.ts'
import { parseToken } from '../../../records/fhir/search-values.ts'
import { classKindOf, isClassName } from '../../../records/kinds.ts'
import type { AuditEntry } from '../../../records/store/audit/audit-log.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import type { Page } from '../../../records/store/reading/pages.ts'
import { ifNotFound, ServiceError } from '../../../schemas/errors.ts'
import { parameterError, requireKnownModifier } from '../../outcome/issue.ts'
import { fitsPeriod } from '../../search/search-period.ts'
import type { ResourceSearch, SearchCriterion } from '../../sources/resource-search.ts'
import type { FoundResources, ResourceSource, ResourceType } from '../../sources/resource-source.ts'

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

const userOf = (userId: string) => ({ identifier: { system: ownUri('user'), value: userId } })

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
      { who: userOf(entry.userId), requestor: true },
      ...(entry.onBehalfOf === undefined ? [] : [{ who: userOf(entry.onBehalfOf), requestor: false }]),
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
      ...(entry.asked === undefined
        ? []
        : [{ query: Buffer.from(entry.asked).toString('base64'), description: entry.type }]),
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
      : TEXTS[name]?.(entry) === (parseToken(text).code ?? '').replace(/^Practitioner\//, ''),
  )

/** A search does not tell whether a patient exists. */
const noneIfUnknown = ifNotFound<Page<AuditEntry>>({ items: [], next: null, total: 0 })

/** A page has fewer entries than asked for if some do not fit; the next link goes on behind them. */
class AuditEvents implements ResourceSource {
  readonly #ehrs: Ehrs

  constructor(ehrs: Ehrs) {
    this.#ehrs = ehrs
  }

  /** An entry is found by its patient alone. */
  async read(): Promise<never> {
    throw new ServiceError('NotFound')
  }

  async search(caller: Caller, { criteria, count, after, total }: ResourceSearch): Promise<FoundResources> {
    const [named, ...others] = criteria.filter(({ name }) => name === 'patient')
    const [value, ...more] = named?.values ?? []
    const rest = criteria.filter(({ name }) => name !== 'patient')
    for (const criterion of criteria) requireKnownModifier(criterion)
    if (value === undefined || others.length + more.length > 0)
      throw parameterError('patient', 'required', 'must name one patient')
    if (total && rest.length > 0)
      throw parameterError('_total', 'too-costly', 'can count only all entries of a patient')
    const ehrId = referencedId(value, 'Patient') ?? value
    const page = { limit: Math.max(count, 1), cursor: after, count: total }
    const {
      items,
      next,
      total: all,
    } = await this.#ehrs.listAccesses(caller, ehrId, page).catch(noneIfUnknown)
    const found = items.filter((entry) => rest.every((criterion) => fits(entry, criterion)))
    return {
      resources: count === 0 ? [] : found.map((entry) => auditEventOf(ehrId, entry)),
      ...(next !== null && count > 0 && { next }),
      ...(all !== undefined && { total: all }),
    }
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
  open: ({ ehrs }) => new AuditEvents(ehrs),
}
