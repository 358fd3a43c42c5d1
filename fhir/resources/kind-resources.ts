import { LRUCache } from 'lru-cache'
import type { Filter } from 'mongodb'
import type { EhrRecordKey } from '../../records/ehr-records/ehr-records.ts'
import { resolveRules } from '../../records/ehr-records/kind.ts'
import { findNonemptyCollections } from '../../records/ehr-records/nonempty-collections.ts'
import { hasCapacityLimit } from '../../records/ehr-records/refusals/capacity.ts'
import { auditRefusedCreation } from '../../records/ehr-records/refusals/refusals.ts'
import { isContainerClass } from '../../records/ehrs/deletion/cascading-deletion.ts'
import { IS_HIDDEN } from '../../records/ehrs/deletion/hidden-contents.ts'
import type { FieldValues } from '../../records/fhir/fhir-element.ts'
import {
  elementPathOf,
  type FhirResource,
  locateAtElement,
  mappedFields,
} from '../../records/fhir/mapping.ts'
import { mapInSlices, TimeSlice } from '../../records/limits/time-slice.ts'
import type { ChangedRecord, RecordChange } from '../../records/live/changes.ts'
import { findDeletedRecords } from '../../records/live/listed-changes.ts'
import { type Caller, permissionFilter } from '../../records/store/documents/caller.ts'
import type { ParseDocument } from '../../records/store/documents/parse-format.ts'
import type { PageRequest } from '../../records/store/reading/pages.ts'
import type { AuditedReads, StoreContext, Transaction } from '../../records/store/writing/transaction.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { markedFieldNames } from '../../schemas/forms/fields.ts'
import { memoizeByObject } from '../../schemas/forms/memoize.ts'
import { decodeSearchCursor, encodeSearchCursor } from '../search/search-cursor.ts'
import type { ResourceSearch, SearchCriteria } from '../sources/resource-search.ts'
import type {
  ExportSource,
  FhirServices,
  FoundResources,
  Interaction,
  RecordsOf,
  ResourceSource,
  ResourceType,
  ResourceVersion,
  ResourceWrite,
} from '../sources/resource-source.ts'
import {
  describeParameters,
  type MappedKind,
  type ResourceStream,
  resourceIdOf,
  splitResourceId,
  streamsOf,
} from './kind-streams.ts'
import { findOnlyOpenPlan, findPlanOfGoal, isReadableEhr } from './patients-of-caller.ts'
import { withKnownPractitioners } from './people/practitioner-references.ts'
import { listHiddenHistory } from './read-only/list-versions.ts'
import type { RecordWithMetadata } from './render.ts'
import {
  emptyIfUnknown,
  findHiddenRecordsOfKind,
  searchDeletedRecords,
  searchStreams,
} from './search-streams.ts'
import {
  changedNames,
  deletionInTransactionError,
  fieldsOf,
  mergeFields,
  requireValidResource,
} from './sent-resource.ts'

const OPERATIONS = 'http://hl7.org/fhir/OperationDefinition'
const READ_INTERACTIONS: readonly Interaction[] = [
  ...(['read', 'vread', 'history-instance', 'history-type', 'search-type'] as const),
]

const ALL_INTERACTIONS: readonly Interaction[] = [
  ...READ_INTERACTIONS,
  ...(['create', 'update', 'patch', 'delete'] as const),
]

/** For each resource type. The cache allocates memory for all of them when it is created. */
const MAX_KNOWN_IDS = 10_000

