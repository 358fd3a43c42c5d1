import type { TObject } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import type { IndexDescription } from 'mongodb'
import type { Services } from '../path-api/operation/services.ts'
import type { SendMail } from '../records/accounts/user/mails.ts'
import { CarePlans } from '../records/care-plans/care-plans.ts'
import { CarePlanTemplates } from '../records/care-plans/templates/templates.ts'
import { Graphs } from '../records/charts/graphs.ts'
import { Aggregates } from '../records/charts/sums/aggregates.ts'
import { Timelines } from '../records/charts/timeline.ts'
import { Chats } from '../records/chat/chats.ts'
import { Reminders } from '../records/chat/reminders.ts'
import { makersOf } from '../records/ehrs/beginning/beginning.ts'
import { Ehrs } from '../records/ehrs/ehrs.ts'
import { containerJobs } from '../records/ehrs/removal/removal.ts'
import { removalJobs } from '../records/ehrs/removal/removed.ts'
import { Events } from '../records/events/events.ts'
import { attachedCollection, CLASS_NAMES, classKind, contents, MEASUREMENTS } from '../records/kinds.ts'
import { logIndexes } from '../records/live/log.ts'
import { ThresholdsOfPlans } from '../records/measurements/alerts/thresholds-of-plans.ts'
import { Batches } from '../records/measurements/batches.ts'
import { Compared } from '../records/measurements/compared.ts'
import { AdverseReaction } from '../records/of-ehr/adverse-reaction.ts'
import { Device } from '../records/of-ehr/device.ts'
import { KnownRecords } from '../records/of-ehr/known-records.ts'
import { Queries } from '../records/openehr/aql/queries.ts'
import { StoredQueries } from '../records/openehr/aql/stored-queries.ts'
import { Compositions } from '../records/openehr/compositions/compositions.ts'
import { EhrStatuses } from '../records/openehr/ehr-status/ehr-statuses.ts'
import { ownTemplates } from '../records/openehr/measured/own-template.ts'
import { Archetypes } from '../records/openehr/templates/kept-archetypes.ts'
import { Templates } from '../records/openehr/templates/kept-templates.ts'
import { ledger } from '../records/profiles/owner/ledger.ts'
import { Profiles } from '../records/profiles/profiles.ts'
import { TextPacks } from '../records/questionnaires/text-packs.ts'
import type { ClassKind } from '../records/registered/kind.ts'
import { type Holders, Registered } from '../records/registered/registered.ts'
import { checkpointsOf, removeEntriesBefore } from '../records/store/audit/checkpoint.ts'
import { auditIndexes, openAudit } from '../records/store/audit/trail.ts'
import { type Loop, periodically } from '../records/store/batching/periodically.ts'
import { makeCollection, makeIndexes } from '../records/store/documents/indexes.ts'
import { worksOf } from '../records/store/steps/under-way.ts'
import { RecentRemovals } from '../records/store/writing/removal/recent-removals.ts'
import type { Records } from '../records/store/writing/transaction.ts'
import { Turns, turnsOf } from '../records/store/writing/turns.ts'
import { Types } from '../records/types/types.ts'
import { UserData } from '../records/user-data/data-of-users.ts'
import { thresholdedType } from '../records/user-data/measured-types.ts'
import { Occurrence } from '../records/user-data/occurrence.ts'
import { Measurement } from '../records/user-data/typed-measurement.ts'
import type { Config } from './config/config.ts'
import type { Connection } from './database/connection.ts'
import { jsonFilesIn } from './json-files.ts'
import type { Log } from './telemetry/log.ts'
import { createMetrics, observeAudit } from './telemetry/metrics.ts'

export interface RecordServices {
  records: Records
  services: Pick<
    Services,
    | 'profiles'
    | 'ehrs'
    | 'carePlans'
    | 'events'
    | 'reactions'
    | 'devices'
    | 'textPacks'
    | 'templates'
    | 'archetypes'
    | 'compositions'
    | 'queries'
    | 'storedQueries'
    | 'ehrStatuses'
    | 'batches'
    | 'thresholds'
    | 'timelines'
    | 'graphs'
    | 'types'
    | 'userData'
    | 'aggregates'
    | 'chats'
    | 'recordsOf'
  >
  close(): Promise<void>
}

