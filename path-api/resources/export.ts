import { Readable } from 'node:stream'
import { answer } from '../answer/answer.ts'
import { raw } from '../answer/media.ts'
import { operation } from '../operation/operation.ts'

export const dataExport = [
  operation({
    id: 'exportPerson',
    method: 'get',
    path: '/profile/{mvUid}/export',
    summary: 'Export all that is kept about a person',
    description:
      'One JSON object per line: `{"kind", "data"}`. The account, its sessions, the profile and its history, and the EHRs about the person, with what the caller may read in them and who accessed them.',
    source: 'people have a right to their data',
    extra: true,
    access: 'person',
    reply: [200, raw('application/x-ndjson')],
    guarded: ({ params }) => params.mvUid,
    handle: ({ params: { mvUid } }, { caller, profiles }) =>
      answer(Readable.from(profiles.export(caller, mvUid)), {
        headers: { 'content-disposition': `attachment; filename="${mvUid}.ndjson"` },
      }),
  }),
]
