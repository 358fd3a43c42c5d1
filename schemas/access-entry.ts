import { type Static, Type } from '@sinclair/typebox'
import { closed, id } from './common.ts'
import { nullable } from './nullable.ts'

/** What subjects are shown of an access to their EHR's data. */
export const AccessEntry = closed('AccessEntry', 'Who saw or changed what of an EHR, and when', {
  at: Type.String({ format: 'date-time', description: 'When it happened' }),
  userId: { ...id('the user who asked'), examples: ['n4Fq2LxT0a'] },
  application: Type.String({ description: 'By which application', examples: ['path family'] }),
  action: Type.Unsafe<'create' | 'read' | 'query' | 'update' | 'delete'>({
    type: 'string',
    enum: ['create', 'read', 'query', 'update', 'delete'],
    description: 'What was asked for',
  }),
  type: Type.String({ description: 'The kind of record', examples: ['CarePlan'] }),
  ids: Type.Array(Type.String(), { description: 'The records', examples: [['k81TzQx0Lm']] }),
  outcome: Type.Unsafe<'done' | 'denied' | 'refused' | 'announced'>({
    type: 'string',
    enum: ['done', 'denied', 'refused', 'announced'],
    description:
      'denied: there is no such record for that user; refused: a rule forbade it; announced: written down before ' +
      'the write, which after a crash may not have happened',
  }),
  asked: nullable(
    Type.String({ description: 'Of a query, the properties that it asked by; null of anything else' }),
  ),
  scope: Type.Unsafe<'ehr' | 'readable'>({
    type: 'string',
    enum: ['ehr', 'readable'],
    description:
      'readable: it was asked in all EHRs that the user may read, this one among them, and they were too many for an entry each',
  }),
  requestId: Type.String({ description: 'The request, as its answer named it' }),
})
export type AccessEntry = Static<typeof AccessEntry>
