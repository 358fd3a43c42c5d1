import { type DeletedEhr, restorableUntil } from '../../../records/ehrs/deletion/deleted-ehrs.ts'
import type { EhrView } from '../../../records/ehrs/ehrs.ts'
import { CanonicalEhrStatus, DeletedEhrResource, EhrBody, EhrResource } from '../../../schemas/ehrs/ehr.ts'
import { defineListOperation, mapPage } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { replyWith } from '../../reply/reply.ts'
import { mountAtEach } from '../prefixes.ts'

const AGREEMENT_SOURCE = 'EHR data: an EHR for another user counts once that user agrees'
const ehrsSource = 'Endpoints, EHR data; Endpoints, Medical data'
const ehrStatusSource = 'Operations of our own: the status of an EHR'

const toEhr = (ehr: EhrView): EhrResource => {
  const { id, subjectId, creatorId = null, pending = false, createdAt, version } = ehr
  return { id, subjectId, creatorId, pending, createdAt, version }
}

const toDeletedEhr = ({ _id, at, document, returning }: DeletedEhr): DeletedEhrResource => ({
  id: _id,
  subjectId: String(document.subjectId),
  deletedAt: at.toISOString(),
  restorableUntil: restorableUntil({ at }).toISOString(),
  isReturning: returning === true,
})

const DELETION_SOURCE = 'EHR data: deletion can be undone for 30 days'

const EHR_COLLECTION_PREFIXES = [
  { path: '/ehr', idInfix: '' },
  { path: '/med/ehr', idInfix: 'Medical' },
] as const

export const ehrOperations = [
  ...mountAtEach(
    EHR_COLLECTION_PREFIXES,
    ({ path, idInfix }) =>
      defineListOperation({
        id: `list${idInfix}Ehrs`,
        path,
        summary: 'List the EHRs that the caller may see',
        description:
          'Returns the EHRs of which the caller is the subject, the creator, or a participant of a care plan. The EHR that came with the caller’s account comes first, then the newest.',
        source: ehrsSource,
        access: 'user',
        item: EhrResource,
        handle: async ({ page }, { caller, ehrs }) => mapPage(await ehrs.list(caller, page), toEhr),
      }),
    ({ path, idInfix }) =>
      defineOperation({
        id: `create${idInfix}Ehr`,
        kind: 'Ehr',
        method: 'post',
        path,
        summary: 'Create an EHR',
        description:
          'The EHR is about yourself or about a person without an account; in the latter case it belongs to its creator, who may delete it. An EHR about another user is pending: only its creator can see it until that user accepts it. An EHR created by an administrator belongs to the user at once. An account can create at most 100 EHRs.',
        source: ehrsSource,
        access: 'account',
        body: EhrBody,
        reply: [201, EhrResource, 'versioned'],
        errors: ['Conflict', 'RuleViolated'],
        handle: async ({ body }, { caller, ehrStatuses, newId }) => {
          const ehr = await ehrStatuses.create(caller, newId(), body)
          return replyWith(toEhr(ehr), { version: ehr.version })
        },
      }),
  ),
  defineListOperation({
    id: 'listPendingEhrs',
    path: '/ehr/pending',
    summary: 'List the EHRs about the caller that wait for acceptance',
    description: 'Newest first. Only the creator of such an EHR can see its data.',
    source: AGREEMENT_SOURCE,
    extra: true,
    access: 'account',
    item: EhrResource,
    handle: async ({ page }, { caller, ehrs }) => mapPage(await ehrs.listPending(caller, page), toEhr),
  }),
  defineOperation({
    id: 'acceptEhr',
    method: 'post',
    path: '/ehr/{ehrId}/accept',
    summary: 'Accept an EHR that another user created about the caller',
    description:
      'From then on it is like any other EHR about the caller, who can read and write everything in it. To decline it, call `DELETE /med/ehr/{ehrId}`.',
    source: AGREEMENT_SOURCE,
    extra: true,
    access: 'ehr:agree',
    reply: [200, EhrResource, 'versioned'],
    handle: async ({ params: { ehrId } }, { caller, ehrs }) => {
      const ehr = await ehrs.accept(caller, ehrId)
      return replyWith(toEhr(ehr), { version: ehr.version })
    },
  }),
  defineOperation({
    id: 'getEhrStatus',
    method: 'get',
    path: '/med/ehr/{ehrId}/status',
    summary: 'Get the status of an EHR',
    description: 'Returns an EHR_STATUS in canonical JSON.',
    source: ehrStatusSource,
    extra: true,
    access: 'ehr:read',
    reply: [200, CanonicalEhrStatus, 'versioned'],
    handle: async ({ params: { ehrId } }, { caller, ehrStatuses }) => {
      const { object, version } = await ehrStatuses.get(caller, ehrId)
      return replyWith({ ...object }, { version })
    },
  }),
  defineOperation({
    id: 'updateEhrStatus',
    method: 'put',
    path: '/med/ehr/{ehrId}/status',
    summary: 'Replace the status of an EHR',
    description:
      'Every version is kept. Queries over all EHRs skip an EHR that is not queryable. The status may name only the subject of the EHR.',
    source: ehrStatusSource,
    extra: true,
    access: 'ehr:write',
    ifMatch: 'required',
    body: CanonicalEhrStatus,
    limits: { depth: 200 },
    reply: [200, CanonicalEhrStatus, 'versioned'],
    errors: ['RuleViolated'],
    handle: async ({ params: { ehrId }, body }, { caller, ehrStatuses, ifMatch }) => {
      const { object, version } = await ehrStatuses.replace(caller, ehrId, body, ifMatch)
      return replyWith({ ...object }, { version })
    },
  }),
  defineOperation({
    id: 'deleteEhr',
    method: 'delete',
    path: '/med/ehr/{ehrId}',
    summary: 'Delete an EHR with everything registered in it',
    description:
      'The EHR disappears for everyone at once. An administrator can restore it for 30 days; afterwards it is erased, except for its audit. The creator can delete an EHR about a person without an account. The creator and the subject can delete a pending EHR.',
    source: 'Endpoints, Medical data',
    access: 'ehr:remove',
    reply: [204],
    handle: ({ params: { ehrId } }, { caller, ehrs, ifMatch }) => ehrs.remove(caller, ehrId, ifMatch),
  }),
  defineListOperation({
    id: 'listDeletedEhrs',
    path: '/ehr/deleted',
    summary: 'List the deleted EHRs that can be restored',
    description: 'The last deleted one first. An EHR can be restored for 30 days.',
    source: DELETION_SOURCE,
    extra: true,
    access: 'admin',
    item: DeletedEhrResource,
    handle: async ({ page }, { caller, ehrs }) => mapPage(await ehrs.listDeleted(caller, page), toDeletedEhr),
  }),
  defineOperation({
    id: 'restoreEhr',
    method: 'post',
    path: '/med/ehr/{ehrId}/restore',
    summary: 'Restore an EHR that was deleted less than 30 days ago',
    source: DELETION_SOURCE,
    extra: true,
    access: 'admin',
    reply: [200, EhrResource, 'versioned'],
    errors: ['Conflict'],
    handle: async ({ params: { ehrId } }, { caller, ehrs, isRetry }) => {
      const ehr = await ehrs.restore(caller, ehrId, isRetry)
      return replyWith(toEhr(ehr), { version: ehr.version })
    },
  }),
]
