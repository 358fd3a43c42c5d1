import type { TObject } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import type { IndexDescription } from 'mongodb'
import { BulkExports } from '../../fhir/export/bulk-exports.ts'
import { resourceTypes } from '../../fhir/resource-types.ts'
import type { FhirServices } from '../../fhir/sources/resource-source.ts'
import { subscriptionIndexes } from '../../fhir/subscriptions/subscription-type.ts'
import { Queries } from '../../openehr/aql/queries.ts'
import { StoredQueries } from '../../openehr/aql/stored-queries.ts'
import { createCompositionViews } from '../../openehr/composition-views/create-views.ts'
import { toRmJson } from '../../openehr/compositions/composition-json.ts'
import { Compositions } from '../../openehr/compositions/compositions.ts'
import { Contributions } from '../../openehr/contributions/contributions.ts'
import { Directories } from '../../openehr/directories/directories.ts'
import { EhrStatuses } from '../../openehr/ehr-status/ehr-statuses.ts'
import { ArchetypeStore } from '../../openehr/templates/archetype-store.ts'
import { TemplateStore } from '../../openehr/templates/template-store.ts'
import type { Services } from '../../path-api/operation/services.ts'
import { deletedAccountsOf } from '../../records/accounts/account-deletion.ts'
import { Helpers } from '../../records/accounts/helpers/helpers.ts'
import type { SendMail } from '../../records/accounts/user/mails.ts'
import { CarePlans } from '../../records/care-plans/care-plans.ts'
import { CarePlanTemplates } from '../../records/care-plans/templates/care-plan-templates.ts'
import { Aggregates } from '../../records/charts/aggregates/aggregates.ts'
import { Graphs } from '../../records/charts/graphs.ts'
import { Timelines } from '../../records/charts/timeline.ts'
import { Chats } from '../../records/chat/chats.ts'
import { Composition } from '../../records/compositions/composition-record.ts'
import { AdverseReaction } from '../../records/conditions/adverse-reaction.ts'
import { Device } from '../../records/conditions/device.ts'
import { NaturallyKeyedRecords } from '../../records/conditions/naturally-keyed-records.ts'
import { EhrRecords } from '../../records/ehr-records/ehr-records.ts'
import type { ClassKind } from '../../records/ehr-records/kind.ts'
import { ehrCreatorsOf } from '../../records/ehrs/creation/ehr-creation.ts'
import { Ehrs } from '../../records/ehrs/ehrs.ts'
import { accessesOfList } from '../../records/ehrs/rights/query-accesses.ts'
import { Events } from '../../records/events/events.ts'
import { Handovers } from '../../records/handovers/handovers.ts'
import { DeletedRecords } from '../../records/history/deleted-records.ts'
import {
  attachableCollectionOf,
  CLASS_NAMES,
  classKindOf,
  containedCollections,
  deletableKinds,
  MEASUREMENT_KINDS,
  measurementCollectionOf,
} from '../../records/kinds.ts'
import type { ChangeFeed } from '../../records/live/change-feed.ts'
import { changeLogIndexes } from '../../records/live/change-log.ts'
import { PlanAlertRulesStore } from '../../records/measurements/alerts/alert-rules.ts'
import { PlanThresholdStore } from '../../records/measurements/alerts/plan-threshold-store.ts'
import { MeasurementBatches } from '../../records/measurements/measurement-batches.ts'
import { MeasurementsWithChange } from '../../records/measurements/measurements-with-change.ts'
import { Profiles } from '../../records/profiles/profiles.ts'
import { profileStatesOf } from '../../records/profiles/storage/profile-lock.ts'
import { TextPacks } from '../../records/questionnaires/text-packs.ts'
import { auditIndexes, openAuditLog } from '../../records/store/audit/audit-log.ts'
import { checkpointCollection } from '../../records/store/audit/checkpoints.ts'
import type { Backfill } from '../../records/store/backfill/backfill.ts'
import { BulkWriteSupport } from '../../records/store/batching/pending-writes.ts'
import { createCollection, syncIndexes } from '../../records/store/documents/indexes.ts'
import { jobCollection } from '../../records/store/jobs/background-jobs.ts'
import { EhrLocks, ehrLockCollection } from '../../records/store/writing/ehr-locks.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import { TypeDefinitions } from '../../records/types/type-definitions.ts'
import { markTypeUsed } from '../../records/types/type-registry.ts'
import { findThresholdTarget } from '../../records/user-data/graph-sources.ts'
import { Occurrence } from '../../records/user-data/occurrence.ts'
import { Measurement } from '../../records/user-data/typed-measurement.ts'
import { UserData } from '../../records/user-data/user-data.ts'
import { PatientCards } from '../../records/worklist/patient-cards.ts'
import { Worklists } from '../../records/worklist/worklist.ts'
import { WorklistViewsStore } from '../../records/worklist/worklist-views-store.ts'
import type { Config } from '../config/config.ts'
import type { DatabaseConnection } from '../database/database-connection.ts'
import type { Log } from '../telemetry/log.ts'
import { createMetrics, type Metrics, observeAudit } from '../telemetry/metrics.ts'
import { startAuditRetention, startBackfill, startBackgroundWork } from './background-work.ts'
import { readJsonFiles } from './json-files.ts'

