import type { ClientSession } from 'mongodb'
import { BundleRequests } from '../fhir/requests/bundle-requests.ts'
import { FhirResources } from '../fhir/requests/fhir-resources.ts'
import { recordTypes, resourceTypes } from '../fhir/resource-types.ts'
import { forgetSubscriptionEvents } from '../fhir/subscriptions/stored-events.ts'
import { SubscriptionNotifications } from '../fhir/subscriptions/subscription-notifications.ts'
import packageJson from '../package.json' with { type: 'json' }
import type { Services } from '../path-api/operation/services.ts'
import { startPage } from '../path-api/pages/start-page.ts'
import { historyPathOf, recordPathOf } from '../path-api/record-paths.ts'
import { healthOperations } from '../path-api/resources/health.ts'
import { fhirBaseOf } from '../path-api/resources/smart-urls.ts'
import type { PathApiOptions } from '../path-api/router.ts'
import { BackgroundVerification } from '../records/administration/background-verification.ts'
import type { AdmissionControl } from '../records/limits/admission/admission-control.ts'
import type { RateLimiter } from '../records/limits/rate-limiter.ts'
import type { ChangeFeed } from '../records/live/change-feed.ts'
import { Subscriptions } from '../records/live/subscriptions.ts'
import { jobCollection } from '../records/store/jobs/background-jobs.ts'
import type { ServiceStatus } from '../schemas/administration/service-status.ts'
import { type OpenAccounts, openAccounts } from './accounts/open-accounts.ts'
import type { Config } from './config/config.ts'
import { type DatabaseConnection, isResponding } from './database/database-connection.ts'
import { consoleUrlOf } from './http/console.ts'
import { pathPrefixOf } from './http/path-prefix.ts'
import { createKeyEncryption } from './keys/key-encryption.ts'
import { type MailQueue, toSendMail } from './mail/mail-queue.ts'
import { findLastBackup } from './records/last-backup.ts'
import { createFhirServices, type RecordServices } from './records/open-records.ts'
import type { Log } from './telemetry/log.ts'
import type { Metrics } from './telemetry/metrics.ts'

export interface PathFamilyDependencies {
  config: Config
  publicUrl: string
  log: Log
  metrics: Metrics
  database: DatabaseConnection
  /** Size of the database on disk in bytes. */
  databaseSize: () => Promise<number>
  mails: MailQueue
  context: RecordServices['context']
  services: RecordServices['services']
  recordsOf: RecordServices['recordsOf']
  feed: ChangeFeed
  consume: RateLimiter
  admissionControl: AdmissionControl
  draining: () => boolean
}

export interface PathFamily {
  options: PathApiOptions
  /** undefined in the open test environment. */
  accounts?: OpenAccounts
  /** Ends streams and other work that would not end by itself. */
  drain(): Promise<void>
  /** Waits for background tasks. */
  close(): Promise<void>
}

/**
 * Opens the path family; Parse Server must have started. The open test environment has only the probes and
 * the start page.
 */
export async function openPathFamily(parts: PathFamilyDependencies): Promise<PathFamily> {
  const { config, database, publicUrl } = parts
  const readiness = async () => ({
    service: !parts.draining(),
    database: await isResponding(database.db),
  })
  const familyServices = {
    readiness,
    publicUrl,
    pathPrefix: pathPrefixOf(publicUrl),
    appUrl: config.appUrl ?? consoleUrlOf(publicUrl),
  }
  if (config.open) {
    const services = { ...familyServices, open: true } as Partial<Services> as Services
    const operations = [...startPage, ...healthOperations]
    return { options: { ...createPathApiOptions(parts, services), operations, open: true }, ...NO_ACCOUNTS }
  }
  const accounts = await openAccounts({
    ...parts,
    sendMail: toSendMail(parts.mails),
    accountCleanups: accountCleanupsOf(parts),
  })
  const { context, feed, log } = parts
  const subscriptions = new Subscriptions(context, feed, accounts.services.appGrants, (err) =>
    log.error({ err }, 'Maintaining the subscriptions to changes failed'),
  )
  const auditVerification = openAuditVerification(parts)
  const services = {
    ...familyServices,
    status: () => readStatus(parts),
    auditVerification,
    ...openFhir(parts),
    open: false,
    recordPathOf,
    historyPathOf,
    subscriptions,
    ...parts.services,
    ...accounts.services,
  }
  return {
    options: createPathApiOptions(parts, services, accounts),
    accounts,
    drain: () => subscriptions.end(),
    close: async () => {
      await auditVerification.stop()
      await accounts.close()
    },
  }
}

