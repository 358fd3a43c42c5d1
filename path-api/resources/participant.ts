import { Type } from '@sinclair/typebox'
import type { StoredParticipation } from '../../records/care-plans/participants/participants.ts'
import { ParticipationStatusEnum } from '../../schemas/enum.ts'
import {
  ParticipationBody,
  ParticipationReplacement,
  ParticipationResource,
} from '../../schemas/participation.ts'
import { answer } from '../answer/answer.ts'
import { list, pageAs } from '../operation/list.ts'
import { operation } from '../operation/operation.ts'
import { requireSameId } from '../operation/parameters.ts'
import { mounted } from './mounts.ts'

const source = 'Endpoints, EHR data; Endpoints, Medical data'

/** The same operations; below /med the care plan is called the owner. */
const mounts = [
  { path: '/ehr/{ehrId}/careplan/{careplanId}/participant', of: '' },
  { path: '/med/{ehrId}/careplan/{ownerId}/participant', of: 'Medical' },
] as const

type Params = Readonly<Record<string, string>>

const placeOf = ({ ehrId = '', careplanId, ownerId }: Params) => ({
  ehrId,
  carePlanId: careplanId ?? ownerId ?? '',
})
const keyOf = (params: Params) => ({ id: params.participationId ?? '', ...placeOf(params) })

const participationOf = (stored: StoredParticipation): ParticipationResource => {
  const { id, mvUid, role = null, access, start, end = null, status, version } = stored
  return { participationId: id, mvUid, role, access, start, end, status, version }
}

const answerWith = (stored: StoredParticipation) =>
  answer(participationOf(stored), { version: stored.version })

type Mount = (typeof mounts)[number]

const listing = ({ path, of }: Mount) =>
  list({
    id: `list${of}Participants`,
    path,
    summary: 'List the participants of a care plan',
    description: 'Oldest first. The subject of the EHR takes part in all of its plans and is not listed.',
    source,
    access: 'plan:read',
    query: { status: Type.Optional(ParticipationStatusEnum) },
    item: ParticipationResource,
    order: 'asc',
    handle: async ({ params, query: { status }, page }, { caller, carePlans }) =>
      pageAs(await carePlans.participants.list(caller, placeOf(params), status, page), participationOf),
  })

const adding = ({ path, of }: Mount) =>
  operation({
    id: `add${of}Participant`,
    method: 'post',
    path,
    summary: 'Add a participant to a care plan',
    description:
      'The participant sees the plan with everything registered in it, what is registered in the EHR outside of plans, and nothing of other plans. A mail tells the participant, without naming the person or the plan.',
    source,
    access: 'plan:manage',
    body: ParticipationBody,
    reply: [201, ParticipationResource, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params, body }, { caller, carePlans, newId }) => {
      const place = placeOf(params)
      const added = await carePlans.participants.create(caller, place, body, newId())
      const location = path
        .replace('{ehrId}', place.ehrId)
        .replace(/\{(careplanId|ownerId)\}/, place.carePlanId)
      return answer(participationOf(added), { version: added.version, location: `${location}/${added.id}` })
    },
  })

const showing = ({ path, of }: Mount) =>
  operation({
    id: `get${of}Participant`,
    method: 'get',
    path: `${path}/{participationId}`,
    summary: 'Show a participant of a care plan',
    source,
    access: 'plan:read',
    reply: [200, ParticipationResource, 'versioned'],
    handle: async ({ params }, { caller, carePlans }) =>
      answerWith(await carePlans.participants.get(caller, keyOf(params))),
  })

const updating = ({ path, of }: Mount) =>
  operation({
    id: `update${of}Participant`,
    method: 'put',
    path: `${path}/{participationId}`,
    summary: 'Replace the access of a participant',
    source,
    access: 'plan:manage',
    body: ParticipationReplacement,
    reply: [200, ParticipationResource, 'versioned'],
    errors: ['IdMismatch', 'RuleViolated'],
    handle: async ({ params, body: { participationId, ...body } }, { caller, carePlans, expected }) => {
      const key = keyOf(params)
      if (participationId !== undefined) requireSameId('participationId', participationId, key.id)
      return answerWith(await carePlans.participants.replace(caller, key, body, { expected }))
    },
  })

const archiving = ({ path, of }: Mount) =>
  operation({
    id: `archive${of}Participant`,
    method: 'delete',
    path: `${path}/{participationId}`,
    summary: 'Archive a participant: kept, without access',
    source,
    access: 'plan:manage',
    reply: [204],
    handle: ({ params }, { caller, carePlans, expected }) =>
      carePlans.participants.archive(caller, keyOf(params), { expected }),
  })

export const participants = mounted(mounts, listing, adding, showing, updating, archiving)
