import type { FhirResource } from '../../records/fhir/mapping.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import { createSequentialIdGenerator } from '../../records/store/documents/ids.ts'
import {
  runStoreTransaction,
  type StoreContext,
  type Transaction,
} from '../../records/store/writing/transaction.ts'
import { ifNotFound, ServiceError } from '../../schemas/errors.ts'
import { isTagListed, versionsInTags } from '../../schemas/validation/entity-tags.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { BundleLimits } from '../bundles/bundle-limits.ts'
import { ifConflict, isInputError, joinFaults, locateFaults } from '../outcome/entry-faults.ts'
import { issuesOf, operationOutcome, writeIssues } from '../outcome/issue.ts'
import type { SearchParameters } from '../search/parse-search.ts'
import type { ResourceWrite } from '../sources/resource-source.ts'
import {
  type BundleEntry,
  type BundleMethod,
  conditionalReferences,
  parseSearchQuery,
  readEntries,
  replaceReferences,
  requireFew,
  violationsError,
} from './bundle-entries.ts'
import {
  type FhirResources,
  ifMissing,
  requireCreatableByUpdate,
  type WrittenResource,
} from './fhir-resources.ts'

/** The most creations at the same time. Their checks take some milliseconds, in which no other request is served. */
const MAX_CONCURRENT_CREATIONS = 20

interface EntryResponse {
  resource?: FhirResource
  response: { status: string; location?: string; etag?: string; lastModified?: string; outcome?: object }
}

/** What a client prefers for each entry that writes. */
interface BundlePreferences {
  handling?: 'strict' | 'lenient' | undefined
  return?: 'minimal' | 'representation' | 'OperationOutcome' | undefined
}

interface BundleRequest {
  caller: Caller
  preferences: BundlePreferences
  newId: () => string
  isRetry: boolean
}

/** Entries that share the limits of a Bundle. */
interface LimitedRequest extends BundleRequest {
  limits: BundleLimits
}

const withLimits = (request: BundleRequest): LimitedRequest => ({ ...request, limits: new BundleLimits() })

/** Executes batches and transactions. */
export class BundleRequests {
  readonly #context: StoreContext
  readonly #resources: FhirResources

  constructor(context: StoreContext, resources: FhirResources) {
    this.#context = context
    this.#resources = resources
  }

  /**
   * Carries out the requests of a Bundle: of a batch each alone, of a transaction all or none.
   * @throws the faults of all entries of a transaction, or another error of one, with the path of the entry
   */
  async execute(bundle: FhirResource, request: BundleRequest): Promise<FhirResource> {
    const read = readEntries(bundle)
    const numberedRequest = { ...request, newId: createSequentialIdGenerator(request.newId) }
    const entry = read.isTransaction
      ? await this.#executeAll(numberedRequest, read.entries)
      : await this.#executeEach(numberedRequest, read.entries)
    const type = read.isTransaction ? 'transaction-response' : 'batch-response'
    return { resourceType: 'Bundle', type, entry }
  }

