import { type FhirResource, formerFieldsOf } from '../../../records/fhir/mapping.ts'
import type { ChangedRecord, RecordChange } from '../../../records/history/changes.ts'
import { mapInSlices, TimeSlice } from '../../../records/limits/time-slice.ts'
import type { Caller } from '../../../records/store/documents/caller.ts'
import { decodeCursorParts, encodeCursorParts } from '../../../records/store/reading/cursor.ts'
import type { PageRequest } from '../../../records/store/reading/pages.ts'
import type { AuditedReads } from '../../../records/store/writing/transaction.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import type { ResourceSearch, SearchCriteria } from '../../sources/resource-search.ts'
import type {
  ExportSource,
  FoundResources,
  ResourceSource,
  ResourceVersion,
  ResourceWrite,
} from '../../sources/resource-source.ts'
import { listHiddenHistory } from '../list-versions.ts'
import type { RecordWithMetadata } from '../render.ts'
import {
  type MappedKind,
  type ResourceStream,
  renderStream,
  resourceIdOf,
  type StreamSource,
} from './kind-streams.ts'
import { KindWrites } from './kind-writes.ts'
import { RecordFinder } from './record-finder.ts'
import { searchDeletedRecords } from './search-deleted.ts'
import { emptyIfUnknown, searchStreams } from './search-streams.ts'

type ChangeOfRecord = Pick<RecordChange, 'id' | 'version' | 'action' | 'ehrId' | 'userId' | 'application'> & {
  at: string
  /** The change led to the present version. */
  isPresent?: boolean
}

/** The resources of one type, made of the records of one or several kinds. */
export class KindResources implements ResourceSource {
  readonly #type: string
  readonly #source: StreamSource
  readonly #finder: RecordFinder
  readonly #writes: KindWrites
  readonly collections: readonly string[]
  readonly partCollections: readonly string[]

  constructor(source: StreamSource, kinds: readonly [MappedKind, ...MappedKind[]]) {
    this.#source = source
    this.#type = kinds[0].fhir.type
    this.#finder = new RecordFinder(source)
    this.#writes = new KindWrites(this.#type, source, this.#finder)
    this.collections = kinds.map(({ collection }) => collection)
    this.partCollections = kinds.flatMap(({ collection, fhir }) => (fhir.parts ? [collection] : []))
  }

  async read(caller: Caller, resourceId: string): Promise<FhirResource> {
    const { stream, record } = await this.#finder.find(caller, resourceId)
    await this.#source.recordsOf(stream.kind).store.auditRead(caller, record)
    return renderStream(stream, record)
  }

  async readVersion(caller: Caller, resourceId: string, version: number): Promise<FhirResource> {
    const { stream, record, isDeleted } = await this.#finder.findIncludingDeleted(caller, resourceId)
    const { store } = this.#source.recordsOf(stream.kind)
    if (!isDeleted && record.version === version) await store.auditRead(caller, record)
    const after = await this.#findVersion(caller, stream, record, version)
    if (after && stream.isIn(after))
      return record.version === version ? renderStream(stream, after) : renderFormer(stream, after)
    // A deletion has no record after it; the last one of a deleted record follows its version.
    const isDeletion = after !== undefined || version <= (isDeleted ? record.version + 1 : record.version)
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
    const former = await this.#source.recordsOf(kind).store.findFormerVersion(caller, record, version)
    return former as unknown as RecordWithMetadata | undefined
  }

  async history(caller: Caller, resourceId: string, page: PageRequest) {
    const { stream, record, isHidden } = await this.#finder.findIncludingDeleted(caller, resourceId)
    const { id, ehrId } = record as RecordWithMetadata & { ehrId: string }
    if (isHidden) {
      const hiddenKey = { collection: stream.kind.collection, id, ehrId }
      const { changes, next } = await listHiddenHistory(this.#source.context, caller, hiddenKey, page)
      const versions = changes.flatMap((change) => this.versionsOf(change))
      return { versions: versions.filter((one) => one.id === resourceId), next }
    }
    const historyPage = await this.#source.recordsOf(stream.kind).history(caller, { id, ehrId }, page)
    const { items, next, total } = historyPage
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
    return this.#source.streams.flatMap((stream) => {
      if (stream.kind.collection !== collection) return []
      const { store } = this.#source.recordsOf(stream.kind)
      return this.#versionIn(
        stream,
        { ...change, at: at.toISOString() },
        { before: before && store.toRecord(before), after: after && store.toRecord(after) },
      )
    })
  }

  /** The version to which a change of a record led in a stream. A part is created and deleted with its value. */
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
    const resource = isPresent ? renderStream(stream, after) : renderFormer(stream, after)
    return [{ ...change, action: existed ? action : 'create', resource }]
  }

  /** Reads the kinds one after the other, since a search would read all of them for each page. */
  async exportPage(
    caller: Caller,
    { ehrId, since, after, limit }: Parameters<ExportSource['exportPage']>[1],
    reads: AuditedReads,
  ): Promise<FoundResources> {
    const [index = 0, cursor] = (after === null ? [] : decodeCursorParts(after)) as [number?, string?]
    const streamsOfCollection = this.#source.streams.filter(
      ({ kind }) => kind.collection === this.collections[index],
    )
    const [{ kind }] = streamsOfCollection as [ResourceStream]
    const where = since ? { updatedAt: { from: since.toISOString() } } : {}
    const { items, next } = await this.#source
      .recordsOf(kind)
      .search(caller, { ehrIds: [ehrId], where, list: kind.fhir.list }, { limit, cursor }, reads)
      .catch(emptyIfUnknown)
    const show = (record: object) =>
      streamsOfCollection
        .filter((stream) => stream.isIn(record as RecordWithMetadata))
        .map((stream) => renderStream(stream, record))
    const resources = await mapInSlices<object, FhirResource[]>(items, show, new TimeSlice())
    if (next !== null) return { resources: resources.flat(), next: encodeCursorParts([index, next]) }
    const isLast = index + 1 === this.collections.length
    return { resources: resources.flat(), ...(!isLast && { next: encodeCursorParts([index + 1]) }) }
  }

  search(caller: Caller, search: ResourceSearch): Promise<FoundResources> {
    return searchStreams(this.#source, caller, search)
  }

  searchDeleted(
    caller: Caller,
    search: SearchCriteria,
    deletedKeys: readonly ChangedRecord[],
  ): Promise<string[]> {
    return searchDeletedRecords(this.#source, caller, search, deletedKeys)
  }

  create(caller: Caller, resource: FhirResource, id: string, write: ResourceWrite): Promise<FhirResource> {
    return this.#writes.create(caller, resource, id, write)
  }

  update(
    caller: Caller,
    resourceId: string,
    resource: FhirResource,
    write: ResourceWrite,
  ): Promise<FhirResource> {
    return this.#writes.update(caller, resourceId, resource, write)
  }

  remove(caller: Caller, resourceId: string, write: ResourceWrite): Promise<void> {
    return this.#writes.remove(caller, resourceId, write)
  }

  creationGroupOf(resource: FhirResource): string | undefined {
    return this.#writes.creationGroupOf(resource)
  }
}

const renderFormer = (stream: ResourceStream, record: object): FhirResource =>
  renderStream(stream, formerFieldsOf(stream.kind.fhir, record))
