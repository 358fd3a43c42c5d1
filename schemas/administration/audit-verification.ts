import { type Static, Type } from '@sinclair/typebox'
import { closedObject } from '../common.ts'
import { AuditVerificationStateEnum } from '../enums.ts'
import { nullable } from '../forms/nullable.ts'

const countField = (description: string) => Type.Integer({ minimum: 0, description, examples: [7] })
const timeField = (description: string) =>
  nullable(Type.String({ format: 'date-time', description, examples: ['2026-03-01T08:30:00Z'] }))

const AuditFault = Type.Object(
  {
    at: Type.String({ description: 'Id of an entry, a chain or a run of the service', examples: ['3-1-42'] }),
    reason: Type.String({ description: 'Reason', examples: ['its content was changed'] }),
  },
  { additionalProperties: false, description: 'The first part that does not match; null if there is none' },
)

export const AuditVerification = closedObject('AuditVerification', 'The last verification of the audit', {
  state: AuditVerificationStateEnum,
  startedAt: timeField('Start; null if the audit was never verified'),
  finishedAt: timeField('End; null before it'),
  entries: countField('Number of entries that were verified'),
  ofEntries: countField('Approximate number of entries at the start'),
  uncheckedEntries: countField(
    'Number of entries that were written with a key that the service does not have',
  ),
  fault: nullable(AuditFault),
})
export type AuditVerification = Static<typeof AuditVerification>
