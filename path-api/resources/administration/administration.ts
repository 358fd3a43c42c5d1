import {
  isVerifying,
  type StoredVerification,
} from '../../../records/administration/background-verification.ts'
import { AuditVerification } from '../../../schemas/administration/audit-verification.ts'
import { ServiceStatus } from '../../../schemas/administration/service-status.ts'
import { defineOperation } from '../../operation/operation.ts'

const common = { source: 'Operations of our own: administration', extra: true, access: 'admin' } as const
const verificationPath = '/audit/verification'

function stateOf(verification: StoredVerification): AuditVerification['state'] {
  if (isVerifying(verification)) return 'RUNNING'
  const { verdict } = verification
  if (!verdict) return 'INTERRUPTED'
  if (verdict.broken) return 'BROKEN'
  return verdict.unverified.length > 0 ? 'PARTIAL' : 'INTACT'
}

function toAuditVerification(last: StoredVerification | undefined): AuditVerification {
  const { startedAt, finishedAt, entries = 0, ofEntries = 0, verdict } = last ?? {}
  return {
    state: last ? stateOf(last) : 'NEVER',
    startedAt: startedAt?.toISOString() ?? null,
    finishedAt: finishedAt?.toISOString() ?? null,
    entries,
    ofEntries,
    uncheckedEntries: verdict?.unverified.reduce((sum, part) => sum + part.entries, 0) ?? 0,
    fault: verdict?.broken ?? null,
  }
}

export const administrationOperations = [
  defineOperation({
    ...common,
    id: 'getServiceStatus',
    method: 'get',
    path: '/health/status',
    summary: 'Get the state of the queues and the database of the service',
    reply: [200, ServiceStatus],
    handle: (_, { status }) => status(),
  }),
  defineOperation({
    ...common,
    id: 'verifyAudit',
    method: 'post',
    path: verificationPath,
    summary: 'Check that no entry of the audit was changed, removed or added',
    description:
      'Starts a check beside the other requests, unless one is running. Read the progress and the result by GET. Somebody who can change the database can also change the result there, so verify by the command line as well.',
    reply: [202, AuditVerification],
    handle: async (_, { auditVerification }) => {
      await auditVerification.start()
      return toAuditVerification(await auditVerification.last())
    },
  }),
  defineOperation({
    ...common,
    id: 'getAuditVerification',
    method: 'get',
    path: verificationPath,
    summary: 'Get the last check of the audit, or the one that is running',
    reply: [200, AuditVerification],
    handle: async (_, { auditVerification }) => toAuditVerification(await auditVerification.last()),
  }),
]
