import { type Static, Type } from '@sinclair/typebox'
import { closed, id, line } from './common.ts'
import { fixed } from './forms/fields.ts'
import { forms } from './forms/forms.ts'

const subjectId = {
  ...line('The user, or another person reference, whom the EHR is about'),
  examples: ['n4Fq2LxT0a'],
}

export const Ehr = forms({
  name: 'Ehr',
  noun: 'EHR',
  description: 'An electronic health record; its objectId is the EHR ID',
  registeredIn: 'none',
  example: 'e5RtGb81Xz',
  fields: { subjectId: fixed(subjectId) },
})

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
