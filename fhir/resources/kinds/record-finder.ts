import { LRUCache } from 'lru-cache'
import type { Filter } from 'mongodb'
import type { EhrRecordKey } from '../../../records/ehr-records/ehr-records.ts'
import { findNonemptyCollections } from '../../../records/ehr-records/nonempty-collections.ts'
import { IS_HIDDEN } from '../../../records/ehrs/deletion/hidden-contents.ts'
import { findDeletedRecords } from '../../../records/history/listed-changes.ts'
import { type Caller, permissionFilter } from '../../../records/store/documents/caller.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import type { RecordWithMetadata } from '../render.ts'
import { type ResourceStream, type StreamSource, splitResourceId } from './kind-streams.ts'
import { findHiddenRecordsOfKind } from './search-deleted.ts'

/** For each resource type. The cache allocates memory for all of them when it is created. */
const MAX_KNOWN_IDS = 10_000

/** A record, and the stream whose resource it has. */
interface StreamRecord {
  stream: ResourceStream
  record: RecordWithMetadata
}

interface RecordOrDeletion extends StreamRecord {
  isDeleted: boolean
  /** Deleted with its plan, goal, task or event. */
  isHidden?: true
}

/** Finds the records of the resources of one type, before an access that is audited. */
export class RecordFinder {
  readonly #source: StreamSource
  /** The collections of records that a user has read; a record stays in its collection. */
  readonly #collectionsOfIds = new LRUCache<string, string>({ max: MAX_KNOWN_IDS })

  constructor(source: StreamSource) {
    this.#source = source
  }

  /** Finds a record that has the resource now. @throws NotFound, audited; Gone */
  async find(caller: Caller, resourceId: string): Promise<StreamRecord> {
    const streamRecord = await this.findIncludingDeleted(caller, resourceId)
    if (streamRecord.isDeleted || !streamRecord.stream.isIn(streamRecord.record))
      throw new ServiceError('Gone')
    return streamRecord
  }

  /** Finds a record that has or had the resource, deleted or not. @throws NotFound, audited */
  async findIncludingDeleted(caller: Caller, resourceId: string): Promise<RecordOrDeletion> {
    const { id, suffix } = splitResourceId(resourceId)
    const streams = this.#source.streams.filter((stream) => stream.suffix === suffix)
    const current = await this.#findCurrent(caller, streams, id)
    if (current && !(await this.#isOrWasIn(caller, current))) throw new ServiceError('NotFound')
    if (current) return { ...current, isDeleted: false }
    const deletedRecord =
      (await this.#findDeleted(caller, streams, id)) ?? (await this.#findHidden(caller, streams, id))
    if (deletedRecord) return { ...deletedRecord, isDeleted: true }
    const [stream] = streams
    // Audits the refusal.
    if (stream) await this.#source.recordsOf(stream.kind).get(caller, { id } as EhrRecordKey)
    throw new ServiceError('NotFound')
  }

  async #findCurrent(
    caller: Caller,
    streams: readonly ResourceStream[],
    id: string,
  ): Promise<StreamRecord | undefined> {
    const key = `${caller.userId}/${id}`
    const cachedCollection = this.#collectionsOfIds.get(key)
    const readable = { _id: id, ...permissionFilter('_rperm', caller) } as Filter<ParseDocument>
    const collections = cachedCollection
      ? new Set([cachedCollection])
      : await this.#findCollections(readable, streams)
    const recordsByStream = await Promise.all(
      streams.map(async (stream) => {
        if (!collections.has(stream.kind.collection)) return []
        const record = await this.#source.recordsOf(stream.kind).store.find(caller, { id } as never)
        return record ? [{ stream, record: record as unknown as RecordWithMetadata }] : []
      }),
    )
    const [one] = recordsByStream.flat()
    if (one) this.#collectionsOfIds.set(key, one.stream.kind.collection)
    return one
  }

  async #findDeleted(
    caller: Caller,
    streams: readonly ResourceStream[],
    id: string,
  ): Promise<StreamRecord | undefined> {
    // A blood pressure and its alert have the same id.
    for (const { collection, ehrId } of await findDeletedRecords(this.#source.context.db, id)) {
      const stream = streams.find(({ kind }) => kind.collection === collection)
      if (!stream) continue
      const { store } = this.#source.recordsOf(stream.kind)
      const record = await store.findDeleted(caller, { id, ehrId } as never)
      const streamRecord = record && { stream, record: record as unknown as RecordWithMetadata }
      if (streamRecord && (await this.#isOrWasIn(caller, streamRecord))) return streamRecord
    }
    return undefined
  }

  /** Finds a record that is hidden because its plan, goal, task or event is deleted. */
  async #findHidden(
    caller: Caller,
    streams: readonly ResourceStream[],
    id: string,
  ): Promise<RecordOrDeletion | undefined> {
    const { context } = this.#source
    const collections = await this.#findCollections({ _id: id, ...IS_HIDDEN }, streams)
    for (const stream of streams.filter(({ kind }) => collections.has(kind.collection))) {
      const record = (await findHiddenRecordsOfKind(context, caller, stream.kind, [{ id }])).get(id)
      if (record && stream.isIn(record)) return { stream, record, isDeleted: true, isHidden: true }
    }
    return undefined
  }

  /** The collections that have such a record. */
  #findCollections(
    filter: Filter<ParseDocument>,
    streams: readonly ResourceStream[],
  ): Promise<ReadonlySet<string>> {
    const collections = streams.map(({ kind }) => kind.collection)
    return findNonemptyCollections(this.#source.context, filter, collections)
  }

  /** Whether a record, or a former version of it, has the resource of a stream. */
  async #isOrWasIn(caller: Caller, { stream: { kind, isIn }, record }: StreamRecord): Promise<boolean> {
    if (isIn(record)) return true
    const { id, ehrId } = record as RecordWithMetadata & { ehrId: string }
    let cursor: string | undefined
    do {
      const page = await this.#source.recordsOf(kind).history(caller, { id, ehrId }, { limit: 100, cursor })
      if (page.items.some(({ before }) => before && isIn(before as unknown as RecordWithMetadata)))
        return true
      cursor = page.next ?? undefined
    } while (cursor !== undefined)
    return false
  }
}
