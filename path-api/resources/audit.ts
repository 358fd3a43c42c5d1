import { AUDIT_MS, scopeIn } from '../../records/store/audit/trail.ts'
import { AccessEntry } from '../../schemas/access-entry.ts'
import { list, pageAs } from '../operation/list.ts'

export const audit = [
  list({
    id: 'listEhrAccesses',
    path: '/ehr/{ehrId}/audit',
    summary: 'List who saw and changed the data of an EHR',
    description: 'The newest first. Administrators can also read it after the EHR was deleted.',
    source: 'EHR data: every access is recorded, and the subject reads it',
    extra: true,
    access: 'ehr:subject',
    deadlineMs: AUDIT_MS,
    item: AccessEntry,
    handle: async ({ params: { ehrId }, page }, { caller, ehrs }) => {
      const found = await ehrs.accesses(caller, ehrId, page)
      return pageAs(
        found,
        ({ at, userId, application, action, type, ids, outcome, asked = null, requestId, ...about }) => ({
          at: at.toISOString(),
          ...{ userId, application, action, type, ids, outcome, asked, requestId },
          scope: scopeIn(ehrId, about),
        }),
      )
    },
  }),
]
