import { type Static, Type } from '@sinclair/typebox'
import { closed, id } from './common.ts'
import { Ehr } from './ehr.ts'

const subjectId = { ...Ehr.properties.subjectId, examples: ['n4Fq2LxT0a'] }

export const EhrResource = closed('EhrResource', 'An electronic health record', {
  id: { ...id('the EHR'), examples: ['e5RtGb81Xz'] },
  subjectId,
  createdAt: Type.String({ format: 'date-time', description: 'When it was made' }),
  version: Type.Integer({ minimum: 1, description: 'Counts the writes; in quotes it is the ETag' }),
})
export type EhrResource = Static<typeof EhrResource>

export const EhrBody = closed('EhrBody', 'A new electronic health record', {
  subjectId: Type.Optional({
    ...subjectId,
    description: `${subjectId.description}. Left out, it is the caller`,
  }),
})