export type RecordServices = Awaited<ReturnType<typeof openRecords>>

/** Opens the audit log and the stores of the path family, creates their indexes, and starts their background work. */
export async function openRecords(
  { client, db, jobs, backfill }: Pick<DatabaseConnection, 'client' | 'db' | 'jobs' | 'backfill'>,
  config: Pick<Config, 'auditKey' | 'auditDays' | 'carePlanTemplates' | 'textPacks'>,
  log: Log,
  sendMail: SendMail,
  metrics = createMetrics(),
) {
  const context = await openStore({ client, db, jobs }, config, log, sendMail, metrics)
  const auditRetention = startAuditRetention(db, config, log)
  const { recordsByKind, recordsOf, ...services } = openServices(context, backfill, config, sendMail)
  await createCollectionsAndIndexes(db, indexesOf(context, services, recordsByKind), log)
  const factBackfill = await startBackfill(backfill, context, log, metrics)
  await addBuiltIns(services)
  const backgroundWork = await startBackgroundWork(context, jobs, { ...services, sendMail }, log)
  const close = async () => {
    for (const task of [factBackfill, backgroundWork, auditRetention]) await task?.stop()
    await context.audit.close()
  }
  return {
    context,
    services: { ...services, recordsOf: recordsOf as Services['recordsOf'] },
    recordsOf,
    close,
  }
}

type OpenServices = ReturnType<typeof openServices>

/** Opens the stores, each by the name of its service. */
function openServices(
  context: StoreContext,
  backfill: Backfill,
  config: Pick<Config, 'carePlanTemplates' | 'textPacks'>,
  sendMail: SendMail,
) {
  const ehrs = new Ehrs(context)
  const profiles = new Profiles(context)
  const planTemplates = new CarePlanTemplates(readJsonFiles(config.carePlanTemplates, 'CARE_PLAN_TEMPLATES'))
  const carePlans = new CarePlans(context, sendMail, planTemplates)
  const extendedStores = openExtendedStores(context)
  const recordsByKind = openRecordsOfKinds(context, Object.values({ ...extendedStores, ...carePlans.stores }))
  const recordsOf = ({ name }: { name: string }) => recordsByKind.get(name) as EhrRecords<TObject, string>
  const batches = new MeasurementBatches(context, recordsOf)
  const fhirServices = createFhirServices(context, recordsOf, { ehrs, profiles, carePlans })
  return {
    ehrs,
    profiles,
    carePlans,
    ...extendedStores,
    recordsByKind,
    recordsOf,
    batches,
    types: openTypes(context),
    textPacks: new TextPacks(readJsonFiles(config.textPacks, 'TEXT_PACKS')),
    helpers: new Helpers(context, profiles.persons, sendMail),
    handovers: new Handovers(context, profiles.persons, sendMail),
    fhirExports: new BulkExports(resourceTypes, fhirServices),
    ...openThresholds(context),
    ...openHistory(context),
    ...openUserData(context, batches, recordsOf),
    ...openWorklists(context, ehrs, profiles),
    ...openOpenEhr(context, ehrs, backfill),
  }
}

/** The indexes of all collections of the stores. */
const indexesOf = (
  context: StoreContext,
  services: Omit<OpenServices, 'recordsByKind' | 'recordsOf'>,
  recordsByKind: OpenServices['recordsByKind'],
): CollectionIndexes[] => [
  ...Object.entries(auditIndexes),
  ...subscriptionIndexes(context),
  ...[
    services.profiles,
    services.ehrs,
    services.carePlans,
    services.chats,
    services.worklistViews,
    services.handovers,
    services.fhirExports,
    services.templates,
    services.archetypes,
    services.compositions,
    services.ehrStatuses,
    services.directories,
    services.contributions,
    services.storedQueries,
    ...Object.values(services.types),
    ...recordsByKind.values(),
    services.helpers,
  ].flatMap((store) => store.indexes()),
  services.thresholds.indexes(),
  services.alertRules.indexes(),
]

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

/** The sources of FHIR resources. Exports show no URLs and follow no changes. */
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
const openExtendedStores = (context: StoreContext) => ({
  events: new Events(context, measurementCollectionOf),
  reactions: new NaturallyKeyedRecords(context, AdverseReaction),
  devices: new NaturallyKeyedRecords(context, Device),
})