  async #executeEach(
    request: BundleRequest,
    entries: readonly (BundleEntry | Violation)[],
  ): Promise<EntryResponse[]> {
    const limitedRequest = withLimits(request)
    const responses: EntryResponse[] = []
    for (const entry of entries) {
      const respond = async () => {
        if ('message' in entry) throw violationsError([entry])
        return this.#execute(
          limitedRequest,
          await this.#prepare(limitedRequest, entry, limitedRequest.newId()),
        )
      }
      responses.push(await respond().catch(toErrorResponse))
    }
    return responses
  }

  async #executeAll(request: BundleRequest, entries: readonly BundleEntry[]): Promise<EntryResponse[]> {
    const preparedEntries = await this.#resolve(request, entries)
    requireDistinct(preparedEntries, (type, condition) => this.#resources.conditionKey(type, condition))
    if (request.isRetry && (await this.#isDone(request.caller, preparedEntries)))
      return this.#repeatResponses(request, preparedEntries)
    const responses = new Map<number, EntryResponse>()
    const reads = preparedEntries.filter(isReading)
    const writes = preparedEntries.filter((one) => !isReading(one))
    const createReader = (limited: LimitedRequest) => async (one: PreparedEntry) => {
      responses.set(one.entry.position, await locateFaults(one.entry, () => this.#execute(limited, one)))
    }
    // A read that fails must prevent the writes. What it returns is read again when they are done.
    const read = createReader(withLimits(request))
    for (const one of reads) await read(one)
    if (writes.length > 0) {
      const write = (concurrency: number) => this.#writeAll(request, writes, concurrency, responses)
      // Of concurrent creations, the database may refuse any. One by one, the entry at fault gets the error.
      await write(MAX_CONCURRENT_CREATIONS).catch(ifConflict(() => write(1)))
      const readAgain = createReader(withLimits(request))
      for (const one of reads)
        await readAgain(one).catch((error) => responses.set(one.entry.position, toErrorResponse(error)))
    }
    return preparedEntries.map(({ entry }) => responses.get(entry.position) as EntryResponse)
  }

  /** Carries out the writes of a transaction. @throws the faults of all of them, so that none is stored */
  #writeAll(
    request: BundleRequest,
    writes: readonly PreparedEntry[],
    concurrency: number,
    responses: Map<number, EntryResponse>,
  ): Promise<void> {
    const sortedWrites = writes.toSorted(byParents)
    const run = async (
      limited: LimitedRequest,
      entries: readonly PreparedEntry[],
      faults: ServiceError[],
      tx: Transaction,
    ) => {
      for (const group of this.#groupsOf(entries, concurrency)) {
        const work = group.map((one) => locateFaults(one.entry, () => this.#execute(limited, one, tx)))
        // All of them end before the transaction does.
        for (const [i, result] of (await Promise.allSettled(work)).entries()) {
          if (result.status === 'fulfilled')
            responses.set((group[i] as PreparedEntry).entry.position, result.value)
          else if (isInputError(result.reason)) faults.push(result.reason)
          else
            throw faults.length > 0 && result.reason instanceof ServiceError
              ? joinFaults(faults)
              : result.reason
        }
      }
    }
    const writeIn = async (tx: Transaction) => {
      const faults: ServiceError[] = []
      const limited = withLimits(request)
      for (const methods of WRITING_ORDER)
        await run(
          limited,
          sortedWrites.filter(({ entry }) => methods.includes(entry.method)),
          faults,
          tx,
        )
      if (faults.length > 0) throw joinFaults(faults)
    }
    return runStoreTransaction(this.#context, writeIn, { admission: request.caller.admission })
  }

  /** Splits entries into those that run at the same time: creations of one group, and each other one alone. */
  #groupsOf(entries: readonly PreparedEntry[], maxLength: number): PreparedEntry[][] {
    const groups: PreparedEntry[][] = []
    const nameOf = (one: PreparedEntry) =>
      isCreating(one) && one.entry.resource && !conditionOf(one.entry)
        ? this.#resources.creationGroupOf(one.entry.resource)
        : undefined
    let before: string | undefined
    for (const one of entries) {
      const group = groups.at(-1)
      const name = nameOf(one)
      if (group && name !== undefined && name === before && group.length < maxLength) group.push(one)
      else groups.push([one])
      before = name
    }
    return groups
  }

  /** Whether an earlier attempt was carried out: then all that it created exists. */
  async #isDone(caller: Caller, preparedEntries: readonly PreparedEntry[]): Promise<boolean> {
    const creation = preparedEntries.find(isCreating)
    if (!creation) return false
    const { entry, id } = creation
    return (await this.#resources.read(caller, entry.type, id).catch(ifNotFound(undefined))) !== undefined
  }

  /** The responses to the entries of a transaction that an earlier attempt carried out. */
  async #repeatResponses(
    request: BundleRequest,
    preparedEntries: readonly PreparedEntry[],
  ): Promise<EntryResponse[]> {
    const limitedRequest = withLimits(request)
    const responses: EntryResponse[] = []
    for (const one of preparedEntries) responses.push(await this.#repeatResponse(limitedRequest, one))
    return responses
  }

  async #repeatResponse(request: LimitedRequest, preparedEntry: PreparedEntry): Promise<EntryResponse> {
    const { entry, id } = preparedEntry
    if (entry.method === 'GET') return this.#execute(request, preparedEntry).catch(toErrorResponse)
    if (entry.method === 'DELETE') return { response: { status: '204' } }
    const resource = await this.#resources.read(request.caller, entry.type, id)
    return preferredResponse(
      this.#toWriteResponse({ resource, created: isCreating(preparedEntry) }),
      request.preferences,
      [],
    )
  }

  /** Gives each new resource its id, finds the resources of conditions, and replaces references. */
  async #resolve(request: BundleRequest, entries: readonly BundleEntry[]): Promise<PreparedEntry[]> {
    const limitedRequest = withLimits(request)
    const references = new Map<string, string>()
    const preparedEntries: PreparedEntry[] = []
    for (const entry of entries) {
      const one = await locateFaults(entry, () =>
        this.#prepare(limitedRequest, entry, limitedRequest.newId()),
      )
      if (entry.fullUrl !== undefined && entry.resource)
        references.set(entry.fullUrl, `${entry.type}/${one.id}`)
      preparedEntries.push(one)
    }
    const conditions = new Map(
      preparedEntries.flatMap(({ entry }) =>
        conditionalReferences(entry.resource).map((reference) => [reference, entry] as const),
      ),
    )
    requireFew(conditions.size, 'different conditional references')
    for (const [reference, entry] of conditions)
      references.set(
        reference,
        await locateFaults(entry, () => this.#findReferenced(limitedRequest, reference)),
      )
    return preparedEntries.map(({ entry, ...rest }) => ({
      ...rest,
      entry: {
        ...entry,
        resource: replaceReferences(entry.resource, references),
      },
    }))
  }

  /** @throws PreconditionFailed unless the condition matches one resource */
  async #findReferenced({ caller, limits }: LimitedRequest, reference: string): Promise<string> {
    const [type = '', query = ''] = reference.split('?', 2)
    limits.requireTime()
    const match = await this.#resources.findOne(caller, type, parseSearchQuery(query))
    limits.count({ resource: match })
    limits.requireBudget()
    if (!match)
      throw new ServiceError('PreconditionFailed', { detail: 'A conditional reference matches no resource.' })
    return `${type}/${match.id}`
  }

  /** Finds the resource of a condition. @param newId the id of the resource if it is new */
  async #prepare(
    { caller, limits }: LimitedRequest,
    entry: BundleEntry,
    newId: string,
  ): Promise<PreparedEntry> {
    const condition = conditionOf(entry)
    if (condition) limits.requireTime()
    const match = condition && (await this.#resources.findOne(caller, entry.type, condition))
    limits.count({ resource: match })
    limits.requireBudget()
    return { entry, id: entry.id ?? (match ? String(match.id) : newId), newId, match }
  }

  async #execute(
    request: LimitedRequest,
    preparedEntry: PreparedEntry,
    tx?: Transaction,
  ): Promise<EntryResponse> {
    const { limits } = request
    limits.requireBudget()
    if (!isReading(preparedEntry)) return limits.count(await this.#carryOut(request, preparedEntry, tx))
    limits.requireTime()
    const response = limits.count(await this.#read(request.caller, preparedEntry.entry))
    limits.requireBudget()
    return response
  }

  async #carryOut(
    request: LimitedRequest,
    preparedEntry: PreparedEntry,
    tx: Transaction | undefined,
  ): Promise<EntryResponse> {
    const { entry, id, match } = preparedEntry
    const droppedPaths: string[] = []
    const onDropped = (paths: readonly string[]) => void droppedPaths.push(...paths)
    const expected = expectedVersions(entry)
    const isLenient = request.preferences.handling === 'lenient'
    const options = { expected, tx, onDropped: isLenient ? onDropped : undefined }
    if (entry.method === 'DELETE') {
      if (entry.id !== undefined || match)
        await this.#resources.remove(request.caller, entry.type, id, options)
      return { response: { status: '204' } }
    }
    const response = this.#toWriteResponse(await this.#write(request.caller, preparedEntry, options))
    return preferredResponse(response, request.preferences, droppedPaths)
  }

  async #write(
    caller: Caller,
    preparedEntry: PreparedEntry,
    options: ResourceWrite,
  ): Promise<WrittenResource> {
    const { entry, id, match } = preparedEntry
    const { method, type, resource, patch } = entry
    if (method === 'PATCH') return this.#resources.patch(caller, { type, id }, patch ?? [], options)
    if (method === 'POST' && match) return { resource: match, created: false }
    const isNew = method === 'POST' || (entry.id === undefined && !match)
    if (isNew && method === 'PUT') requireCreatableByUpdate(type, resource?.id, options)
    const resourceWithId = { ...resource, id: resource?.id ?? id } as FhirResource
    const condition = conditionOf(entry)
    if (!isNew) {
      const update = this.#resources.update(caller, id, resourceWithId, options)
      return condition
        ? update.catch(this.#ifDeletedMeanwhile(caller, preparedEntry, condition, options))
        : update
    }
    if (!condition) return this.#resources.create(caller, resourceWithId, id, options)
    const result = await this.#resources.createUnlessFound(caller, resourceWithId, id, condition, options)
    // Other entries name it by the id that it did not get.
    if (!result.created && options.tx) throw new ServiceError('Conflict', { detail: CREATED_MEANWHILE })
    return result
  }

  /** Updates or creates a resource if another request has deleted the one that its condition matched. */
  #ifDeletedMeanwhile = (
    caller: Caller,
    { entry, id, newId }: PreparedEntry,
    condition: SearchParameters,
    options: ResourceWrite,
  ) =>
    ifMissing(async (error) => {
      const resource = entry.resource as FhirResource
      if (!options.tx)
        return this.#resources.updateFound(caller, resource, condition, newId, options, { id, error })
      const match = await this.#resources.findOne(caller, entry.type, condition)
      // Other entries name it by the id of the deleted resource.
      throw match?.id === id ? error : new ServiceError('Conflict', { detail: DELETED_MEANWHILE })
    })

  async #read(caller: Caller, entry: BundleEntry): Promise<EntryResponse> {
    const resources = this.#resources
    const { type, id, versionId, query } = entry
    if (id === undefined)
      return { resource: await resources.search(caller, type, query), response: { status: '200' } }
    const resource = versionId
      ? await resources.readVersion(caller, type, id, versionId)
      : await resources.read(caller, type, id, query)
    const { response, ...read } = foundResponse({ resource, created: false })
    return isKnown(entry, response) ? { response: { ...response, status: '304' } } : { ...read, response }
  }

  #toWriteResponse(result: WrittenResource): EntryResponse {
    const { response, ...rest } = foundResponse(result)
    return { ...rest, response: { ...response, location: this.#resources.urlOf(result.resource) } }
  }
}

/** The response to an entry that reads; one that writes has a URL, too. */
function foundResponse({ resource, created }: WrittenResource): EntryResponse {
  const { versionId, lastUpdated } = resource.meta as { versionId: string; lastUpdated: string }
  return {
    resource,
    response: {
      status: created ? '201' : '200',
      etag: `W/"${versionId}"`,
      lastModified: lastUpdated,
    },
  }
}

/** The versions that an entry may overwrite; undefined: any. @throws PreconditionRequired if it names none */
function expectedVersions({ ifMatch }: BundleEntry): number[] | undefined {
  if (ifMatch === '*') throw new ServiceError('PreconditionRequired')
  return ifMatch === undefined ? undefined : versionsInTags(ifMatch)
}

/** Whether the client has this version. Its tag is more exact than a time. */
const isKnown = (
  { ifNoneMatch, ifModifiedSince }: BundleEntry,
  { etag = '', lastModified = '' }: EntryResponse['response'],
): boolean =>
  ifNoneMatch === undefined
    ? Date.parse(lastModified) <= Date.parse(ifModifiedSince ?? '')
    : isTagListed(ifNoneMatch, etag)

/** The response to a write, with as much as the client prefers; dropped elements are always reported. */
function preferredResponse(
  { resource, response }: EntryResponse,
  { return: preferred }: BundlePreferences,
  droppedPaths: readonly string[],
): EntryResponse {
  const isOutcome = droppedPaths.length > 0 || preferred === 'OperationOutcome'
  return {
    ...(resource && (preferred ?? 'representation') === 'representation' && { resource }),
    response: { ...response, ...(isOutcome && { outcome: operationOutcome(writeIssues(droppedPaths)) }) },
  }
}

interface PreparedEntry {
  entry: BundleEntry
  /** The id of the resource that it writes. */
  id: string
  /** The id that a new resource gets. */
  newId: string
  /** The resource that its condition matches. */
  match: FhirResource | undefined
}

/** FHIR prescribes this order, whatever that of the entries; reads follow. */
const WRITING_ORDER: readonly (readonly BundleMethod[])[] = [['DELETE'], ['POST'], ['PUT', 'PATCH']]

/** Records belong to plans and goals, which must exist before them. */
const PARENT_TYPES = ['Goal', 'CarePlan']

const byParents = (a: PreparedEntry, b: PreparedEntry): number =>
  PARENT_TYPES.indexOf(b.entry.type) - PARENT_TYPES.indexOf(a.entry.type)

const isCreating = ({ entry, match }: PreparedEntry): boolean =>
  !match && (entry.method === 'POST' || (entry.method === 'PUT' && entry.id === undefined))

const isReading = ({ entry }: PreparedEntry): boolean => entry.method === 'GET'

/** The condition of an entry: the search that finds the resource to write, or that nothing may match. */
function conditionOf(entry: BundleEntry): SearchParameters | undefined {
  if (entry.method === 'POST') return entry.ifNoneExist
  return isConditional(entry) ? entry.query : undefined
}

const CREATED_MEANWHILE =
  'Another request has created a resource that matches a condition. Send the Bundle again.'

const DELETED_MEANWHILE =
  'Another request has deleted the resource that a condition matches. Send the Bundle again.'

const isConditional = ({ method, id }: BundleEntry): boolean => method !== 'GET' && id === undefined

/** @throws RuleViolated when two entries write the same resource, or create one under the same condition */
function requireDistinct(
  preparedEntries: readonly PreparedEntry[],
  keyOf: (type: string, condition: SearchParameters) => string,
): void {
  const keys = new Set<string>()
  const violations: Violation[] = []
  for (const { entry, id, match } of preparedEntries.filter((one) => one.entry.method !== 'GET')) {
    const condition = match ? undefined : conditionOf(entry)
    const key = condition ? keyOf(entry.type, condition) : `${entry.type}/${id}`
    const message = 'must not write a resource that another entry writes'
    if (keys.has(key))
      violations.push({ path: `Bundle.entry[${entry.position}]`, code: 'duplicate', message })
    keys.add(key)
  }
  if (violations.length > 0) throw new ServiceError('RuleViolated', { violations })
}

function toErrorResponse(error: unknown): EntryResponse {
  if (!(error instanceof ServiceError)) throw error
  return { response: { status: String(error.status), outcome: operationOutcome(issuesOf(error)) } }
}
