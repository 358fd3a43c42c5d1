import { TERMINOLOGY, userReference } from '../../../records/fhir/elements.ts'
import type { FhirResource } from '../../../records/fhir/mapping.ts'
import type { Profiles } from '../../../records/profiles/profiles.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { parameterError } from '../../outcome/issue.ts'
import { fitsPeriod } from '../../search/search-period.ts'
import { searchWithin } from '../../search/search-within.ts'
import type { ResourceSearch } from '../../sources/resource-search.ts'
import type {
  FoundResources,
  ResourceSource,
  ResourceType,
  ResourceVersion,
} from '../../sources/resource-source.ts'
import { showKnownPractitioners } from '../people/practitioner-references.ts'

const PARTICIPANT_TYPES = `${TERMINOLOGY}/provenance-participant-type`

const agentOf = (code: string, who: object) => ({
  type: { coding: [{ system: PARTICIPANT_TYPES, code }] },
  who,
})

/** Who changed a resource, when, and by which application. */
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
        ? agentOf('performer', { display: 'Health Record Service' })
        : agentOf('author', userReference(userId)),
      agentOf('assembler', { display: application ?? 'unknown' }),
    ],
  }
}

const TARGET = /(?:^|\/)([A-Z][A-Za-z]+)\/([A-Za-z0-9.-]{1,64})(?:\/_history\/(\d{1,9}))?$/

/** Parses `Observation/m1`, or `Observation/m1/_history/3`. @throws InvalidInput */
function parseTarget(text: string) {
  const [, type, id, version] = TARGET.exec(text) ?? []
  if (type === undefined || id === undefined)
    throw parameterError('target', 'format', 'must be a reference, such as Observation/m1')
  return { type, id, version: version === undefined ? undefined : Number(version) }
}

/** The changes of resources, from their histories. */
class Provenances implements ResourceSource {
  readonly #sources: ReadonlyMap<string, ResourceSource>
  readonly #profiles: Profiles

  constructor(sources: ReadonlyMap<string, ResourceSource>, profiles: Profiles) {
    this.#sources = sources
    this.#profiles = profiles
  }

  /** A change is found by its target alone. */
  async read(): Promise<never> {
    throw new ServiceError('NotFound')
  }

  search(caller: Caller, search: ResourceSearch): Promise<FoundResources> {
    return searchWithin<ResourceVersion>(search, {
      name: 'target',
      readPage: async (target, page) => {
        const { type, id, version } = parseTarget(target)
        const source = this.#sources.get(type)
        if (!source?.history) throw new ServiceError('NotFound')
        const { versions, next, total } = await source.history(caller, id, page)
        const items = versions.filter((one) => version === undefined || one.version === version)
        return { items, next, ...(total !== undefined && { total }) }
      },
      fits: ({ at }, { values }) => values.some((text) => fitsPeriod(at, 'recorded', text)),
      show: (versions) => showKnownPractitioners(this.#profiles, caller, versions.map(provenanceOf)),
    })
  }
}

/** Who changed the resources of these types. Nobody writes it. */
export const provenanceType = (types: readonly ResourceType[]): ResourceType => ({
  type: 'Provenance',
  plural: 'changes of a resource',
  profiles: [],
  interactions: ['search-type'],
  parameters: {
    target: {
      type: 'reference',
      description: 'Resource, or one version of it, which must be given: Observation/m4RtYu78Io',
    },
    recorded: { type: 'date', description: 'Time of the change' },
  },
  sortedBy: undefined,
  open: (services) =>
    new Provenances(new Map(types.map((one) => [one.type, one.open(services)])), services.profiles),
})