/** Opens the audit and what the path family keeps its records in, and makes their indexes. */
export async function openRecords(
  { client, db, underWay }: Pick<Connection, 'client' | 'db' | 'underWay'>,
  config: Pick<Config, 'auditKey' | 'auditDays' | 'carePlanTemplates' | 'textPacks'>,
  log: Log,
  sendMail: SendMail,
  metrics = createMetrics(),
): Promise<RecordServices> {
  const clock = () => new Date()
  const onFault = (err: unknown) => log.error({ err }, 'The audit’s chain heads could not be signed')
  const audit = observeAudit(await openAudit({ db, key: config.auditKey, clock, onFault }), db, metrics)
  const oldEntries = removeOldEntries(db, config, log)
  const records: Records = {
    ...{ client, db, clock, audit, contents, underWay, turns: new Turns() },
    ...{ recentRemovals: new RecentRemovals(), definitions: new LRUCache({ max: 1000, ttl: DEFINED_MS }) },
    tellOfPendingEhr: (mvUid, session) =>
      sendMail({ to: { mvUid }, template: 'pending-ehr', language: undefined, data: {} }, session),
  }
  const ehrs = new Ehrs(records)
  const planTemplates = new CarePlanTemplates(jsonFilesIn(config.carePlanTemplates, 'CARE_PLAN_TEMPLATES'))
  const textPacks = new TextPacks(jsonFilesIn(config.textPacks, 'TEXT_PACKS'))
  const carePlans = new CarePlans(records, ehrs, sendMail, planTemplates)
  const events = new Events(records, carePlans.holders)
  const reactions = new KnownRecords(records, AdverseReaction, carePlans.holders)
  const devices = new KnownRecords(records, Device, carePlans.holders)
  const openehr = openEhr(records, ehrs)
  const types = openTypes(records)
  const given = { events, reactions, devices }
  const charts = openCharts(records, carePlans.holders)
  const own = { ...given, ...charts, profiles: new Profiles(records), ehrs, carePlans, ...openehr, textPacks }
  const kept = [...Object.values(given), ...Object.values(carePlans.of)]
  const registered = registeredRecords(records, carePlans.holders, kept)
  const recordsOf = ({ name }: { name: string }) => registered.get(name) as Registered<TObject, string>
  const batches = new Batches(records, carePlans.holders, recordsOf)
  const chats = openChats(records, own.profiles)
  const ofUsers = openUserData(records, batches, recordsOf)
  const services = {
    ...{ ...own, queries: queriesOf(records, openehr), batches, types, chats, ...ofUsers },
    recordsOf: recordsOf as Services['recordsOf'],
  }
  const others = [own.profiles, carePlans, ...Object.values(openehr), ...Object.values(types), chats]
  const needed = [...others, ...registered.values()].flatMap((service) => service.indexes())
  await makeCollections(db, [...Object.entries(auditIndexes), ...needed, charts.thresholds.indexes()], log)
  await addUsual(types, openehr)
  const running = await startRunning(records, underWay, { ...own, chats, sendMail }, log)
  const close = async () => {
    await running.end()
    await oldEntries?.end()
    await audit.close()
  }
  return { records, services, close }
}

/** What comes with the service, where it is not there yet. */
async function addUsual(types: ReturnType<typeof openTypes>, { templates }: ReturnType<typeof openEhr>) {
  for (const family of Object.values(types)) await family.addUsual()
  await templates.addUsual(ownTemplates(MEASUREMENTS))
}

/** What goes on by itself: works of several steps, participations whose time comes or ends, mails, the facts of older compositions. */
async function startRunning(
  records: Records,
  underWay: Connection['underWay'],
  {
    carePlans,
    compositions,
    chats,
    sendMail,
  }: { carePlans: CarePlans; compositions: Compositions; chats: Chats; sendMail: SendMail },
  log: Log,
): Promise<{ end(): Promise<void> }> {
  const jobs = { ...removalJobs(records), ...containerJobs(records), ...carePlans.jobs }
  const works = await underWay.serve(records, jobs, (err) =>
    log.error({ err }, 'A work of several steps could not go on'),
  )
  const changes = periodically(
    SECOND_MS,
    () => carePlans.participants.changeAccess(),
    (err) => log.error({ err }, 'The access of participants could not be updated'),
  )
  const reminders = new Reminders(chats, sendMail)
  const mails = periodically(
    MINUTE_MS,
    () => reminders.send(records.clock()),
    (err) => log.error({ err }, 'Nobody could be reminded of chat messages'),
  )
  const filling = periodically(
    MINUTE_MS,
    (ending) => compositions.facts.run(ending),
    (err) => log.error({ err }, 'Older compositions could not be given their facts'),
  )
  const end = async () => {
    await filling.end()
    await mails.end()
    await changes.end()
    await works.end()
  }
  return { end }
}

