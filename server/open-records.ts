import type { TObject } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import type { IndexDescription } from 'mongodb'
import { BulkExports } from '../fhir/export/bulk-exports.ts'
import { resourceTypes } from '../fhir/resource-types.ts'
import type { FhirServices } from '../fhir/sources/resource-source.ts'
import { subscriptionIndexes } from '../fhir/subscriptions/subscription-type.ts'
import { Queries } from '../openehr/aql/queries.ts'
import { StoredQueries } from '../openehr/aql/stored-queries.ts'
import { createCompositionViews } from '../openehr/composition-views/create-views.ts'
import { toRmJson } from '../openehr/compositions/composition-json.ts'
import { Compositions } from '../openehr/compositions/compositions.ts'
import { Contributions } from '../openehr/contributions/contributions.ts'
import { Directories } from '../openehr/directories/directories.ts'
import { EhrStatuses } from '../openehr/ehr-status/ehr-statuses.ts'
import { ArchetypeStore } from '../openehr/templates/archetype-store.ts'
import { TemplateStore } from '../openehr/templates/template-store.ts'
import type { Services } from '../path-api/operation/services.ts'
import { accountErasureJobs, deletedAccountsOf } from '../records/accounts/account-deletion.ts'
import { Helpers } from '../records/accounts/helpers/helpers.ts'
import type { SendMail } from '../records/accounts/user/mails.ts'
import { CarePlans } from '../records/care-plans/care-plans.ts'
import { CarePlanTemplates } from '../records/care-plans/templates/care-plan-templates.ts'
import { Aggregates } from '../records/charts/aggregates/aggregates.ts'
import { Graphs } from '../records/charts/graphs.ts'
import { Timelines } from '../records/charts/timeline.ts'
import { Chats } from '../records/chat/chats.ts'
import { eraseAbandonedConversations, eraseConversations } from '../records/chat/conversation-erasure.ts'
import { Reminders } from '../records/chat/reminders.ts'
import { Composition } from '../records/compositions/composition-record.ts'
import { AdverseReaction } from '../records/conditions/adverse-reaction.ts'
import { Device } from '../records/conditions/device.ts'
import { NaturallyKeyedRecords } from '../records/conditions/naturally-keyed-records.ts'
import { EhrRecords } from '../records/ehr-records/ehr-records.ts'
import type { ClassKind } from '../records/ehr-records/kind.ts'
import { ehrCreatorsOf } from '../records/ehrs/creation/ehr-creation.ts'
import { contentsVisibilityJobs } from '../records/ehrs/deletion/cascading-deletion.ts'
import { ehrVisibilityJobs } from '../records/ehrs/deletion/deleted-ehrs.ts'
import { Ehrs } from '../records/ehrs/ehrs.ts'
import { accessesOfList } from '../records/ehrs/rights/query-accesses.ts'
import { Events } from '../records/events/events.ts'
import { Handovers } from '../records/handovers/handovers.ts'
import {
  attachableCollectionOf,
  CLASS_NAMES,
  classKindOf,
  containedCollections,
  deletableKinds,
  MEASUREMENT_KINDS,
} from '../records/kinds.ts'
import type { ChangeFeed } from '../records/live/change-feed.ts'
import { changeLogIndexes } from '../records/live/change-log.ts'
import { DeletedRecords } from '../records/live/deleted-records.ts'
import { PlanAlertRulesStore } from '../records/measurements/alerts/alert-rules.ts'
import { AlertWatch } from '../records/measurements/alerts/attention/alert-watch.ts'
import { PlanThresholdStore } from '../records/measurements/alerts/plan-threshold-store.ts'
import { MeasurementBatches } from '../records/measurements/measurement-batches.ts'
import { MeasurementsWithChange } from '../records/measurements/measurements-with-change.ts'
import { Profiles } from '../records/profiles/profiles.ts'
import { profileStatesOf } from '../records/profiles/storage/profile-lock.ts'
import { TextPacks } from '../records/questionnaires/text-packs.ts'
import { auditIndexes, openAuditLog } from '../records/store/audit/audit-log.ts'
import { checkpointCollection, removeEntriesBefore } from '../records/store/audit/checkpoints.ts'
import type { Backfill, BackfillProgress } from '../records/store/backfill/backfill.ts'
import { BulkWriteSupport } from '../records/store/batching/pending-writes.ts'
import { type PeriodicTask, startPeriodicTask } from '../records/store/batching/periodic-task.ts'
import { createCollection, syncIndexes } from '../records/store/documents/indexes.ts'
import { jobCollection } from '../records/store/jobs/background-jobs.ts'
import { EhrLocks, ehrLockCollection } from '../records/store/writing/ehr-locks.ts'
import type { StoreContext } from '../records/store/writing/transaction.ts'
import { TypeDefinitions } from '../records/types/type-definitions.ts'
import { markTypeUsed } from '../records/types/type-registry.ts'
import { findThresholdTarget } from '../records/user-data/graph-sources.ts'
import { Occurrence } from '../records/user-data/occurrence.ts'
import { Measurement } from '../records/user-data/typed-measurement.ts'
import { UserData } from '../records/user-data/user-data.ts'
import { PatientCards } from '../records/worklist/patient-cards.ts'
import { Worklists } from '../records/worklist/worklist.ts'
import { WorklistViewsStore } from '../records/worklist/worklist-views-store.ts'
import type { Config } from './config/config.ts'
import type { DatabaseConnection } from './database/database-connection.ts'
import { readJsonFiles } from './json-files.ts'
import type { Log } from './telemetry/log.ts'
import { createMetrics, type Metrics, observeAudit, observeGauge } from './telemetry/metrics.ts'

