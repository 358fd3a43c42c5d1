import type { SeenEhr } from '../../records/ehrs/ehrs.ts'
import { EhrBody, EhrResource } from '../../schemas/ehr.ts'
import { answer } from '../answer/answer.ts'
import { list, pageAs } from '../operation/list.ts'
import { operation } from '../operation/operation.ts'
import { mounted } from './mounts.ts'

const agreed = 'EHR data: an EHR for another user counts once that user agrees'
const source = 'Endpoints, EHR data; Endpoints, Medical data'

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
          'As their subject, as one who made them, or as a participant of a care plan: first the one that came with the ' +
          'caller’s account, then the newest first.',
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
          'About oneself, or about a person without an account: that one is its creator’s, who may delete it. About ' +
          'another user it is pending: its creator’s alone until that user accepts it; made by an administrator it is ' +
          'that user’s at once. An account makes 100 at most.',
        source,
        access: 'user',
        body: EhrBody,
        reply: [201, EhrResource, 'versioned'],
        errors: ['Conflict', 'RuleViolated'],
        handle: async ({ body: { subjectId } }, { caller, ehrs, newId }) => {
          const ehr = await ehrs.create(caller, subjectId ?? caller.userId, newId())
          return answer(ehrOf(ehr), { version: ehr.version, location: `/med/ehr/${ehr.id}` })
        },
      }),
  ),
  list({
    id: 'listPendingEhrs',
    path: '/ehr/pending',
    summary: 'List the EHRs about the caller to which they have not agreed',
    description: 'The newest first. Nobody but their creators can see what is in them.',
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
    summary: 'Agree to an EHR that somebody else made about the caller',
    description:
      'From then on it is like any other about the caller, who reads and writes all that is in it. Who does not agree ' +
      'deletes it: `DELETE /med/ehr/{ehrId}`.',
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
    id: 'deleteEhr',
    method: 'delete',
    path: '/med/ehr/{ehrId}',
    summary: 'Delete an EHR with all that is registered in it',
    description:
      'It is gone for everyone at once. For 30 days an administrator can bring it back, then it is removed for good; ' +
      'the audit stays. An EHR about nobody of this service is deleted by its creator, a pending one by either of the two.',
    source: 'Endpoints, Medical data',
    access: 'ehr:remove',
    reply: [204],
    handle: ({ params: { ehrId } }, { caller, ehrs, expected }) => ehrs.remove(caller, ehrId, expected),
  }),
  operation({
    id: 'restoreEhr',
    method: 'post',
    path: '/med/ehr/{ehrId}/restore',
    summary: 'Bring back an EHR that was deleted less than 30 days ago',
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
