import type { SeenEhr } from '../../records/ehrs/ehrs.ts'
import { CanonicalStatus, EhrBody, EhrResource } from '../../schemas/ehr.ts'
import { answer } from '../answer/answer.ts'
import { list, pageAs } from '../operation/list.ts'
import { operation } from '../operation/operation.ts'
import { mounted } from './mounts.ts'

const agreed = 'EHR data: an EHR for another user counts once that user agrees'
const source = 'Endpoints, EHR data; Endpoints, Medical data'
const openEhr = 'Operations of our own: the status of an EHR'

const ehrOf = (stored: SeenEhr): EhrResource => {
  const { id, subjectId, creatorId = null, pending = false, createdAt, version } = stored
  return { id, subjectId, creatorId, pending, createdAt, version }
}

const mounts = [
  { path: '/ehr', of: '' },
  { path: '/med/ehr', of: 'Medical' },
] as const

export const ehrs = [
  ...mounted(
    mounts,
    ({ path, of }) =>
      list({
        id: `list${of}Ehrs`,
        path,
        summary: 'List the EHRs that the caller may see',
        description:
          'As their subject, as their creator, or as a participant of a care plan: first the one that came with the caller’s account, then newest first.',
        source,
        access: 'user',
        item: EhrResource,
        handle: async ({ page }, { caller, ehrs }) => pageAs(await ehrs.list(caller, page), ehrOf),
      }),
    ({ path, of }) =>
      operation({
        id: `create${of}Ehr`,
        kind: 'Ehr',
        method: 'post',
        path,
        summary: 'Create an EHR',
        description:
          'About yourself, or about a person without an account: such an EHR belongs to its creator, who may delete it. An EHR about another user is pending: only its creator can see it until that user accepts it; one created by an administrator belongs to that user at once. An account can create at most 100 at most.',
        source,
        access: 'user',
        body: EhrBody,
        reply: [201, EhrResource, 'versioned'],
        errors: ['Conflict', 'RuleViolated'],
        handle: async ({ body }, { caller, ehrStatuses, newId }) => {
          const ehr = await ehrStatuses.create(caller, newId(), body)
          return answer(ehrOf(ehr), { version: ehr.version, location: `/med/ehr/${ehr.id}` })
        },
      }),
  ),
  list({
    id: 'listPendingEhrs',
    path: '/ehr/pending',
    summary: 'List the EHRs about the caller that they have not accepted yet',
    description: 'The newest first. Only their creators can see what is in them.',
    source: agreed,
    extra: true,
    access: 'user',
    item: EhrResource,
    handle: async ({ page }, { caller, ehrs }) => pageAs(await ehrs.listPending(caller, page), ehrOf),
  }),
  operation({
    id: 'acceptEhr',
    method: 'post',
    path: '/ehr/{ehrId}/accept',
    summary: 'Accept an EHR that somebody else created about the caller',
    description:
      'From then on it is like any other EHR about the caller, who reads and writes everything in it. To decline, delete it: `DELETE /med/ehr/{ehrId}`.',
    source: agreed,
    extra: true,
    access: 'ehr:agree',
    reply: [200, EhrResource, 'versioned'],
    handle: async ({ params: { ehrId } }, { caller, ehrs }) => {
      const ehr = await ehrs.accept(caller, ehrId)
      return answer(ehrOf(ehr), { version: ehr.version })
    },
  }),
  operation({
    id: 'getEhrStatus',
    method: 'get',
    path: '/med/ehr/{ehrId}/status',
    summary: 'Show the status of an EHR',
    description: 'As an EHR_STATUS in canonical JSON.',
    source: openEhr,
    extra: true,
    access: 'ehr:read',
    reply: [200, CanonicalStatus, 'versioned'],
    handle: async ({ params: { ehrId } }, { caller, ehrStatuses }) => {
      const { object, version } = await ehrStatuses.get(caller, ehrId)
      return answer({ ...object }, { version })
    },
  }),
  operation({
    id: 'updateEhrStatus',
    method: 'put',
    path: '/med/ehr/{ehrId}/status',
    summary: 'Replace the status of an EHR',
    description: 'Every version is kept. An EHR that is not queryable is left out of queries over all EHRs.',
    source: openEhr,
    extra: true,
    access: 'ehr:write',
    ifMatch: 'required',
    body: CanonicalStatus,
    limits: { depth: 200 },
    reply: [200, CanonicalStatus, 'versioned'],
    handle: async ({ params: { ehrId }, body }, { caller, ehrStatuses, expected }) => {
      const { object, version } = await ehrStatuses.replace(caller, ehrId, body, expected)
      return answer({ ...object }, { version })
    },
  }),
  operation({
    id: 'deleteEhr',
    method: 'delete',
    path: '/med/ehr/{ehrId}',
    summary: 'Delete an EHR with everything registered in it',
    description:
      'It disappears for everyone at once. An administrator can restore it for 30 days; then it is removed for good, except for its audit. The creator can delete an EHR about a person who is no user of this service; a pending EHR can be deleted by its creator and by its subject.',
    source: 'Endpoints, Medical data',
    access: 'ehr:remove',
    reply: [204],
    handle: ({ params: { ehrId } }, { caller, ehrs, expected }) => ehrs.remove(caller, ehrId, expected),
  }),
  operation({
    id: 'restoreEhr',
    method: 'post',
    path: '/med/ehr/{ehrId}/restore',
    summary: 'Restore an EHR that was deleted less than 30 days ago',
    source: 'EHR data: deletion can be undone for 30 days',
    extra: true,
    access: 'admin',
    reply: [200, EhrResource, 'versioned'],
    handle: async ({ params: { ehrId } }, { caller, ehrs, again }) => {
      const ehr = await ehrs.restore(caller, ehrId, again)
      return answer(ehrOf(ehr), { version: ehr.version })
    },
  }),
]