/** The resource type of these kinds. */
export function kindResourceType(kinds: readonly [MappedKind, ...MappedKind[]]): ResourceType {
  const [{ fhir, words, readOnly }] = kinds
  const profiles = kinds.flatMap((kind) => [
    ...(kind.fhir.profile === undefined ? [] : [kind.fhir.profile]),
    ...Object.values(kind.fhir.parts ?? {}).flatMap(({ profile }) => profile ?? []),
  ])
  const streams = kinds.flatMap(streamsOf)
  const codes = streams.flatMap((stream) => stream.codes.map(({ system, code }) => `${system}|${code}`))
  const namesUsers = kinds.some((kind) => kind.fhir.elements.some((element) => element.namesUsers))
  return {
    type: fhir.type,
    plural: kinds.length === 1 ? words.en : 'measurements',
    profiles: [...new Set(profiles)],
    interactions: readOnly ? READ_INTERACTIONS : ALL_INTERACTIONS,
    parameters: describeParameters(fhir, streams),
    sortedBy: fhir.sortedBy,
    ...(codes.length > 0 && { codes: [...new Set(codes)] }),
    operations: {
      ...(!readOnly && { validate: `${OPERATIONS}/Resource-validate` }),
      ...(codes.length > 0 && { lastn: `${OPERATIONS}/${fhir.type}-lastn` }),
    },
    open: memoizeByObject(({ context, recordsOf, profiles }: FhirServices) => {
      const source = new KindResources(context, recordsOf, kinds)
      return namesUsers ? withKnownPractitioners(source, profiles) : source
    }),
  }
}

/** The fields of a record that only a part shows. */
function fieldsOfPart({ kind, mapping }: ResourceStream): string[] {
  const shared = mappedFields(kind.fhir)
  return mappedFields(mapping).filter((name) => !shared.includes(name))
}

/** Only a deletion removes the value of a part. @throws RuleViolated */
function requirePart(stream: ResourceStream, next: FieldValues): void {
  if (stream.isIn(next as unknown as RecordWithMetadata)) return
  const [field = ''] = fieldsOfPart(stream)
  const path = elementPathOf(stream.mapping, field)
  throw new ServiceError('RuleViolated', {
    violations: [{ path, code: 'required', message: 'is required. DELETE removes the part' }],
  })
}

type ChangeOfRecord = Pick<RecordChange, 'id' | 'version' | 'action' | 'ehrId' | 'userId' | 'application'> & {
  at: string
  /** The change led to the present version. */
  isPresent?: boolean
}

/** The resources of one type, made of the records of one or several kinds. */
class KindResources implements ResourceSource {
  readonly #type: string
  readonly #context: StoreContext
  readonly #recordsOf: RecordsOf
  readonly #streams: readonly ResourceStream[]
  /** The collections of records that a user has read; a record stays in its collection. */
  readonly #collectionsOfIds = new LRUCache<string, string>({ max: MAX_KNOWN_IDS })
  readonly collections: readonly string[]
  readonly partCollections: readonly string[]

  constructor(context: StoreContext, recordsOf: RecordsOf, kinds: readonly [MappedKind, ...MappedKind[]]) {
    this.#context = context
    this.#recordsOf = recordsOf
    this.#streams = kinds.flatMap(streamsOf)
    this.#type = kinds[0].fhir.type
    this.collections = kinds.map(({ collection }) => collection)
    this.partCollections = kinds.flatMap(({ collection, fhir }) => (fhir.parts ? [collection] : []))
  }

  async read(caller: Caller, resourceId: string): Promise<FhirResource> {
    const { stream, record } = await this.#find(caller, resourceId)
    await this.#recordsOf(stream.kind).store.auditRead(caller, record)
    return this.#render(stream, record)
  }

  async readVersion(caller: Caller, resourceId: string, version: number): Promise<FhirResource> {
    const { stream, record, isDeleted } = await this.#findEver(caller, resourceId)
    const { store } = this.#recordsOf(stream.kind)
    if (!isDeleted && record.version === version) await store.auditRead(caller, record)
    const after = await this.#findVersion(caller, stream, record, version)
    if (after && stream.isIn(after))
      return record.version === version ? this.#render(stream, after) : this.#renderFormer(stream, after)
    const isDeletion = after !== undefined || (isDeleted && record.version + 1 === version)
    const before = isDeletion ? await this.#findVersion(caller, stream, record, version - 1) : undefined
    throw new ServiceError(before && stream.isIn(before) ? 'Gone' : 'NotFound')
  }

