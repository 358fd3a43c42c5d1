import type { StoredEhr } from '../../records/ehrs/ehrs.ts'
import { EhrBody, EhrResource } from '../../schemas/ehr.ts'
import { answer } from '../answer/answer.ts'
import { list, pageAs } from '../operation/list.ts'
import { operation } from '../operation/operation.ts'
import { mounted } from './mounts.ts'

const source = 'Endpoints, EHR data; Endpoints, Medical data'

const ehrOf = ({ id, subjectId, createdAt, version }: StoredEhr): EhrResource => ({
  id,
  subjectId,
  createdAt,
  version,
})

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
          'As their subject, as one who made them, or as a participant of a care plan; the newest first.',
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
          'An EHR about somebody else, or about a person without an account, is written by its creator too.',
        source,
        access: 'user',
        body: EhrBody,
        reply: [201, EhrResource, 'versioned'],
        errors: ['Conflict'],
        handle: async ({ body: { subjectId } }, { caller, ehrs, newId }) => {
          const ehr = await ehrs.create(caller, subjectId ?? caller.userId, newId())
          return answer(ehrOf(ehr), { version: ehr.version, location: `/med/ehr/${ehr.id}` })
        },
      }),
  ),
  operation({
    id: 'deleteEhr',
    method: 'delete',
    path: '/med/ehr/{ehrId}',
    summary: 'Delete an EHR with all that is registered in it',
    description:
      'It is gone for everyone at once. For 30 days an administrator can bring it back, then it is removed for good; ' +
      'the audit stays.',
    source: 'Endpoints, Medical data',
    access: 'ehr:subject',
    reply: [204],
    handle: ({ params: { ehrId } }, { caller, ehrs, ifMatch }) => ehrs.remove(caller, ehrId, ifMatch),
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