/** What people say to each other. */
const openChats = (records: Records, { connections, persons }: Profiles) =>
  new Chats(records, { connections, persons, collectionOf: attachedCollection })

/** What users store of the types that modellers make. */
function openUserData(
  records: Records,
  batches: Batches,
  recordsOf: (kind: { name: string }) => Registered<TObject, string>,
) {
  const kinds = { measurements: recordsOf(Measurement), occurrences: recordsOf(Occurrence) }
  const userData = new UserData(records, batches, kinds)
  return { userData, aggregates: new Aggregates(records, userData) }
}

/** What modellers say of data. */
const openTypes = (records: Records) => ({
  data: new Types(
    records,
    'data',
    MEASUREMENTS.map(({ path }) => path),
  ),
  event: new Types(records, 'event'),
  device: new Types(records, 'device'),
})

/** What is kept as openEHR has it. */
function openEhr(records: Records, ehrs: Ehrs) {
  const templates = new Templates(records)
  return {
    ...{ templates, archetypes: new Archetypes(records, templates) },
    compositions: new Compositions(records, templates, MEASUREMENTS),
    ehrStatuses: new EhrStatuses(records, ehrs),
    storedQueries: new StoredQueries(records),
  }
}

const queriesOf = (records: Records, { compositions }: ReturnType<typeof openEhr>) =>
  new Queries(records, MEASUREMENTS, compositions.facts)

/** What is derived from the measurements, and the limits within which they should be. */
function openCharts(records: Records, holders: Holders) {
  const timelines = new Timelines(records, holders, CLASS_NAMES.map(classKind))
  const typed = (name: string) => thresholdedType(records, name)
  const thresholds = new ThresholdsOfPlans(records, holders, MEASUREMENTS, typed)
  return { thresholds, timelines, graphs: new Graphs(records, MEASUREMENTS, timelines) }
}

/** The records of every kind in the table; those that have ways of their own are given. */
function registeredRecords(
  records: Records,
  holders: Holders,
  own: readonly unknown[],
): Map<string, Registered<TObject, string>> {
  const given = new Map((own as Registered<TObject, string>[]).map((one) => [one.kind.name, one]))
  const opened = (kind: ClassKind) =>
    kind.comparison
      ? new Compared(records, kind, holders, kind.comparison)
      : new Registered(records, kind, holders)
  return new Map(CLASS_NAMES.map((name) => [name, given.get(name) ?? opened(classKind(name))]))
}

/** All that is written in transactions, before the first one. */
async function makeCollections(
  db: Connection['db'],
  indexed: readonly [collection: string, indexes: IndexDescription[]][],
  log: Log,
): Promise<void> {
  const steps = worksOf({ db })
  const plain = [checkpointsOf(db), turnsOf({ db }), makersOf({ db }), ledger({ db }), steps]
  for (const { collectionName } of plain) await makeCollection(db, collectionName)
  const all = [...logIndexes(db), ...indexed]
  for (const [at, [name, indexes]] of all.entries()) {
    const collection = db.collection(name)
    const tell = async (index: string) => {
      const documents = await collection.estimatedDocumentCount()
      const progress = { collection: name, index, documents, step: at + 1, of: all.length }
      log.info(progress, 'The start makes an index that is new; requests are answered afterwards')
    }
    if (indexes.length === 0) await makeCollection(db, name)
    else await makeIndexes(collection, indexes, tell)
  }
}

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
/** How long another instance may not have heard of a new version of a type, or that a template is gone. */
const DEFINED_MS = 2 * SECOND_MS
const DAY_MS = 86_400_000

/** Keeps the audit to its age, looking at the start and once a day. */
function removeOldEntries(
  db: Connection['db'],
  { auditKey, auditDays }: Pick<Config, 'auditKey' | 'auditDays'>,
  log: Log,
): Loop | undefined {
  if (auditDays === undefined) return undefined
  return periodically(
    DAY_MS,
    async () => {
      const removed = await removeEntriesBefore(db, auditKey, new Date(Date.now() - auditDays * DAY_MS))
      if (removed > 0) log.info({ removed }, 'Old entries of the audit were removed')
    },
    (err) => log.error({ err }, 'Old entries of the audit could not be removed'),
  )
}