export type RecordServices = Awaited<ReturnType<typeof openRecords>>

/** Opens the audit log and the stores of the path family, and creates their indexes. */
export async function openRecords(
  { client, db, jobs, backfill }: Pick<DatabaseConnection, 'client' | 'db' | 'jobs' | 'backfill'>,
  config: Pick<Config, 'auditKey' | 'auditDays' | 'carePlanTemplates' | 'textPacks'>,
  log: Log,
  sendMail: SendMail,
  metrics = createMetrics(),
) {
  const context = await openStore({ client, db, jobs }, config, log, sendMail, metrics)
  const oldEntries = startAuditRetention(db, config, log)
  const ehrs = new Ehrs(context)
  const planTemplates = new CarePlanTemplates(readJsonFiles(config.carePlanTemplates, 'CARE_PLAN_TEMPLATES'))
  const textPacks = new TextPacks(readJsonFiles(config.textPacks, 'TEXT_PACKS'))
  const carePlans = new CarePlans(context, sendMail, planTemplates)
  const openehr = openOpenEhr(context, ehrs)
  const types = openTypes(context)
  const ownStores = openOwnStores(context)
  const charts = openCharts(context)
  const profiles = new Profiles(context)
  const baseServices = { ...ownStores, ...charts, profiles, ehrs, carePlans, ...openehr, textPacks }
  const storesByName = openRecordsOfKinds(context, Object.values({ ...ownStores, ...carePlans.stores }))
  const recordsOf = ({ name }: { name: string }) => storesByName.get(name) as EhrRecords<TObject, string>
  const batches = new MeasurementBatches(context, recordsOf)
  const ofUsers = openUserData(context, batches, recordsOf, profiles, sendMail)
  const ofWorklists = openWorklists(context, baseServices, sendMail)
  const fhirExports = new BulkExports(resourceTypes, createFhirServices(context, recordsOf, baseServices))
  const services = {
    ...baseServices,
    queries: openQueries(context, backfill),
    batches,
    types,
    fhirExports,
    ...ofUsers,
    ...ofWorklists,
    recordsOf: recordsOf as Services['recordsOf'],
  }
  const { chats, worklistViews, handovers } = ofWorklists
  const stores = [...Object.values({ ...openehr, ...types }), ...storesByName.values(), ofUsers.helpers]
  const others = [profiles, ehrs, carePlans, chats, worklistViews, handovers, fhirExports, ...stores]
  const ofPlans = [charts.thresholds, charts.alertRules].map((one) => one.indexes())
  const storeIndexes = [...subscriptionIndexes(context), ...others.flatMap((one) => one.indexes())]
  await makeCollections(db, [...Object.entries(auditIndexes), ...storeIndexes, ...ofPlans], log)
  const filling = await startBackfill(backfill, context, log, metrics)
  await addBuiltIns(types, openehr)
  const running = await startBackgroundWork(
    context,
    jobs,
    { ...baseServices, chats, fhirExports, sendMail },
    log,
  )
  const close = async () => {
    for (const loop of [filling, running, oldEntries]) await loop?.stop()
    await context.audit.close()
  }
  return { context, services, recordsOf, close }
}

