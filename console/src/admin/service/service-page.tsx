import { queryOptions, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { api } from '../../session/user-session.ts'
import { formatAge, formatMoment, formatNumber } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { AuditCheck } from './audit-check.tsx'

const STATUS_POLL_MS = 10_000
const BYTES_PER_MB = 1_000_000
/** As in the rules for Prometheus. */
const MAX_BACKUP_AGE_MS = 2 * 86_400_000

const statusQuery = queryOptions({
  queryKey: ['service status'],
  queryFn: async () => (await api.GET('/health/status')).data,
  refetchInterval: STATUS_POLL_MS,
})

/** The state of the service: its queues, its database, and whether the audit is intact. */
export default function ServicePage() {
  const t = useText()
  const status = useQuery(statusQuery)
  return (
    <>
      <Heading title={t('service.title')} />
      <Loaded query={status} lines={6}>
        {({ version, startedAt, databaseBytes, lastBackupAt, ...queues }) => (
          <>
            <p>{t('service.version', { version, at: formatMoment(startedAt) })}</p>
            <dl className="facts">
              <Fact name={t('service.mails')} value={formatNumber(queues.mailsWaiting)}>
                {queues.oldestMailAt && t('service.oldestMail', { age: formatAge(queues.oldestMailAt) })}
              </Fact>
              <Fact name={t('service.abandoned')} value={formatNumber(queues.mailsAbandoned)} />
              <Fact name={t('service.jobs')} value={formatNumber(queues.jobs)} />
              <Fact name={t('service.documents')} value={formatNumber(queues.documentsToUpdate)} />
              {databaseBytes !== null && (
                <Fact
                  name={t('service.database')}
                  value={`${formatNumber(databaseBytes / BYTES_PER_MB)} MB`}
                />
              )}
              <Backup at={lastBackupAt} />
            </dl>
          </>
        )}
      </Loaded>
      <AuditCheck />
    </>
  )
}

/** Backups of a MongoDB are made outside the service, which does not know them. */
function Backup({ at }: { at: string | null }) {
  const t = useText()
  if (at === null)
    return (
      <Fact name={t('service.backup')} value={t('service.noBackup')}>
        {t('service.noBackupHelp')}
      </Fact>
    )
  const isOld = Date.now() - Date.parse(at) > MAX_BACKUP_AGE_MS
  return (
    <Fact name={t('service.backup')} value={formatAge(at)}>
      {formatMoment(at)}
      {isOld && <strong className="error">{t('service.oldBackup')}</strong>}
    </Fact>
  )
}

function Fact({ name, value, children }: { name: string; value: string; children?: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <span className="value">{value}</span>
        {children && <p className="help">{children}</p>}
      </dd>
    </div>
  )
}
