import { createHash } from 'node:crypto'
import { Type } from '@sinclair/typebox'

const ehrStatusSchema = Type.Object({
  ehrId: Type.String(),
  /** Whether queries over all EHRs include the EHR. */
  isQueryable: Type.Boolean(),
  /** Canonical JSON of an EHR_STATUS without its uid, as text for the same reason as in compositions. */
  json: Type.String(),
})

/** Contains a dot, so no class can have this name and the class family never reaches the collection. */
export const EhrStatus = {
  collection: 'openehr.ehr_statuses',
  schema: ehrStatusSchema,
  ehr: 'ehrId',
  parentType: 'EHR',
  words: { en: 'status', nl: 'status' },
  fhir: { absent: 'The Patient shows what it tells' },
  lists: { ofEhr: { requiredFields: ['ehrId'], sort: 'createdAt', order: 'desc' } },
  indexes: [{ key: { isQueryable: 1 }, partialFilterExpression: { isQueryable: false } }],
} as const

/** The id of an EHR's status, derived from the id of the EHR, since each EHR has exactly one. */
export function statusIdOf(ehrId: string): string {
  const hash = createHash('sha256').update(`EHR_STATUS of ${ehrId}`).digest('hex')
  return hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5')
}
