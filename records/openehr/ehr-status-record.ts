import { Type } from '@sinclair/typebox'

const schema = Type.Object({
  ehrId: Type.String(),
  /** Whether the EHR takes part in queries over all EHRs. */
  isQueryable: Type.Boolean(),
  /** Canonical JSON of an EHR_STATUS without its uid, kept as text as compositions are. */
  json: Type.String(),
})

/** A name that no class can have: the class family never reaches it. */
export const EhrStatus = {
  collection: 'openehr.ehr_statuses',
  schema,
  ehr: 'ehrId',
  registeredIn: 'EHR',
  words: { en: 'status', nl: 'status' },
  lists: { ofEhr: { by: ['ehrId'], sort: 'createdAt', order: 'desc' } },
  indexes: [{ key: { isQueryable: 1 }, partialFilterExpression: { isQueryable: false } }],
} as const