const STARTED_AT = new Date().toISOString()

async function readStatus({
  config,
  database,
  databaseSize,
  mails,
}: PathFamilyDependencies): Promise<ServiceStatus> {
  const [databaseBytes, queue, jobs, lastBackup] = await Promise.all([
    // A user of MongoDB may not be allowed to ask.
    databaseSize().catch(() => null),
    mails.status(),
    jobCollection(database).countDocuments(),
    findLastBackup(database.db, config),
  ])
  return {
    version: packageJson.version,
    startedAt: STARTED_AT,
    databaseBytes,
    lastBackupAt: lastBackup?.toISOString() ?? null,
    jobs,
    mailsWaiting: queue.waiting,
    mailsAbandoned: queue.abandoned,
    oldestMailAt: queue.oldestAt?.toISOString() ?? null,
    documentsToUpdate: [...database.backfill.remaining.values()].reduce((sum, one) => sum + one, 0),
  }
}

const openAuditVerification = ({ config, context, log }: PathFamilyDependencies) =>
  new BackgroundVerification({
    db: context.jobs.unfilteredDb,
    key: config.auditKey,
    formerKeys: config.auditKeysBefore ?? [],
    clock: context.clock,
    onFault: (err) => log.error({ err }, 'Verifying the audit failed'),
  })

/** The data that is removed with an account. */
const accountCleanupsOf = ({
  database: { db },
  services: { profiles, ehrs, chats, fhirExports },
}: PathFamilyDependencies): ((session: ClientSession, mvUid: string) => Promise<void>)[] => [
  (session, mvUid) => profiles.eraseWithAccount(session, mvUid),
  (session, mvUid) => ehrs.forgetCreator(session, mvUid),
  (session, mvUid) => chats.marks.forget(session, mvUid),
  (session, mvUid) => fhirExports.forgetUser(session, mvUid),
  (session, mvUid) => forgetSubscriptionEvents(db, session, mvUid),
]

/** Opens the FHIR API. */
function openFhir({ config, publicUrl, context, recordsOf, services, feed }: PathFamilyDependencies) {
  const cursorEncryption = createKeyEncryption(config.keyEncryptionKey, 'cursors')
  const from = createFhirServices(context, recordsOf, services, { publicUrl, feed, cursorEncryption })
  const fhir = new FhirResources(fhirBaseOf(publicUrl), resourceTypes, from)
  const fhirNotifications = new SubscriptionNotifications(fhir.base, recordTypes, from)
  return { fhir, fhirBundles: new BundleRequests(context, fhir), fhirNotifications }
}

const NO_ACCOUNTS = { drain: async () => {}, close: async () => {} }

function createPathApiOptions(
  { config, publicUrl, log, database, consume, admissionControl }: PathFamilyDependencies,
  services: Services,
  accounts?: OpenAccounts,
): PathApiOptions {
  return {
    services,
    tokens: {
      authenticate: accounts?.authenticate ?? (async () => undefined),
      ownOrigins: [new URL(publicUrl).origin, ...(config.corsOrigins ?? [])],
      tokenFromQuery: config.tokenInQuery === 'accepted',
    },
    db: database.db,
    log,
    consume,
    admissionControl,
    corsOrigins: config.corsOrigins ?? [],
    pathPrefix: services.pathPrefix,
    version: packageJson.version,
    checking: !config.production,
  }
}
