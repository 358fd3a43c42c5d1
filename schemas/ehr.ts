import { type Static, Type } from '@sinclair/typebox'
import { closed, KEPT, kept, line } from './common.ts'

export const Ehr = closed('Ehr', 'An electronic health record; its objectId is the EHR ID', {
  ...kept,
  subjectId: line('The user, or another person reference, whom the EHR is about'),
})
export type Ehr = Static<typeof Ehr>

export const EhrCreate = Type.Omit(Ehr, KEPT, { $id: 'EhrCreate' })

/** Nothing: an EHR stays about the one whom it was made for. */
export const EhrUpdate = closed('EhrUpdate', 'An EHR has no property that may change', {})
