import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import type { ClientSession, Filter, IndexDescription } from 'mongodb'
import { lockProfile } from '../../records/profiles/storage/profile-lock.ts'
import { type Caller, permissionFilter } from '../../records/store/documents/caller.ts'
import { documentCollection } from '../../records/store/documents/database.ts'
import { UNSEEN_JOB } from '../../records/store/documents/job.ts'
import type { ParseDocument } from '../../records/store/documents/parse-format.ts'
import { enqueueJob, type JobHandlers } from '../../records/store/jobs/background-jobs.ts'
import { runStoreTransaction, type StoreContext } from '../../records/store/writing/transaction.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { DAY_MS } from '../../schemas/time/durations.ts'
import { parameterError } from '../outcome/issue.ts'
import { parseSince, parseTypes, type SearchParameters } from '../search/parse-search.ts'
import { limitExport, permitTypes, requireNoWiderExport } from '../sources/app-limits.ts'
import type { ExportSource, FhirServices, ResourceType } from '../sources/resource-source.ts'
import { deletedResources } from './deleted-resources.ts'
import { exportInSteps } from './export-steps.ts'
import {
  chunkCollection,
  chunkIdRange,
  exportCollection,
  exportIndexes,
  fromStoredPermit,
  removeExports,
  type StoredExport,
  toStoredPermit,
} from './stored-exports.ts'

/** Files are kept for this time after the request. */
const EXPORT_RETENTION_MS = DAY_MS
const MAX_PATIENTS = 10_000
/** Exports of one user: those that are not complete, and all that are kept. */
const MAX_RUNNING_EXPORTS = 2
const MAX_EXPORTS = 10

export const POLL_INTERVAL_S = 2
/** A client that asks again within this time has not waited. */
const MIN_POLL_INTERVAL_MS = 1000

const DELETED = 'deleted'

const EXPORT_FORMATS = ['application/fhir+ndjson', 'application/ndjson', 'ndjson']

/** A request for an export. */
interface ExportOrder {
  /** The group whose patients it covers; undefined: all of the caller. */
  groupId: string | undefined
  parameters: SearchParameters
  /** The URL of the request. */
  request: string
}

interface ExportFile {
  /** The resource type of its lines. */
  type: string
  /** Its name, without the URL of the export. */
  name: string
  count: number
}

/** The state of an export for its client. */
export interface ExportStatus {
  /** For people; undefined when it is complete. */
  progress: string | undefined
  startedAt: string
  expiresAt: Date
  request: string
  output: ExportFile[]
  deleted: ExportFile[]
}

/** Exports of all resources of many patients, which the service prepares in the background. */
export class BulkExports {
  readonly #context: StoreContext
  readonly #recordsOf: FhirServices['recordsOf']
  readonly #types: readonly ResourceType[]
  readonly #sections: ReadonlyMap<string, ExportSource>
  readonly #polled = new LRUCache<string, true>({ max: 10_000, ttl: MIN_POLL_INTERVAL_MS })

