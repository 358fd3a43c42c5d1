import type { BulkExports } from '../../fhir/export/bulk-exports.ts'
import { accountErasureJobs } from '../../records/accounts/account-deletion.ts'
import type { SendMail } from '../../records/accounts/user/mails.ts'
import type { CarePlans } from '../../records/care-plans/care-plans.ts'
import type { Chats } from '../../records/chat/chats.ts'
import { eraseAbandonedConversations, eraseConversations } from '../../records/chat/conversation-erasure.ts'
import { Reminders } from '../../records/chat/reminders.ts'
import { contentsVisibilityJobs } from '../../records/ehrs/deletion/cascading-deletion.ts'
import { ehrVisibilityJobs } from '../../records/ehrs/deletion/deleted-ehrs.ts'
import { MEASUREMENT_KINDS } from '../../records/kinds.ts'
import { AlertWatch } from '../../records/measurements/alerts/attention/alert-watch.ts'
import { removeEntriesBefore } from '../../records/store/audit/checkpoints.ts'
import type { Backfill, BackfillProgress } from '../../records/store/backfill/backfill.ts'
import { type PeriodicTask, startPeriodicTask } from '../../records/store/batching/periodic-task.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../schemas/time/durations.ts'
import type { Config } from '../config/config.ts'
import type { DatabaseConnection } from '../database/database-connection.ts'
import type { Log } from '../telemetry/log.ts'
import { type Metrics, observeGauge } from '../telemetry/metrics.ts'

const PENDING_DOCUMENTS_GAUGE = {
  name: 'derived_data_pending_documents',
  help: 'Documents of an earlier version of the service whose derived fields are not updated yet',
}

const sumCounts = (counts: Iterable<number>): number => [...counts].reduce((sum, count) => sum + count, 0)

/** Starts the backfill of derived fields that another version of the service has stored. */
export async function startBackfill(
  backfill: Backfill,
  context: StoreContext,
  log: Log,
  metrics: Metrics,
): Promise<PeriodicTask> {
  await backfill.open(context)
  const documents = sumCounts(backfill.remaining.values())
  observeGauge(metrics, PENDING_DOCUMENTS_GAUGE, async () => sumCounts(backfill.remaining.values()))
  if (documents > 0)
    log.info(
      { documents },
      'Updating stored data of an earlier version; queries that need it get a 503 until it is done',
    )
  const tell = ({ failed, ...progress }: BackfillProgress) => {
    log.info(progress, 'Updating stored data')
    if (failed > 0) log.error({ ...progress, failed }, 'Updating some stored documents failed')
  }
  return backfill.start(tell, (err) => log.error({ err }, 'Updating stored data failed'))
}

interface BackgroundServices {
  carePlans: CarePlans
  chats: Chats
  fhirExports: BulkExports
  sendMail: SendMail
}

/** Starts background work: jobs, start and end of participations, mails. */
export async function startBackgroundWork(
  context: StoreContext,
  jobs: DatabaseConnection['jobs'],
  { carePlans, chats, fhirExports, sendMail }: BackgroundServices,
  log: Log,
): Promise<{ stop(): Promise<void> }> {
  const visibility = { ...ehrVisibilityJobs(context), ...contentsVisibilityJobs(context) }
  const erasure = accountErasureJobs(context, [
    (job, steps) => carePlans.participants.archiveOfUser(job, steps),
    (job, steps) => eraseConversations(context, job, steps),
  ])
  const handlers = { ...visibility, ...carePlans.jobs, ...fhirExports.jobs, ...erasure }
  const jobPolling = await jobs.startPolling(context, handlers, (err) =>
    log.error({ err }, 'A background job failed and will be retried'),
  )
  const periodicTasks = createPeriodicWork(context, { carePlans, chats, sendMail }).map(
    ({ everyMs, work, failureMessage }) =>
      startPeriodicTask(everyMs, work, (err) => log.error({ err }, failureMessage)),
  )
  const stop = async () => {
    for (const task of [...periodicTasks.toReversed(), jobPolling]) await task.stop()
  }
  return { stop }
}

interface PeriodicWork {
  everyMs: number
  work: Parameters<typeof startPeriodicTask>[1]
  failureMessage: string
}

function createPeriodicWork(
  context: StoreContext,
  { carePlans, chats, sendMail }: Omit<BackgroundServices, 'fhirExports'>,
): PeriodicWork[] {
  const alertWatch = new AlertWatch(context, MEASUREMENT_KINDS, sendMail)
  const reminders = new Reminders(chats, sendMail)
  return [
    {
      everyMs: SECOND_MS,
      work: (ending) => carePlans.participants.applyDueAccessChanges(ending),
      failureMessage: 'Updating the access of participants failed',
    },
    {
      everyMs: SECOND_MS,
      work: (ending) => alertWatch.run(ending),
      failureMessage: 'Applying the alert rules of care plans failed',
    },
    {
      everyMs: MINUTE_MS,
      work: (ending) => reminders.send(context.clock(), ending),
      failureMessage: 'Sending reminders of chat messages failed',
    },
    {
      everyMs: DAY_MS,
      work: (ending) => eraseAbandonedConversations(context, ending),
      failureMessage: 'Erasing conversations of deleted accounts failed',
    },
  ]
}

/** Removes old audit entries at startup and then once a day. */
export function startAuditRetention(
  db: DatabaseConnection['db'],
  { auditKey, auditDays }: Pick<Config, 'auditKey' | 'auditDays'>,
  log: Log,
): PeriodicTask | undefined {
  if (auditDays === undefined) return undefined
  return startPeriodicTask(
    DAY_MS,
    async () => {
      const removed = await removeEntriesBefore(db, auditKey, new Date(Date.now() - auditDays * DAY_MS))
      if (removed > 0) log.info({ removed }, 'Removed old entries of the audit')
    },
    (err) => log.error({ err }, 'Removing old entries of the audit failed'),
  )
}
