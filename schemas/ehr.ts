import { type Static, Type } from '@sinclair/typebox'
import { closed, id, line } from './common.ts'
import { derived, fixed } from './forms/fields.ts'
import { forms } from './forms/forms.ts'
import { nullable } from './nullable.ts'

const subjectId = {
  ...line('The user, or another person reference, whom the EHR is about'),
  examples: ['n4Fq2LxT0a'],
}

const creatorId = {
  ...id('the user who made it; the one that comes with an account has none'),
  examples: ['bW81kPzQ7e'],
}

const pending = Type.Boolean({
  description:
    'Whether it waits until the user whom it is about agrees; until then it is its creator’s alone',
  examples: [false],
})

export const Ehr = forms({
  name: 'Ehr',
  noun: 'EHR',
  description: 'An electronic health record; its objectId is the EHR ID',
  registeredIn: 'none',
  example: 'e5RtGb81Xz',
  fields: {
    subjectId: fixed(subjectId),
    creatorId: derived(Type.Optional(creatorId)),
    pending: derived(Type.Optional(pending)),
  },
})

export const EhrResource = closed('EhrResource', 'An electronic health record', {
  id: { ...id('the EHR'), examples: ['e5RtGb81Xz'] },
  subjectId: nullable({
    ...subjectId,
    description: `${subjectId.description}; null for participants of none but anonymous care plans of it`,
  }),
  creatorId: nullable(creatorId),
  pending,
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
