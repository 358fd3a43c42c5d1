import { Type } from '@sinclair/typebox'
import { deletableKinds } from '../../../records/kinds.ts'
import { DeletedRecordResource } from '../../../schemas/ehrs/deleted-record.ts'
import { defineListOperation, mapPage } from '../../operation/list-operation.ts'

export const deletedRecordOperations = [
  defineListOperation({
    id: 'listDeletedRecords',
    path: '/ehr/{ehrId}/deleted',
    summary: 'List the deleted records of an EHR',
    description:
      'Returns the records whose history the caller may read, the last deleted one first. Restored records are not in the list, nor are measurements of compositions, which go with these. A record whose care plan or goal was deleted later names it as its `deletedParent`: restore that first. A page may have fewer records than `limit` although there is a next page.',
    source: 'EHR data: who changed what, and the way back',
    extra: true,
    access: 'ehr:read',
    uncounted: true,
    query: {
      type: Type.Optional(
        Type.Unsafe<string>({
          type: 'string',
          enum: [...deletableKinds.keys()],
          description: 'Only records of this kind',
          examples: ['Diagnosis'],
        }),
      ),
    },
    item: DeletedRecordResource,
    handle: async ({ params: { ehrId }, query: { type }, page }, context) => {
      const { caller, deletedRecords, profiles, historyPathOf } = context
      const { items, ...rest } = await deletedRecords.list(caller, ehrId, page, type)
      const itemsWithAuthors = await profiles.persons.nameAuthors(caller, ehrId, items)
      return mapPage({ ...rest, items: itemsWithAuthors }, ({ record, ...deletion }) => ({
        ...deletion,
        id: record.id,
        version: record.version,
        history: historyPathOf(deletion.type, record) ?? '',
      }))
    },
  }),
]
