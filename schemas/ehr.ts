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
  ...id('the user who created it; the EHR that comes with an account has none'),
  examples: ['bW81kPzQ7e'],
}

const pending = Type.Boolean({
  description:
    'Whether it waits until the user whom it is about accepts it; until then only its creator can see it',
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
    description: `${subjectId.description}; null for those who take part only in its anonymous care plans`,
  }),
  creatorId: nullable(creatorId),
  pending,
  createdAt: Type.String({ format: 'date-time', description: 'When it was created' }),
  version: Type.Integer({ minimum: 1, description: 'Counts the writes; in quotes it is the ETag' }),
})
export type EhrResource = Static<typeof EhrResource>

/** Canonical JSON: the reference model says what may stand in it. */
export const CanonicalStatus = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description: 'An EHR_STATUS in canonical JSON of the openEHR reference model',
  examples: [
    {
      _type: 'EHR_STATUS',
      archetype_node_id: 'openEHR-EHR-EHR_STATUS.generic.v1',
      name: { value: 'EHR Status' },
      subject: {},
      is_queryable: true,
      is_modifiable: true,
    },
  ],
})

export const EhrBody = closed('EhrBody', 'A new electronic health record', {
  subjectId: Type.Optional({
    ...subjectId,
    description: `${subjectId.description}. By default the person whom the status names, else the caller`,
  }),
  status: Type.Optional(CanonicalStatus),
})