  /** A version of a record that the caller has read. */
  async #findVersion(
    caller: Caller,
    { kind }: ResourceStream,
    record: RecordWithMetadata,
    version: number,
  ): Promise<RecordWithMetadata | undefined> {
    if (record.version === version) return record
    const former = await this.#recordsOf(kind).store.findFormerVersion(caller, record, version)
    return former as unknown as RecordWithMetadata | undefined
  }

  async history(caller: Caller, resourceId: string, page: PageRequest) {
    const { stream, record, isHidden } = await this.#findEver(caller, resourceId)
    const { id, ehrId } = record as RecordWithMetadata & { ehrId: string }
    if (isHidden) {
      const found = { collection: stream.kind.collection, id, ehrId }
      const { changes, next } = await listHiddenHistory(this.#context, caller, found, page)
      const versions = changes.flatMap((change) => this.versionsOf(change))
      return { versions: versions.filter((one) => one.id === resourceId), next }
    }
    const found = await this.#recordsOf(stream.kind).history(caller, { id, ehrId }, page)
    const { items, next, total } = found
    const [first] = items
    // A change shows the version before it.
    const newest =
      first && first.action !== 'delete'
        ? await this.#findVersion(caller, stream, record, first.version)
        : undefined
    const versions = items.flatMap(({ before, ...change }, i) =>
      this.#versionIn(
        stream,
        { ...change, id, ehrId, isPresent: change.version === record.version },
        { before, after: i === 0 ? newest : items[i - 1]?.before },
      ),
    )
    // Not every change of a record changes its parts.
    return { versions, next, ...(stream.suffix === '' && total !== undefined && { total }) }
  }

  versionsOf({ collection, before, after, at, ...change }: RecordChange): ResourceVersion[] {
    return this.#streams.flatMap((stream) => {
      if (stream.kind.collection !== collection) return []
      const { store } = this.#recordsOf(stream.kind)
      return this.#versionIn(
        stream,
        { ...change, at: at.toISOString() },
        { before: before && store.toRecord(before), after: after && store.toRecord(after) },
      )
    })
  }

  /** What a change of a record did to its resource of a stream: a part appears and disappears with its value. */
  #versionIn(
    stream: ResourceStream,
    { id, version, at, action, ehrId, userId, application, isPresent }: ChangeOfRecord,
    { before, after }: Partial<Record<'before' | 'after', object | null | undefined>>,
  ): ResourceVersion[] {
    const exists = action !== 'delete' && after && stream.isIn(after as RecordWithMetadata)
    const existed = before && stream.isIn(before as RecordWithMetadata)
    if (!exists && !existed) return []
    const resourceId = resourceIdOf(stream, id)
    const change = { type: this.#type, id: resourceId, version, at, ehrId, author: { userId, application } }
    if (!exists) return [{ ...change, action: 'delete', resource: undefined }]
    const resource = isPresent ? this.#render(stream, after) : this.#renderFormer(stream, after)
    return [{ ...change, action: existed ? action : 'create', resource }]
  }

  /** Reads the kinds one after the other, since a search would read all of them for each page. */
  async exportPage(
    caller: Caller,
    { ehrId, since, after, limit }: Parameters<ExportSource['exportPage']>[1],
    reads: AuditedReads,
  ): Promise<FoundResources> {
    const [index = 0, cursor] = (after === null ? [] : decodeSearchCursor(after)) as [number?, string?]
    const streamsOfCollection = this.#streams.filter(
      ({ kind }) => kind.collection === this.collections[index],
    )
    const [{ kind }] = streamsOfCollection as [ResourceStream]
    const where = since ? { updatedAt: { from: since.toISOString() } } : {}
    const { items, next } = await this.#recordsOf(kind)
      .search(caller, { ehrIds: [ehrId], where, list: kind.fhir.list }, { limit, cursor }, reads)
      .catch(emptyIfUnknown)
    const show = (record: object) =>
      streamsOfCollection
        .filter((stream) => stream.isIn(record as RecordWithMetadata))
        .map((stream) => this.#render(stream, record))
    const resources = await mapInSlices<object, FhirResource[]>(items, show, new TimeSlice())
    if (next !== null) return { resources: resources.flat(), next: encodeSearchCursor([index, next]) }
    const isLast = index + 1 === this.collections.length
    return { resources: resources.flat(), ...(!isLast && { next: encodeSearchCursor([index + 1]) }) }
  }

  async search(caller: Caller, search: ResourceSearch): Promise<FoundResources> {
    return searchStreams(this.#context, caller, {
      streams: this.#streams,
      recordsOf: this.#recordsOf,
      search,
    })
  }

  searchDeleted(
    caller: Caller,
    search: SearchCriteria,
    deletedKeys: readonly ChangedRecord[],
  ): Promise<string[]> {
    const query = { streams: this.#streams, recordsOf: this.#recordsOf, search }
    return searchDeletedRecords(this.#context, caller, query, deletedKeys)
  }

  async create(
    caller: Caller,
    resource: FhirResource,
    id: string,
    { tx, onDropped }: ResourceWrite,
  ): Promise<FhirResource> {
    const stream = this.#requireStream(resource)
    const { kind } = stream
    const fields = await this.#withPlan(caller, kind, fieldsOf(kind, resource), tx)
    const [status = ''] = markedFieldNames(kind.fields, 'status')
    const changedFields = Object.keys(fields)
    requireValidResource(await this.#kindFor(kind, fields), resource, fields, {
      id,
      changedFields,
      onDropped,
    })
    const { ehrId, carePlanId, goalId, [status]: sentStatus, ...body } = fields as Record<string, string>
    const parentIds = { ehrId: ehrId ?? '', ...(carePlanId && { carePlanId }), ...(goalId && { goalId }) }
    const ehrRecords = this.#recordsOf(kind)
    const write = () =>
      tx
        ? auditRefusedCreation(this.#context, caller, kind.collection, parentIds.ehrId, () =>
            ehrRecords.createIn(caller, parentIds, body, id, tx),
          )
        : ehrRecords.create(caller, parentIds, body, id)
    if (sentStatus !== undefined && sentStatus !== 'ACTIVE')
      throw new ServiceError('RuleViolated', {
        violations: [
          {
            path: elementPathOf(kind.fhir, status),
            code: 'initial',
            message: 'must be that of an open resource. Close it by an update',
          },
        ],
      })
    return this.#render(stream, await this.#locateFaults(kind, write))
  }

  async update(
    caller: Caller,
    resourceId: string,
    resource: FhirResource,
    { expected, tx, onDropped }: ResourceWrite,
  ): Promise<FhirResource> {
    const { stream, record } = await this.#find(caller, resourceId)
    const { id } = record
    const kind = { ...(await this.#kindFor(stream.kind, record)), fhir: stream.mapping }
    const [status = ''] = markedFieldNames(kind.fields, 'status')
    const closes = (fieldsOf(kind, resource)[status] ?? 'ACTIVE') !== 'ACTIVE'
    const apply = (before: FieldValues) => {
      const next = mergeFields(kind, before, resource)
      const changedFields = changedNames(before, next)
      requireValidResource(kind, resource, next, { id, changedFields, before, onDropped })
      requirePart(stream, next)
      return next
    }
    const ehrRecords = this.#recordsOf(kind)
    const write = () => ehrRecords.amend(caller, id, { apply, closes }, { expected, tx })
    return this.#render(stream, await this.#locateFaults(kind, write))
  }

  async remove(
    caller: Caller,
    resourceId: string,
    { expected, tx, isValidation }: ResourceWrite,
  ): Promise<void> {
    const { stream, record } = await this.#find(caller, resourceId)
    if (stream.suffix !== '') return this.#removePart(caller, stream, record, { expected, tx })
    const { id, ehrId } = record as RecordWithMetadata & { ehrId: string }
    const ehrRecords = this.#recordsOf(stream.kind)
    if (tx && !isValidation && isContainerClass(stream.kind.collection))
      throw deletionInTransactionError(this.#type)
    if (tx) await ehrRecords.store.remove(caller, { id } as never, { expected, tx })
    else await ehrRecords.remove(caller, { id, ehrId }, { expected })
  }

  /** Deletes the fields of a part. @throws RuleViolated if the record needs them */
  async #removePart(
    caller: Caller,
    stream: ResourceStream,
    { id }: RecordWithMetadata,
    conditions: Pick<ResourceWrite, 'expected' | 'tx'>,
  ): Promise<void> {
    const { kind, mapping } = stream
    const ownFields = fieldsOfPart(stream)
    const apply = (before: FieldValues) =>
      Object.fromEntries(Object.entries(before).filter(([name]) => !ownFields.includes(name)))
    const work = () => this.#recordsOf(kind).amend(caller, id, { apply, closes: false }, conditions)
    await this.#locateFaults({ ...kind, fhir: mapping }, work)
  }

  /** Records of a kind with a limit or a natural key are compared with those before them, one after the other. */
  creationGroupOf(resource: FhirResource): string | undefined {
    const kind = this.#findStream(resource)?.kind
    return kind && !hasCapacityLimit(kind) && !kind.naturalKey ? kind.collection : undefined
  }

  /** The kind whose code the resource has; the resource type decides alone if it has one kind. */
  #findStream(resource: FhirResource): ResourceStream | undefined {
    const wholeStreams = this.#streams.filter(({ suffix }) => suffix === '')
    const [first, ...otherStreams] = wholeStreams
    const isMeant = ({ kind }: ResourceStream) => kind.fhir.isMeant?.(resource) ?? false
    return otherStreams.length === 0 ? first : wholeStreams.find(isMeant)
  }

  /** @throws RuleViolated for a code or a questionnaire that no kind has */
  #requireStream(resource: FhirResource): ResourceStream {
    const found = this.#findStream(resource)
    if (found) return found
    const element = this.#type === 'QuestionnaireResponse' ? 'questionnaire' : 'code'
    throw new ServiceError('RuleViolated', {
      violations: [
        {
          path: `${this.#type}.${element}`,
          code: 'not-supported',
          message: `must be a ${element} that this service stores`,
        },
      ],
    })
  }

  #kindFor = async (kind: MappedKind, values: FieldValues): Promise<MappedKind> =>
    (await resolveRules(this.#context, kind, values)) as MappedKind

  /**
   * The care plan that the resource implies: that of its goal, or the only open one of the patient.
   * @param tx the transaction of a Bundle, which creates the records of goals one by one
   */
  async #withPlan(
    caller: Caller,
    { fhir, parentType }: MappedKind,
    fields: FieldValues,
    tx: Transaction | undefined,
  ): Promise<FieldValues> {
    const isNeeded = parentType === 'plan' || parentType === 'goal'
    if (!isNeeded || fields.carePlanId !== undefined || typeof fields.ehrId !== 'string') return fields
    const { ehrId, goalId } = fields
    const carePlanId =
      typeof goalId === 'string'
        ? await findPlanOfGoal(this.#context, caller, { ehrId, goalId }, tx)
        : await findOnlyOpenPlan(this.#context, caller, ehrId)
    if (carePlanId !== undefined) return { ...fields, carePlanId }
    if (await isReadableEhr(this.#context, caller, ehrId)) return fields
    const message = 'must be that of a patient whose record you may read'
    throw new ServiceError('RuleViolated', {
      violations: [{ path: elementPathOf(fhir, 'ehrId'), code: 'patient', message }],
    })
  }

  /** Converts the paths of violations to those of the resource. */
  async #locateFaults<T>({ fhir }: MappedKind, write: () => Promise<T>): Promise<T> {
    try {
      return await write()
    } catch (error) {
      if (!(error instanceof ServiceError) || error.error !== 'RuleViolated') throw error
      const isLocated = ({ path }: { path: string }) => path === fhir.type || path.startsWith(`${fhir.type}.`)
      const violations = error.violations.map((one) => (isLocated(one) ? one : locateAtElement(fhir, one)))
      throw new ServiceError('RuleViolated', { violations, cause: error })
    }
  }

  /** Whether a former version of a record had the resource of a stream. */
  async #wasIn(caller: Caller, { kind, isIn }: ResourceStream, record: RecordWithMetadata): Promise<boolean> {
    const { id, ehrId } = record as RecordWithMetadata & { ehrId: string }
    let cursor: string | undefined
    do {
      const page = await this.#recordsOf(kind).history(caller, { id, ehrId }, { limit: 100, cursor })
      if (page.items.some(({ before }) => before && isIn(before as unknown as RecordWithMetadata)))
        return true
      cursor = page.next ?? undefined
    } while (cursor !== undefined)
    return false
  }

  /** Finds the record of a resource, before an access that is audited. @throws NotFound, audited; Gone */
  async #find(
    caller: Caller,
    resourceId: string,
  ): Promise<{ stream: ResourceStream; record: RecordWithMetadata }> {
    const found = await this.#findEver(caller, resourceId)
    if (found.isDeleted || !found.stream.isIn(found.record)) throw new ServiceError('Gone')
    return found
  }

  async #findEver(
    caller: Caller,
    resourceId: string,
  ): Promise<{ stream: ResourceStream; record: RecordWithMetadata; isDeleted: boolean; isHidden?: true }> {
    const { id, suffix } = splitResourceId(resourceId)
    const streams = this.#streams.filter((stream) => stream.suffix === suffix)
    const key = `${caller.userId}/${id}`
    const cachedCollection = this.#collectionsOfIds.get(key)
    const readable = { _id: id, ...permissionFilter('_rperm', caller) } as Filter<ParseDocument>
    const collections = cachedCollection
      ? new Set([cachedCollection])
      : await this.#findCollections(readable, streams)
    const found = await Promise.all(
      streams.map(async (stream) => {
        if (!collections.has(stream.kind.collection)) return []
        const record = await this.#recordsOf(stream.kind).store.find(caller, { id } as never)
        return record ? [{ stream, record: record as unknown as RecordWithMetadata, isDeleted: false }] : []
      }),
    )
    const [one] = found.flat()
    if (one) this.#collectionsOfIds.set(key, one.stream.kind.collection)
    if (one && (one.stream.isIn(one.record) || (await this.#wasIn(caller, one.stream, one.record))))
      return one
    if (one) throw new ServiceError('NotFound')
    const deletedRecord = await this.#findDeleted(caller, streams, id)
    if (deletedRecord) return { ...deletedRecord, isDeleted: true }
    const [stream] = streams
    // Audits the refusal.
    if (stream) await this.#recordsOf(stream.kind).get(caller, { id } as EhrRecordKey)
    throw new ServiceError('NotFound')
  }

  /** The collections that have such a record. */
  #findCollections(
    filter: Filter<ParseDocument>,
    streams: readonly ResourceStream[],
  ): Promise<ReadonlySet<string>> {
    const collections = streams.map(({ kind }) => kind.collection)
    return findNonemptyCollections(this.#context, filter, collections)
  }

  async #findDeleted(caller: Caller, streams: readonly ResourceStream[], id: string) {
    // A blood pressure and its alert have the same id.
    for (const { collection, ehrId } of await findDeletedRecords(this.#context.db, id)) {
      const stream = streams.find(({ kind }) => kind.collection === collection)
      if (!stream) continue
      const record = await this.#recordsOf(stream.kind).store.findDeleted(caller, { id, ehrId } as never)
      const found = record && { stream, record: record as unknown as RecordWithMetadata }
      if (found && (stream.isIn(found.record) || (await this.#wasIn(caller, stream, found.record))))
        return found
    }
    const hiddenIn = await this.#findCollections({ _id: id, ...IS_HIDDEN }, streams)
    for (const stream of streams.filter(({ kind }) => hiddenIn.has(kind.collection))) {
      const record = (await findHiddenRecordsOfKind(this.#context, caller, stream.kind, [{ id }])).get(id)
      if (record && stream.isIn(record)) return { stream, record, isHidden: true as const }
    }
    return undefined
  }

  #renderFormer(stream: ResourceStream, record: object): FhirResource {
    const { onlyInPresent = [] } = stream.kind.fhir
    const values = Object.entries(record).filter(([name]) => !onlyInPresent.includes(name))
    return this.#render(stream, Object.fromEntries(values))
  }

  #render = ({ render }: ResourceStream, record: object): FhirResource => render(record as RecordWithMetadata)
}
