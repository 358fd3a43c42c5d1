import { queryOptions, useQuery } from '@tanstack/react-query'
import { api } from '../../session/user-session.ts'
import { formatAge, formatMoment, formatNumber } from '../../texts/format.ts'
import { useText } from '../../texts/translate.ts'
import { Heading } from '../../ui/heading.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { AuditCheck } from './audit-check.tsx'

const STATUS_POLL_MS = 10_000
const BYTES_PER_MB = 1_000_000

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
        {({ version, startedAt, databaseBytes, ...queues }) => (
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
            </dl>
          </>
        )}
      </Loaded>
      <AuditCheck />
    </>
  )
}

function Fact({ name, value, children }: { name: string; value: string; children?: string | null }) {
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
