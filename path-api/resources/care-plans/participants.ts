import { Type } from '@sinclair/typebox'
import type { StoredParticipation } from '../../../records/care-plans/participants/participants.ts'
import type { PlanParentIds } from '../../../records/ehr-records/parents/parents.ts'
import {
  ParticipationBody,
  ParticipationReplacement,
  ParticipationResource,
} from '../../../schemas/care-plans/participation.ts'
import { ParticipationStatusEnum } from '../../../schemas/enums.ts'
import type { Context } from '../../operation/context.ts'
import { defineListOperation, mapPage } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { requireSameId } from '../../operation/path-parameters.ts'
import { replyWith } from '../../reply/reply.ts'
import { mountAtEach } from '../prefixes.ts'

const participantsSource = 'Endpoints, EHR data; Endpoints, Medical data'

/** Both prefixes have the same operations; /med calls the care plan `owner`. */
const PARTICIPANT_PREFIXES = [
  { path: '/ehr/{ehrId}/careplan/{careplanId}/participant', idInfix: '' },
  { path: '/med/{ehrId}/careplan/{ownerId}/participant', idInfix: 'Medical' },
] as const

type ParticipantParams = Readonly<Record<string, string>>

const carePlanKeyOf = ({ ehrId = '', careplanId, ownerId }: ParticipantParams) => ({
  ehrId,
  carePlanId: careplanId ?? ownerId ?? '',
})
const participationKeyOf = (params: ParticipantParams) => ({
  id: params.participationId ?? '',
  ...carePlanKeyOf(params),
})

type ParticipantContext = Pick<Context<'plan:read'>, 'caller' | 'carePlans' | 'profiles'>

const toParticipation = (
  { id, mvUid, role, access, start, end, status, version }: StoredParticipation,
  names: ReadonlyMap<string, string>,
): ParticipationResource => ({
  participationId: id,
  mvUid,
  name: names.get(mvUid) ?? null,
  role: role ?? null,
  access,
  start,
  end: end ?? null,
  status,
  version,
})

/** The names of participants of one plan, as far as the caller may know them. */
async function findNames(
  { caller, carePlans, profiles }: ParticipantContext,
  parentIds: PlanParentIds,
  participations: readonly StoredParticipation[],
): Promise<ReadonlyMap<string, string>> {
  const isNamed = participations.length > 0 && (await carePlans.participants.mayLearnNames(caller, parentIds))
  const mvUids = participations.map(({ mvUid }) => mvUid)
  return isNamed ? profiles.persons.namesKnownTo(caller, mvUids) : new Map()
}

async function replyWithParticipation(
  context: ParticipantContext,
  participation: StoredParticipation,
  location?: string,
) {
  const names = await findNames(context, participation, [participation])
  const { version } = participation
  return replyWith(toParticipation(participation, names), { version, ...(location && { location }) })
}

type ParticipantPrefix = (typeof PARTICIPANT_PREFIXES)[number]

const listParticipants = ({ path, idInfix }: ParticipantPrefix) =>
  defineListOperation({
    id: `list${idInfix}Participants`,
    path,
    summary: 'List the participants of a care plan',
    description: 'Oldest first. The subject of the EHR takes part in every plan and is not listed.',
    source: participantsSource,
    access: 'plan:read',
    query: { status: Type.Optional(ParticipationStatusEnum) },
    item: ParticipationResource,
    order: 'asc',
    handle: async ({ params, query: { status }, page }, context) => {
      const parentIds = carePlanKeyOf(params)
      const participations = await context.carePlans.participants.list(
        context.caller,
        parentIds,
        status,
        page,
      )
      const names = await findNames(context, parentIds, participations.items)
      return mapPage(participations, (one) => toParticipation(one, names))
    },
  })

const addParticipant = ({ path, idInfix }: ParticipantPrefix) =>
  defineOperation({
    id: `add${idInfix}Participant`,
    method: 'post',
    path,
    summary: 'Create a participant of a care plan',
    description:
      'The participant sees the plan with everything registered in it and the records of the EHR outside of plans, but nothing of other plans. A mail informs the participant without naming the subject or the plan.',
    source: participantsSource,
    access: 'plan:manage',
    body: ParticipationBody,
    reply: [201, ParticipationResource, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params, body }, context) => {
      const { caller, carePlans, newId } = context
      const parentIds = carePlanKeyOf(params)
      const participation = await carePlans.participants.create(caller, parentIds, body, newId())
      const location = path
        .replace('{ehrId}', parentIds.ehrId)
        .replace(/\{(careplanId|ownerId)\}/, parentIds.carePlanId)
      return replyWithParticipation(context, participation, `${location}/${participation.id}`)
    },
  })

const getParticipant = ({ path, idInfix }: ParticipantPrefix) =>
  defineOperation({
    id: `get${idInfix}Participant`,
    method: 'get',
    path: `${path}/{participationId}`,
    summary: 'Get a participant of a care plan',
    source: participantsSource,
    access: 'plan:read',
    reply: [200, ParticipationResource, 'versioned'],
    handle: async ({ params }, context) => {
      const { caller, carePlans } = context
      const participation = await carePlans.participants.get(caller, participationKeyOf(params))
      return replyWithParticipation(context, participation)
    },
  })

const updateParticipant = ({ path, idInfix }: ParticipantPrefix) =>
  defineOperation({
    id: `update${idInfix}Participant`,
    method: 'put',
    path: `${path}/{participationId}`,
    summary: 'Replace the access of a participant',
    source: participantsSource,
    access: 'plan:manage',
    body: ParticipationReplacement,
    reply: [200, ParticipationResource, 'versioned'],
    errors: ['IdMismatch', 'RuleViolated'],
    handle: async ({ params, body: { participationId, ...body } }, context) => {
      const { caller, carePlans, ifMatch } = context
      const key = participationKeyOf(params)
      requireSameId('participationId', participationId, key.id)
      const next = await carePlans.participants.replace(caller, key, body, { expected: ifMatch })
      return replyWithParticipation(context, next)
    },
  })

const archiveParticipant = ({ path, idInfix }: ParticipantPrefix) =>
  defineOperation({
    id: `archive${idInfix}Participant`,
    method: 'delete',
    path: `${path}/{participationId}`,
    summary: 'Archive a participant, who then has no access',
    source: participantsSource,
    access: 'plan:manage',
    reply: [204],
    handle: ({ params }, { caller, carePlans, ifMatch }) =>
      carePlans.participants.archive(caller, participationKeyOf(params), { expected: ifMatch }),
  })

export const participantOperations = mountAtEach(
  PARTICIPANT_PREFIXES,
  listParticipants,
  addParticipant,
  getParticipant,
  updateParticipant,
  archiveParticipant,
)
