import { TERMINOLOGY, userReference } from '../../../records/fhir/elements.ts'
import type { FhirResource } from '../../../records/fhir/mapping.ts'
import { userIdOfSearch } from '../../../records/fhir/search/search-parameters.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import type { Page, PageRequest } from '../../../records/store/reading/pages.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { SERVICE_NAME } from '../../../schemas/text/service-name.ts'
import { parameterError } from '../../outcome/issue.ts'
import { matchesPeriod } from '../../search/search-period.ts'
import { matchByTests, searchWithin } from '../../search/search-within.ts'
import { limitHistory } from '../../sources/app-limits.ts'
import type { ResourceSearch } from '../../sources/resource-search.ts'
import type {
  FhirServices,
  FoundResources,
  ResourceSource,
  ResourceType,
  ResourceVersion,
} from '../../sources/resource-source.ts'
import { listVersions, type VersionSource } from '../list-versions.ts'
import { patientIdOf } from '../patients-of-caller.ts'
import { showKnownPractitioners } from '../people/practitioner-references.ts'

const PARTICIPANT_TYPES = `${TERMINOLOGY}/provenance-participant-type`

const agentOf = (code: string, who: object) => ({
  type: { coding: [{ system: PARTICIPANT_TYPES, code }] },
  who,
})

/** The author of a change, its time and the application. */
const provenanceOf = (change: ResourceVersion): FhirResource => {
  const { type, id, version, at, action, author } = change
  const { userId = '', application } = author ?? {}
  return {
    resourceType: 'Provenance',
    id: `${type}.${id}.${version}`,
    meta: { versionId: '1', lastUpdated: at },
    target: [{ reference: `${type}/${id}/_history/${version}` }],
    recorded: at,
    activity: { coding: [{ system: `${TERMINOLOGY}/v3-DataOperation`, code: action.toUpperCase() }] },
    agent: [
      // Changes that follow from others are the service's own.
      userId === ''
        ? agentOf('performer', { display: SERVICE_NAME })
        : agentOf('author', userReference(userId)),
      agentOf('assembler', { display: application ?? 'unknown' }),
    ],
  }
}

const TARGET = /^([A-Z][A-Za-z]+)\/([A-Za-z0-9.-]{1,64})(?:\/_history\/(\d{1,9}))?$/

/** Parses `Observation/m1`, or `Observation/m1/_history/3`. @throws InvalidInput; NotFound for another server's resource */
function parseTarget(text: string) {
  if (/^https?:\/\//.test(text)) throw new ServiceError('NotFound')
  const [, type, id, version] = TARGET.exec(text) ?? []
  if (type === undefined || id === undefined)
    throw parameterError('target', 'format', 'must be a reference, such as Observation/m1')
  return { type, id, version: version === undefined ? undefined : Number(version) }
}

/** Whether a change matches the text of a search parameter. */
const TESTS: Readonly<Record<string, (change: ResourceVersion, text: string) => boolean>> = {
  recorded: ({ at }, text) => matchesPeriod(at, 'recorded', text),
  agent: ({ author }, text) => author?.userId === userIdOfSearch({ text }),
  patient: ({ ehrId }, text) => ehrId === patientIdOf(text),
}

/** The changes of resources, from their histories. An app finds those of resources that it may find. */
class Provenances implements ResourceSource {
  readonly #types: ReadonlyMap<string, VersionSource>
  readonly #services: FhirServices

  constructor(types: readonly ResourceType[], services: FhirServices) {
    this.#types = new Map(
      types.map((description) => [description.type, { description, source: description.open(services) }]),
    )
    this.#services = services
  }

  /** A change is found by its target or the patient alone. */
  async read(): Promise<never> {
    throw new ServiceError('NotFound')
  }

  search(caller: Caller, search: ResourceSearch): Promise<FoundResources> {
    const isOfTarget = search.criteria.some(({ name }) => name === 'target')
    return searchWithin<ResourceVersion>(search, {
      missing: 'or patient must be given',
      name: isOfTarget || !search.criteria.some(({ name }) => name === 'patient') ? 'target' : 'patient',
      readPage: (value, page) =>
        isOfTarget ? this.#readTarget(caller, value, page) : this.#readPatient(caller, value, page),
      matches: matchByTests(TESTS),
      show: (versions) => showKnownPractitioners(this.#services.profiles, caller, versions.map(provenanceOf)),
    })
  }

  async #readTarget(caller: Caller, target: string, page: PageRequest): Promise<Page<ResourceVersion>> {
    const { type, id, version } = parseTarget(target)
    const { description, source } = this.#types.get(type) ?? {}
    if (!description || !source?.history) throw new ServiceError('NotFound')
    const { versions, next, total } = await source.history(caller, id, page)
    const visibleVersions = await limitHistory(caller, description, source, versions)
    const items = visibleVersions.filter((one) => version === undefined || one.version === version)
    const isCountable = total !== undefined && visibleVersions.length === versions.length
    return { items, next, ...(isCountable && { total }) }
  }

  async #readPatient(
    caller: Caller,
    patient: string,
    { limit, cursor, count }: PageRequest,
  ): Promise<Page<ResourceVersion>> {
    if (count) throw parameterError('_total', 'too-costly', 'can count only all changes of one target')
    const types = [...this.#types.values()]
    const page = { patient, _count: limit, ...(cursor !== undefined && { _cursor: cursor }) }
    const { versions, ...rest } = await listVersions(this.#services, caller, types, page)
    return { items: versions, ...rest }
  }
}

/** Who changed the resources of these types. Nobody writes it. */
export const provenanceType = (types: readonly ResourceType[]): ResourceType => ({
  type: 'Provenance',
  plural: 'changes of resources',
  profiles: [],
  interactions: ['search-type'],
  parameters: {
    target: {
      type: 'reference',
      description:
        'Resource, or one version of it: Observation/m4RtYu78Io. This or the patient must be given',
      references: { types: types.map(({ type }) => type), path: 'target[0]' },
    },
    patient: { type: 'reference', description: 'Patient whose data were changed: the id of an EHR' },
    recorded: { type: 'date', description: 'Time of the change' },
    agent: { type: 'reference', description: 'User, by the id' },
  },
  sortedBy: undefined,
  open: (services) => new Provenances(types, services),
})