async function openStore(
  { client, db, jobs }: Pick<DatabaseConnection, 'client' | 'db' | 'jobs'>,
  { auditKey }: Pick<Config, 'auditKey'>,
  log: Log,
  sendMail: SendMail,
  metrics: Metrics,
): Promise<StoreContext> {
  const clock = () => new Date()
  const onFault = (err: unknown) => log.error({ err }, 'Signing the heads of the audit chains failed')
  return {
    client,
    db,
    clock,
    jobs,
    audit: observeAudit(await openAuditLog({ db, key: auditKey, clock, onFault }), db, metrics),
    contents: containedCollections,
    accessesOfList,
    ehrLocks: new EhrLocks(),
    bulkWrites: new BulkWriteSupport(),
    definitions: createDefinitionCache(),
    notifyOfPendingEhr: (mvUid, session) =>
      sendMail({ to: { mvUid }, template: 'pending-ehr', language: undefined, data: {} }, session),
  }
}

/** The sources of FHIR resources. Exports show no addresses and follow no changes. */
export const createFhirServices = (
  context: StoreContext,
  recordsOf: FhirServices['recordsOf'],
  { ehrs, profiles, carePlans }: { ehrs: Ehrs; profiles: Profiles; carePlans: CarePlans },
  {
    publicUrl,
    feed,
    cursorEncryption,
  }: Partial<Pick<FhirServices, 'publicUrl' | 'cursorEncryption'>> & {
    feed?: ChangeFeed
  } = {},
): FhirServices => ({
  context,
  recordsOf,
  ehrs,
  profiles,
  participants: carePlans.participants,
  toCompositionJson: toRmJson,
  publicUrl,
  feed,
  cursorEncryption,
})

/** Opens the stores of kinds that have more operations than the others. */
const openOwnStores = (context: StoreContext) => ({
  events: new Events(context),
  reactions: new NaturallyKeyedRecords(context, AdverseReaction),
  devices: new NaturallyKeyedRecords(context, Device),
})

/** Adds missing built-in data. The backfill has started, so it does not take them for older data. */
async function addBuiltIns(
  types: ReturnType<typeof openTypes>,
  { templates }: ReturnType<typeof openOpenEhr>,
) {
  for (const family of Object.values(types)) await family.addBuiltIn()
  await templates.addBuiltIn(
    new Map(COMPOSITION_VIEWS.map(({ head, createTemplate }) => [head.templateId, createTemplate()])),
  )
}

const PENDING_DOCUMENTS_GAUGE = {
  name: 'derived_data_pending_documents',
  help: 'Documents of an earlier version of the service whose derived fields are not updated yet',
}

const sumCounts = (counts: Iterable<number>): number => [...counts].reduce((sum, count) => sum + count, 0)