/** Adds missing built-in data. The backfill has started, so it does not mistake them for older data. */
async function addBuiltIns({ types, templates }: Pick<OpenServices, 'types' | 'templates'>): Promise<void> {
  for (const family of Object.values(types)) await family.addBuiltIn()
  await templates.addBuiltIn(
    new Map(COMPOSITION_VIEWS.map(({ head, createTemplate }) => [head.templateId, createTemplate()])),
  )
}

/** Opens the chat, the worklists, and the cards of the patients in them. */
function openWorklists(context: StoreContext, ehrs: Ehrs, profiles: Profiles) {
  const { connections, persons } = profiles
  const chats = new Chats(context, { connections, persons, collectionOf: attachableCollectionOf })
  const patients = new PatientCards(context, ehrs, profiles)
  const worklistViews = new WorklistViewsStore(context)
  return { chats, patients, worklistViews, worklists: new Worklists(context, chats, patients) }
}

/** Opens the stores of user data, and their aggregates. */
function openUserData(
  context: StoreContext,
  batches: MeasurementBatches,
  recordsOf: (kind: { name: string }) => EhrRecords<TObject, string>,
) {
  const kinds = { measurements: recordsOf(Measurement), occurrences: recordsOf(Occurrence) }
  const userData = new UserData(context, batches, kinds)
  return { userData, aggregates: new Aggregates(context, userData) }
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

/** Opens the openEHR stores and the queries on them. */
function openOpenEhr(context: StoreContext, ehrs: Ehrs, backfill: Backfill) {
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
    queries: new Queries(context, COMPOSITION_VIEWS, () => !backfill.pendingIn(Composition.collection)),
  }
}

/** Opens the thresholds and alert rules of care plans. */
const openThresholds = (context: StoreContext) => ({
  thresholds: new PlanThresholdStore(context, MEASUREMENT_KINDS, {
    findTarget: (name) => findThresholdTarget(context, name),
    markUsed: (name) => markTypeUsed(context, 'data', name),
  }),
  alertRules: new PlanAlertRulesStore(context, MEASUREMENT_KIND_PATHS),
})

/** Opens timelines, graphs and the list of deleted records. */
function openHistory(context: StoreContext) {
  const timelines = new Timelines(context, CLASS_NAMES.map(classKindOf))
  const graphs = new Graphs(context, MEASUREMENT_KINDS, timelines)
  return { timelines, graphs, deletedRecords: new DeletedRecords(context, deletableKinds) }
}

/** Opens the store of every kind in the table, unless it is one of the extended stores. */
function openRecordsOfKinds(
  context: StoreContext,
  extendedStores: readonly unknown[],
): Map<string, EhrRecords<TObject, string>> {
  const extended = extendedStores as EhrRecords<TObject, string>[]
  const extendedByKind = new Map(extended.map((store) => [store.kind.name, store]))
  const createRecords = (kind: ClassKind) =>
    kind.comparison
      ? new MeasurementsWithChange(context, kind, kind.comparison)
      : new EhrRecords(context, kind)
  return new Map(
    CLASS_NAMES.map((name) => [name, extendedByKind.get(name) ?? createRecords(classKindOf(name))]),
  )
}

type CollectionIndexes = readonly [collection: string, indexes: IndexDescription[]]

/** Creates all collections and indexes. A transaction cannot create a collection. */
async function createCollectionsAndIndexes(
  db: DatabaseConnection['db'],
  collectionIndexes: readonly CollectionIndexes[],
  log: Log,
): Promise<void> {
  const collectionsWithoutIndexes = [
    checkpointCollection(db),
    ehrLockCollection({ db }),
    ehrCreatorsOf({ db }),
    profileStatesOf({ db }),
    deletedAccountsOf(db),
    jobCollection({ db }),
  ]
  for (const { collectionName } of collectionsWithoutIndexes) await createCollection(db, collectionName)
  const allIndexes = [...changeLogIndexes(db), ...collectionIndexes]
  for (const [i, [name, indexes]] of allIndexes.entries()) {
    const collection = db.collection(name)
    const tell = async (index: string) => {
      const documents = await collection.estimatedDocumentCount()
      const progress = { collection: name, index, documents, step: i + 1, of: allIndexes.length }
      log.info(progress, 'Creating a new index; the service accepts requests afterwards')
    }
    if (indexes.length === 0) await createCollection(db, name)
    else await syncIndexes(collection, indexes, tell)
  }
}

/** Time for which other instances may not know of a new type version or a removed template. */
const CACHE_TTL_MS = 2_000
const createDefinitionCache = () => new LRUCache<string, object>({ max: 1000, ttl: CACHE_TTL_MS })
