import { type Static, Type } from '@sinclair/typebox'
import { closed, id } from './common.ts'
import { nullable } from './nullable.ts'

/** What subjects are shown of an access to their EHR's data. */
export const AccessEntry = closed('AccessEntry', 'Who saw or changed what in an EHR, and when', {
  at: Type.String({ format: 'date-time', description: 'When it happened' }),
  userId: { ...id('the user'), examples: ['n4Fq2LxT0a'] },
  application: Type.String({ description: 'The application that was used', examples: ['path family'] }),
  action: Type.Unsafe<'create' | 'read' | 'query' | 'update' | 'delete'>({
    type: 'string',
    enum: ['create', 'read', 'query', 'update', 'delete'],
    description: 'The action',
  }),
  type: Type.String({ description: 'The kind of record', examples: ['CarePlan'] }),
  ids: Type.Array(Type.String(), { description: 'The records', examples: [['k81TzQx0Lm']] }),
  outcome: Type.Unsafe<'done' | 'denied' | 'refused' | 'announced'>({
    type: 'string',
    enum: ['done', 'denied', 'refused', 'announced'],
    description:
      'denied: there is no such record for that user; refused: a rule forbade it; announced: recorded before the write, which after a crash may not have happened',
  }),
  asked: nullable(
    Type.String({ description: 'The properties that a query filtered by; null for anything else' }),
  ),
  scope: Type.Unsafe<'ehr' | 'readable'>({
    type: 'string',
    enum: ['ehr', 'readable'],
    description:
      'readable: the query was about all EHRs that the user may read, this one among them, and they were too many for an entry each',
  }),
  requestId: Type.String({ description: 'The id of the request, as in its answer' }),
})
export type AccessEntry = Static<typeof AccessEntry>