/** Starts the backfill of derived fields that another version of the service has stored. */
async function startBackfill(
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
async function startBackgroundWork(
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
  const works = await jobs.startPolling(context, handlers, (err) =>
    log.error({ err }, 'A background job failed and will be retried'),
  )
  const changes = startPeriodicTask(
    SECOND_MS,
    (ending) => carePlans.participants.applyDueAccessChanges(ending),
    (err) => log.error({ err }, 'Updating the access of participants failed'),
  )
  const watch = new AlertWatch(context, MEASUREMENT_KINDS, sendMail)
  const alerts = startPeriodicTask(
    SECOND_MS,
    (ending) => watch.run(ending),
    (err) => log.error({ err }, 'Applying the alert rules of care plans failed'),
  )
  const reminders = new Reminders(chats, sendMail)
  const mails = startPeriodicTask(
    MINUTE_MS,
    (ending) => reminders.send(context.clock(), ending),
    (err) => log.error({ err }, 'Sending reminders of chat messages failed'),
  )
  const abandoned = startPeriodicTask(
    DAY_MS,
    (ending) => eraseAbandonedConversations(context, ending),
    (err) => log.error({ err }, 'Erasing conversations of deleted accounts failed'),
  )
  const stop = async () => {
    await abandoned.stop()
    await mails.stop()
    await alerts.stop()
    await changes.stop()
    await works.stop()
  }
  return { stop }
}

/** Opens the worklists of users, and the chat. */
function openWorklists(
  context: StoreContext,
  { ehrs, profiles }: { ehrs: Ehrs; profiles: Profiles },
  sendMail: SendMail,
) {
  const chats = openChats(context, profiles)
  const patients = new PatientCards(context, ehrs, profiles)
  const worklistViews = new WorklistViewsStore(context)
  const handovers = new Handovers(context, profiles.persons, sendMail)
  return { chats, patients, handovers, worklistViews, worklists: new Worklists(context, chats, patients) }
}

/** Opens the chat. */
const openChats = (context: StoreContext, { connections, persons }: Profiles) =>
  new Chats(context, { connections, persons, collectionOf: attachableCollectionOf })

/** Opens the stores of user data, and the agreements of users with helpers. */
function openUserData(
  context: StoreContext,
  batches: MeasurementBatches,
  recordsOf: (kind: { name: string }) => EhrRecords<TObject, string>,
  { persons }: Profiles,
  sendMail: SendMail,
) {
  const kinds = { measurements: recordsOf(Measurement), occurrences: recordsOf(Occurrence) }
  const userData = new UserData(context, batches, kinds)
  const aggregates = new Aggregates(context, userData)
  return { userData, aggregates, helpers: new Helpers(context, persons, sendMail) }
}

const MEASUREMENT_KIND_PATHS = MEASUREMENT_KINDS.map(({ path }) => path)

/** Opens the type definitions. */
const openTypes = (context: StoreContext) => ({
  data: new TypeDefinitions(context, 'data', MEASUREMENT_KIND_PATHS),
  event: new TypeDefinitions(context, 'event'),
  device: new TypeDefinitions(context, 'device'),
})

/** The records that are shown as compositions. */
const COMPOSITION_VIEWS = createCompositionViews(CLASS_NAMES.map(classKindOf))

/** Opens the openEHR stores. */
function openOpenEhr(context: StoreContext, ehrs: Ehrs) {
  const templates = new TemplateStore(context)
  const versionedStores = {
    compositions: new Compositions(context, templates, MEASUREMENT_KINDS, COMPOSITION_VIEWS),
    ehrStatuses: new EhrStatuses(context, ehrs),
    directories: new Directories(context),
  }
  return {
    templates,
    archetypes: new ArchetypeStore(context, templates),
    ...versionedStores,
    contributions: new Contributions(context, versionedStores),
    storedQueries: new StoredQueries(context),
  }
}

const openQueries = (context: StoreContext, backfill: Backfill) =>
  new Queries(context, COMPOSITION_VIEWS, () => !backfill.pendingIn(Composition.collection))

/** Opens charts, thresholds and the list of deleted records. */
function openCharts(context: StoreContext) {
  const timelines = new Timelines(context, CLASS_NAMES.map(classKindOf))
  const thresholds = new PlanThresholdStore(context, MEASUREMENT_KINDS, {
    findTarget: (name) => findThresholdTarget(context, name),
    markUsed: (name) => markTypeUsed(context, 'data', name),
  })
  const alertRules = new PlanAlertRulesStore(context, MEASUREMENT_KIND_PATHS)
  const deletedRecords = new DeletedRecords(context, deletableKinds)
  const graphs = new Graphs(context, MEASUREMENT_KINDS, timelines)
  return { thresholds, alertRules, timelines, graphs, deletedRecords }
}

/** Opens the store of every kind in the table; kinds with their own store are passed in. */
function openRecordsOfKinds(
  context: StoreContext,
  ownStores: readonly unknown[],
): Map<string, EhrRecords<TObject, string>> {
  const ownKinds = new Map((ownStores as EhrRecords<TObject, string>[]).map((one) => [one.kind.name, one]))
  const createRecords = (kind: ClassKind) =>
    kind.comparison
      ? new MeasurementsWithChange(context, kind, kind.comparison)
      : new EhrRecords(context, kind)
  return new Map(CLASS_NAMES.map((name) => [name, ownKinds.get(name) ?? createRecords(classKindOf(name))]))
}

/** Creates the collections of transactions before the first one. */
async function makeCollections(
  db: DatabaseConnection['db'],
  collectionIndexes: readonly [collection: string, indexes: IndexDescription[]][],
  log: Log,
): Promise<void> {
  const steps = jobCollection({ db })
  const plain = [
    checkpointCollection(db),
    ehrLockCollection({ db }),
    ehrCreatorsOf({ db }),
    profileStatesOf({ db }),
    deletedAccountsOf(db),
    steps,
  ]
  for (const { collectionName } of plain) await createCollection(db, collectionName)
  const all = [...changeLogIndexes(db), ...collectionIndexes]
  for (const [at, [name, indexes]] of all.entries()) {
    const collection = db.collection(name)
    const tell = async (index: string) => {
      const documents = await collection.estimatedDocumentCount()
      const progress = { collection: name, index, documents, step: at + 1, of: all.length }
      log.info(progress, 'Creating a new index; the service accepts requests afterwards')
    }
    if (indexes.length === 0) await createCollection(db, name)
    else await syncIndexes(collection, indexes, tell)
  }
}

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
/** Time for which other instances may not know of a new type version or a removed template. */
const CACHE_TTL_MS = 2 * SECOND_MS
const createDefinitionCache = () => new LRUCache<string, object>({ max: 1000, ttl: CACHE_TTL_MS })
const DAY_MS = 86_400_000

/** Removes old audit entries at startup and then once a day. */
function startAuditRetention(
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
