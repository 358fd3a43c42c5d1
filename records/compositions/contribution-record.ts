import { Type } from '@sinclair/typebox'

const contributionSchema = Type.Object({
  ehrId: Type.String(),
  /** The uids of the versions that it committed. */
  versions: Type.Array(Type.String()),
  /** Canonical JSON of its AUDIT_DETAILS, and for each version its class, audit and lifecycle state. */
  json: Type.String(),
})

/**
 * A commit whose audit a client sent. All others follow from the history of the versions.
 * The collection's name contains a dot, so no class can have it and the class family never reaches it.
 */
export const Contribution = {
  collection: 'openehr.contributions',
  schema: contributionSchema,
  ehr: 'ehrId',
  parentType: 'EHR',
  words: { en: 'contributions', nl: 'bijdragen' },
  fhir: { absent: 'FHIR has no sets of changes' },
  lists: {
    ofEhr: { requiredFields: ['ehrId'], sort: 'createdAt', order: 'desc' },
    ofVersion: { requiredFields: ['ehrId', 'versions'], sort: 'createdAt', order: 'desc' },
  },
} as const
