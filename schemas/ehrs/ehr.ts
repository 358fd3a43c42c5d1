import { type Static, Type } from '@sinclair/typebox'
import { closedObject, idField, shortTextField } from '../common.ts'
import { derivedField, fixedField } from '../forms/fields.ts'
import { defineForms } from '../forms/forms.ts'
import { nullable } from '../forms/nullable.ts'
import { documentRmClass } from '../openehr/rm-schema.ts'

const subjectIdField = {
  ...shortTextField('Subject of the EHR: a user id or another reference to a person'),
  examples: ['n4Fq2LxT0a'],
}

const creatorIdField = {
  ...idField('the user who created the EHR; absent for the EHR that comes with an account'),
  examples: ['bW81kPzQ7e'],
}

const pendingField = Type.Boolean({
  description: 'True until the subject accepts the EHR; until then only its creator can see it',
  examples: [false],
})

export const EhrForms = defineForms({
  name: 'Ehr',
  noun: 'EHR',
  description: 'An electronic health record; its objectId is the EHR ID',
  parentType: 'none',
  example: 'e5RtGb81Xz',
  fields: {
    subjectId: fixedField(subjectIdField),
    creatorId: derivedField(Type.Optional(creatorIdField)),
    pending: derivedField(Type.Optional(pendingField)),
  },
})

export const EhrResource = closedObject('EhrResource', 'An electronic health record', {
  id: { ...idField('the EHR'), examples: ['e5RtGb81Xz'] },
  subjectId: nullable({
    ...subjectIdField,
    description: `${subjectIdField.description}; null for users who take part only in anonymous care plans of the EHR`,
  }),
  creatorId: nullable(creatorIdField),
  pending: pendingField,
  createdAt: Type.String({ format: 'date-time', description: 'Time of creation' }),
  version: Type.Integer({
    minimum: 1,
    description: 'Version number, incremented by every write; the ETag is this number in quotes',
  }),
})
export type EhrResource = Static<typeof EhrResource>

export const DeletedEhrResource = closedObject('DeletedEhrResource', 'An EHR that was deleted', {
  id: { ...idField('the EHR'), examples: ['e5RtGb81Xz'] },
  subjectId: subjectIdField,
  deletedAt: Type.String({ format: 'date-time', description: 'Time of the deletion' }),
  restorableUntil: Type.String({
    format: 'date-time',
    description: 'Time after which nobody can restore the EHR',
    examples: ['2026-03-31T08:30:00Z'],
  }),
  isReturning: Type.Boolean({ description: 'True while a job restores the EHR', examples: [false] }),
})
export type DeletedEhrResource = Static<typeof DeletedEhrResource>

/** Canonical JSON; the reference model defines its content. */
export const CanonicalEhrStatus = Type.Unsafe<Record<string, unknown>>({
  $id: 'EhrStatus',
  type: 'object',
  additionalProperties: true,
  documented: documentRmClass('EHR_STATUS'),
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

export const EhrBody = closedObject('EhrBody', 'A new electronic health record', {
  subjectId: Type.Optional({
    ...subjectIdField,
    description: `${subjectIdField.description}. Default: the subject of the status, otherwise the caller`,
  }),
  status: Type.Optional(CanonicalEhrStatus),
})
