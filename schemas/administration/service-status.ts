import { type Static, Type } from '@sinclair/typebox'
import { closedObject } from '../common.ts'
import { nullable } from '../forms/nullable.ts'

const countField = (description: string) => Type.Integer({ minimum: 0, description, examples: [0] })
const timeField = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-03-01T08:30:00Z'] })

export const ServiceStatus = closedObject('ServiceStatus', 'The state of the service, for administrators', {
  version: Type.String({ description: 'Version of the service', examples: ['0.2.0'] }),
  startedAt: timeField('Start of the process that responded'),
  databaseBytes: nullable(countField('Size of the database on disk; null if the database does not tell it')),
  lastBackupAt: nullable(
    timeField(
      'Time of the last backup by the command backup; null without one. Backups of a MongoDB are not known',
    ),
  ),
  mailsWaiting: countField('Number of mails that wait to be sent'),
  mailsAbandoned: countField('Number of mails of the last 30 days that could not be sent'),
  oldestMailAt: nullable(timeField('Time of the mail that has waited longest; null if none waits')),
  jobs: countField('Number of background jobs, such as the deletion of a large EHR'),
  documentsToUpdate: countField('Number of documents of an earlier version that are still to be updated'),
})
export type ServiceStatus = Static<typeof ServiceStatus>
