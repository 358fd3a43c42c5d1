import { Type } from '@sinclair/typebox'
import { AUDIT_QUERY_TIMEOUT_MS } from '../../../records/store/audit/audit-log.ts'
import { AccessEntry, accessScopeOf } from '../../../schemas/ehrs/access-entry.ts'
import { defineListOperation, mapPage } from '../../operation/list-operation.ts'

export const ehrAccessOperations = [
  defineListOperation({
    id: 'listEhrAccesses',
    path: '/ehr/{ehrId}/audit',
    summary: 'List the accesses to the data of an EHR',
    description: 'Newest first. Administrators can read the list after the EHR was deleted, too.',
    source: 'EHR data: every access is recorded, and the subject reads it',
    extra: true,
    access: 'ehr:subject',
    deadlineMs: AUDIT_QUERY_TIMEOUT_MS,
    query: {
      from: Type.Optional(
        Type.String({ format: 'date-time', description: 'Only accesses at this time or later' }),
      ),
      others: Type.Optional(
        Type.Boolean({ description: 'True to leave out the accesses of the caller', examples: [true] }),
      ),
    },
    item: AccessEntry,
    handle: async ({ params: { ehrId }, query: { from, others }, page }, { caller, ehrs, profiles }) => {
      const except = others ? caller.userId : undefined
      const accesses = await ehrs.listAccesses(caller, ehrId, page, { from, except })
      const names = await profiles.persons.namesOf(accesses.items.map(({ userId }) => userId))
      return mapPage(
        accesses,
        ({
          at,
          userId,
          onBehalfOf = null,
          application,
          action,
          type,
          ids,
          outcome,
          asked = null,
          requestId,
          ...location
        }) => ({
          at: at.toISOString(),
          userId,
          onBehalfOf,
          application,
          action,
          type,
          ids,
          outcome,
          asked,
          requestId,
          userName: names.get(userId) ?? null,
          scope: accessScopeOf(ehrId, location),
        }),
      )
    },
  }),
]
