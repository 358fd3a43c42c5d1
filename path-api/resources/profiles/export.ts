import { Readable } from 'node:stream'
import { defineOperation } from '../../operation/operation.ts'
import { rawBody } from '../../reply/body-media.ts'
import { replyWith } from '../../reply/reply.ts'

export const exportOperations = [
  defineOperation({
    id: 'exportPerson',
    method: 'get',
    path: '/profile/{mvUid}/export',
    summary: 'Export all data about a person',
    description:
      'Returns one JSON object per line: `{"kind", "data"}`. Contains the account, its sessions and apps, the profile with its history, the conversations with other users, the participations in care plans, and the EHRs about the person with the readable records and the accesses. Read marks and former versions of messages are those of the person.',
    source: 'people have a right to their data',
    extra: true,
    access: 'person',
    reply: [200, rawBody('application/x-ndjson')],
    guardedAccount: ({ params }) => params.mvUid,
    handle: ({ params: { mvUid } }, { caller, profiles }) =>
      replyWith(Readable.from(profiles.export(caller, mvUid)), {
        headers: { 'content-disposition': `attachment; filename="${mvUid}.ndjson"` },
      }),
  }),
]