  constructor(types: readonly ResourceType[], services: FhirServices) {
    this.#context = services.context
    this.#recordsOf = services.recordsOf
    const sources = types.map((description) => ({ description, source: description.open(services) }))
    const exportSources = sources.flatMap(({ description, source }) => {
      const exportPage = source.exportPage?.bind(source)
      return exportPage ? [{ description, source: limitExport(description, { exportPage }) }] : []
    })
    this.#types = exportSources.map(({ description }) => description)
    this.#sections = new Map([
      ...exportSources.map(({ description, source }): [string, ExportSource] => [description.type, source]),
      [DELETED, deletedResources(services.context, sources)],
    ])
  }

  indexes(): [collection: string, IndexDescription[]][] {
    return exportIndexes(this.#context.db)
  }

  get jobs(): JobHandlers {
    return { exportFhir: exportInSteps(this.#context, this.#sections) }
  }

  /**
   * Starts an export of what the caller may read.
   * @returns its id
   * @throws InvalidInput; Forbidden for an app without the scopes; NotFound for an unknown group; TooManyRequests
   */
  async start(caller: Caller, { groupId, parameters, request }: ExportOrder, _id: string): Promise<string> {
    const { _outputFormat: format = EXPORT_FORMATS[0] } = parameters
    if (!EXPORT_FORMATS.includes(String(format)))
      throw parameterError('_outputFormat', 'not-supported', `must be ${EXPORT_FORMATS[0]}`)
    const requestedTypes = parseTypes(parameters, typeNamesOf(this.#types))
    const descriptions = requestedTypes ? this.#descriptionsOf(requestedTypes) : this.#types
    const { types, permittedCaller } = permitTypes(caller, descriptions, requestedTypes !== undefined)
    const since = parseSince(parameters) ?? null
    const ehrIds = await this.#findEhrIds(permittedCaller, groupId)
    const startedAt = this.#context.clock()
    const storedExport: StoredExport = {
      _id,
      userId: caller.userId,
      request,
      ehrIds,
      since,
      startedAt,
      steps: 0,
      counts: {},
      ...(caller.app && { app: toStoredPermit(caller.app) }),
      sections: [...typeNamesOf(types), ...(since ? [DELETED] : [])],
      expiresAt: new Date(startedAt.getTime() + EXPORT_RETENTION_MS),
      position: ehrIds.length > 0 ? { patient: 0, section: 0, after: null } : null,
    }
    await runStoreTransaction(this.#context, async (tx) => {
      await lockProfile(this.#context, tx, caller.userId)
      await this.#requireFewExports(caller, tx.session)
      await exportCollection(this.#context.db).insertOne(storedExport, { session: tx.session })
      const work = { ...UNSEEN_JOB, job: 'exportFhir', field: 'exportId', id: _id } as const
      if (storedExport.position) await enqueueJob(this.#context, tx, caller, work)
    })
    return _id
  }

  /** The types of these names, in the order of the table. */
  #descriptionsOf = (names: readonly string[]): ResourceType[] =>
    this.#types.filter(({ type }) => names.includes(type))

  async #requireFewExports(caller: Caller, session: ClientSession): Promise<void> {
    const current = await exportCollection(this.#context.db)
      .find(
        { ...ownExports(caller), expiresAt: { $gt: this.#context.clock() } },
        { projection: { position: 1 }, session },
      )
      .toArray()
    const running = current.filter(({ position }) => position !== null)
    if (current.length >= MAX_EXPORTS || running.length >= MAX_RUNNING_EXPORTS)
      throw new ServiceError('TooManyRequests', {
        retryAfter: 60,
        detail: 'You have too many exports. Wait until one finishes, or delete one.',
      })
  }

  /** The EHRs of a group: `patients`, or the id of a care plan, whose patient is meant. */
  async #findEhrIds(caller: Caller, groupId = 'patients'): Promise<string[]> {
    if (groupId !== 'patients') {
      const plan = await this.#recordsOf({ name: 'CarePlan' }).store.get(caller, { id: groupId } as never)
      return [(plan as unknown as { ehrId: string }).ehrId]
    }
    const readable = permissionFilter('_rperm', caller) as Filter<ParseDocument>
    const readableEhrs = documentCollection(this.#context, 'Ehr').find(readable, { projection: { _id: 1 } })
    const ehrs = await readableEhrs.limit(MAX_PATIENTS + 1).toArray()
    if (ehrs.length > MAX_PATIENTS)
      throw parameterError(
        'Group',
        'too-costly',
        `must be a care plan: you have over ${MAX_PATIENTS} patients`,
      )
    return ehrs.map(({ _id }) => _id)
  }

  /** @throws NotFound; TooManyRequests for a client that asks too often */
  async status(caller: Caller, id: string): Promise<ExportStatus> {
    const storedExport = await this.#find(caller, id)
    const { position, ehrIds, counts } = storedExport
    if (position) {
      if (this.#polled.has(id)) throw new ServiceError('TooManyRequests', { retryAfter: POLL_INTERVAL_S })
      this.#polled.set(id, true)
    }
    const files = Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([section, count]) => ({
        type: section === DELETED ? 'Bundle' : section,
        name: `${section}.ndjson`,
        count,
      }))
    const isDeletion = ({ name }: ExportFile) => name === `${DELETED}.ndjson`
    return {
      progress: position ? `${position.patient} of ${ehrIds.length} patients` : undefined,
      startedAt: storedExport.startedAt.toISOString(),
      expiresAt: storedExport.expiresAt,
      request: storedExport.request,
      output: files.filter((file) => !isDeletion(file)),
      deleted: files.filter(isDeletion),
    }
  }

  /** Streams a file of a complete export. @throws NotFound; Forbidden for an app with fewer scopes than before */
  async read(caller: Caller, id: string, name: string): Promise<Readable> {
    const { position, counts, sections, app } = await this.#find(caller, id)
    const section = name.replace(/\.ndjson$/, '')
    if (position || !Object.hasOwn(counts, section)) throw new ServiceError('NotFound')
    requireNoWiderExport(
      caller,
      app && fromStoredPermit(app),
      this.#descriptionsOf(section === DELETED ? sections : [section]),
    )
    return Readable.from(this.#readChunks(caller, id, section))
  }

  /** @throws NotFound at the end if the export ended meanwhile, since its file would seem whole */
  async *#readChunks(caller: Caller, id: string, section: string): AsyncGenerator<Buffer> {
    const chunks = chunkCollection(this.#context.db).find(
      { _id: chunkIdRange(id, section) },
      // The client decides how fast it reads.
      { batchSize: 4, maxTimeMS: 600_000 },
    )
    for await (const { content } of chunks.sort({ _id: 1 })) yield await promisify(gunzip)(content.value())
    await this.#find(caller, id)
  }

  /** Cancels an export, or deletes its files. @throws NotFound */
  async cancel(caller: Caller, id: string): Promise<void> {
    await this.#find(caller, id)
    await removeExports(this.#context, { _id: id })
  }

  /** Deletes the exports of an account that ends. */
  async forgetUser(session: ClientSession, userId: string): Promise<void> {
    await exportCollection(this.#context.db).deleteMany({ userId }, { session })
    await chunkCollection(this.#context.db).deleteMany({ userId }, { session })
  }

  /** @throws NotFound for an export of somebody else */
  async #find(caller: Caller, id: string): Promise<StoredExport> {
    const storedExport = await exportCollection(this.#context.db).findOne({ _id: id, ...ownExports(caller) })
    if (!storedExport || storedExport.expiresAt <= this.#context.clock()) throw new ServiceError('NotFound')
    return storedExport
  }
}

const typeNamesOf = (types: readonly ResourceType[]): string[] => types.map(({ type }) => type)

/** A user and each app of a user have their own exports. */
const ownExports = ({ userId, app }: Caller): Filter<StoredExport> => ({
  userId,
  'app.id': app ? app.id : { $exists: false },
})
