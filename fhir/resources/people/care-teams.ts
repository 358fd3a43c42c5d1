import type {
  Participants,
  StoredParticipation,
} from '../../../records/care-plans/participants/participants.ts'
import type { PlanParentIds } from '../../../records/ehr-records/parents/parents.ts'
import { ownUri, userIdOf, userReference } from '../../../records/fhir/elements.ts'
import type { FhirResource } from '../../../records/fhir/mapping.ts'
import {
  type FhirSearchParameter,
  userIdOfSearch,
  wordToken,
} from '../../../records/fhir/search/search-parameters.ts'
import { classKindOf } from '../../../records/kinds.ts'
import type { Profiles } from '../../../records/profiles/profiles.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import { requireKnownModifier } from '../../outcome/issue.ts'
import { matchesPeriod } from '../../search/search-period.ts'
import { matchByTests } from '../../search/search-within.ts'
import type { ResourceSearch } from '../../sources/resource-search.ts'
import type {
  FhirServices,
  FoundResources,
  RecordsOf,
  ResourceSource,
  ResourceType,
} from '../../sources/resource-source.ts'
import { type MappedKind, type ResourceStream, streamsOf } from '../kinds/kind-streams.ts'
import { searchStreams } from '../kinds/search-streams.ts'
import { PATIENT_PARAMETERS } from '../patients-of-caller.ts'
import type { RecordWithMetadata } from '../render.ts'
import { showKnownPractitioners } from './practitioner-references.ts'

const CarePlan = classKindOf('CarePlan') as MappedKind

const STATUSES = { ACTIVE: 'active', COMPLETED: 'inactive', CANCELLED: 'inactive' }

/** The most participants of a team that one query reads. */
const MAX_PARTICIPANTS_PER_QUERY = 1000
/** The most teams of a page. Each costs a query. */
const MAX_TEAMS = 100

/** The care plan as its team, which still lacks the participants. */
const teamOf = (record: RecordWithMetadata): FhirResource => ({
  resourceType: 'CareTeam',
  id: record.id,
  meta: { versionId: String(record.version), lastUpdated: record.updatedAt },
  status: STATUSES[record.status as keyof typeof STATUSES] ?? 'active',
  name: record.name,
  subject: { reference: `Patient/${record.ehrId}` },
})

const participantOf = ({ mvUid, role, start, end, status, updatedAt, access }: StoredParticipation) => {
  const periodEnd = status === 'ARCHIVED' && (end === undefined || updatedAt < end) ? updatedAt : end
  return {
    extension: [{ url: ownUri('access'), valueCode: access }],
    ...(role !== undefined && { role: [{ text: role }] }),
    member: userReference(mvUid),
    // Who is archived before the start has no period.
    ...((periodEnd === undefined || start <= periodEnd) && {
      period: { start, ...(periodEnd && { end: periodEnd }) },
    }),
  }
}

/** A version that grows with each change of the plan, or of a participant. */
function withParticipants(team: FhirResource, participants: readonly StoredParticipation[]): FhirResource {
  const { versionId, lastUpdated } = team.meta as { versionId: string; lastUpdated: string }
  const version = participants.reduce((sum, one) => sum + one.version, 0)
  const changes = [lastUpdated, ...participants.map(({ updatedAt }) => updatedAt)]
  return {
    ...team,
    meta: { versionId: `${versionId}.${version}`, lastUpdated: changes.sort().at(-1) },
    ...(participants.length > 0 && { participant: participants.map(participantOf) }),
  }
}

const STATUS = wordToken('Status: active, or inactive after the end of the plan', 'status', STATUSES)

const [plans] = streamsOf(CarePlan) as [ResourceStream]

const stream: ResourceStream = {
  ...plans,
  parameters: {
    _id: plans.parameters._id as FhirSearchParameter,
    status: STATUS,
  },
  render: teamOf,
}

/** Whether a team matches the text of a parameter that its plan does not decide. Then a page may be short. */
const TESTS: Readonly<Record<string, (team: FhirResource, text: string) => boolean>> = {
  _lastUpdated: ({ meta }, text) =>
    matchesPeriod((meta as { lastUpdated: string }).lastUpdated, '_lastUpdated', text),
  participant: ({ participant = [] }, text) =>
    (participant as { member: unknown }[]).some(
      ({ member }) => userIdOf(member) === userIdOfSearch({ text }),
    ),
}

const matches = matchByTests(TESTS)

/** The participants of care plans. */
class CareTeams implements ResourceSource {
  readonly #context: StoreContext
  readonly #recordsOf: RecordsOf
  readonly #participants: Pick<Participants, 'list'>
  readonly #profiles: Profiles

  constructor({ context, recordsOf, participants, profiles }: FhirServices) {
    this.#context = context
    this.#recordsOf = recordsOf
    this.#participants = participants
    this.#profiles = profiles
  }

  async read(caller: Caller, id: string): Promise<FhirResource> {
    const plan = await this.#recordsOf(CarePlan).store.get(caller, { id } as never)
    const [team] = await this.#complete(caller, [teamOf(plan as unknown as RecordWithMetadata)])
    return team as FhirResource
  }

  async search(caller: Caller, search: ResourceSearch): Promise<FoundResources> {
    const teamCriteria = search.criteria.filter(({ name }) => Object.hasOwn(TESTS, name))
    const criteria = search.criteria.filter((one) => !teamCriteria.includes(one))
    for (const criterion of teamCriteria) requireKnownModifier(criterion)
    const source = { context: this.#context, recordsOf: this.#recordsOf, streams: [stream] }
    const { resources, total, ...rest } = await searchStreams(source, caller, {
      ...search,
      criteria,
      count: Math.min(search.count, MAX_TEAMS),
    })
    const teams = await this.#complete(caller, resources)
    return {
      ...rest,
      resources: teams.filter((team) => teamCriteria.every((one) => matches(team, one))),
      ...(teamCriteria.length === 0 && total !== undefined && { total }),
    }
  }

  async #listParticipants(caller: Caller, parentIds: PlanParentIds): Promise<StoredParticipation[]> {
    const participations: StoredParticipation[] = []
    let cursor: string | undefined
    do {
      const page = { limit: MAX_PARTICIPANTS_PER_QUERY, ...(cursor !== undefined && { cursor }) }
      const { items, next } = await this.#participants.list(caller, parentIds, undefined, page)
      participations.push(...items)
      cursor = next ?? undefined
    } while (cursor !== undefined)
    return participations
  }

  async #complete(caller: Caller, teams: readonly FhirResource[]): Promise<FhirResource[]> {
    const complete = teams.map(async (team) => {
      const { reference } = team.subject as { reference: string }
      const parentIds = { ehrId: reference.replace('Patient/', ''), carePlanId: String(team.id) }
      return withParticipants(team, await this.#listParticipants(caller, parentIds))
    })
    return showKnownPractitioners(this.#profiles, caller, await Promise.all(complete))
  }
}

/** The participants of each care plan, with role and period. The id is that of the plan. */
export const careTeamType: ResourceType = {
  type: 'CareTeam',
  plural: 'participants of care plans',
  profiles: [],
  interactions: ['read', 'search-type'],
  parameters: {
    ...PATIENT_PARAMETERS,
    _lastUpdated: { type: 'date', description: 'Time of the last change of the plan or a participant' },
    _id: { type: 'token', description: 'Id of the care plan' },
    status: STATUS,
    participant: { type: 'reference', description: 'Participant: the id of a user' },
  },
  sortedBy: undefined,
  open: (services) => new CareTeams(services),
}
