import type { IndexDescription } from 'mongodb'
import type { ClassKind, Kind } from '../ehr-records/kind.ts'
import {
  measuredValuesIn,
  type TimelineContent,
  type TimelineValue,
} from '../ehr-records/timeline-definition.ts'
import { type DeletedParent, findDeletedParents } from '../ehrs/deletion/deleted-parents.ts'
import { scopedQueryAccesses } from '../ehrs/rights/query-accesses.ts'
import { createReadLimits, readDocuments } from '../limits/read-limits.ts'
import { type Caller, permissionFilter } from '../store/documents/caller.ts'
import { canRead } from '../store/documents/database.ts'
import { createParseFormat, type ParseFormat, type SavedRecord } from '../store/documents/parse-format.ts'
import { type CursorPosition, decodeTimeCursor, encodeCursor, filterAfter } from '../store/reading/cursor.ts'
import type { Page, PageRequest } from '../store/reading/pages.ts'
import { accessesByEhr } from '../store/resource.ts'
import { type HistoryEntry, historyCollection } from '../store/writing/history.ts'
import type { StoreContext } from '../store/writing/transaction.ts'
import { parseChangeId } from './changes.ts'
import { findEarlierChanges } from './listed-changes.ts'

/** A deleted record of an EHR, as it was, and who deleted it. */
export interface DeletedRecord extends Pick<HistoryEntry, 'userId' | 'application'> {
  /** Name of its kind. */
  type: string
  deletedAt: string
  onBehalfOf: string | null
  /** The deleted care plan or goal to which it belongs, and which returns first. */
  deletedParent: DeletedParent | null
  record: SavedRecord<Record<string, unknown>>
  /** Its content as a line of text. */
  content: string | null
  values: TimelineValue[]
}

type DeletableKind = Pick<Kind, 'collection' | 'schema'> & Partial<Pick<ClassKind, 'timeline'>>

interface NamedKind {
  type: string
  kind: DeletableKind
  format: ParseFormat<Record<string, unknown>>
}

/** Finds the deletions in an EHR that somebody may read, the last one first. */
export const DELETED_RECORDS_INDEX: IndexDescription = {
  name: 'deleted_records',
  key: { 'before.ehrId': 1, 'before._rperm': 1, at: -1, _id: -1 },
  partialFilterExpression: { action: 'delete' },
}

const DELETED_LIST = 'deleted'

/** Deletions to look at in one round; records may have returned since. */
const ROUND_SIZE = 100
/** A page is short when it takes longer, so that no request looks at all deletions of many years. */
const MAX_SEARCH_MS = 1000

/** Content of compositions, which the list does not show. */
const UNUSED_FIELDS = { 'before.json': 0, 'before.facts': 0, 'before.times': 0 }

/** The records of EHRs that were deleted and have not returned. */
export class DeletedRecords {
  readonly #context: StoreContext
  readonly #kinds: ReadonlyMap<string, NamedKind>

  /** @param kinds by the names that clients know */
  constructor(context: StoreContext, kinds: ReadonlyMap<string, DeletableKind>) {
    this.#context = context
    this.#kinds = new Map(
      [...kinds].map(([type, kind]) => [
        kind.collection,
        { type, kind, format: createParseFormat(kind.schema) as NamedKind['format'] },
      ]),
    )
  }

  /**
   * Lists those whose history the caller may read, the last deleted one first.
   * @throws NotFound when the caller may not read the EHR; MalformedRequest for a foreign cursor
   */
  async list(
    caller: Caller,
    ehrId: string,
    { limit, cursor }: PageRequest,
    type?: string,
  ): Promise<Page<DeletedRecord>> {
    const from = cursor === undefined ? undefined : decodeTimeCursor(DELETED_LIST, cursor)
    const isReadable = await canRead(this.#context, caller, 'Ehr', { _id: ehrId })
    const { deletions, next } = isReadable
      ? await this.#findDeletions(caller, ehrId, { limit, from, type })
      : { deletions: [], next: undefined }
    await this.#reportAccesses(caller, ehrId, deletions)
    const parents = await findDeletedParents(
      this.#context,
      deletions.map(({ before }) => before ?? {}),
    )
    return {
      items: deletions.map((deletion, i) => this.#toDeletedRecord(deletion, parents[i])),
      next: next ? encodeCursor(DELETED_LIST, next) : null,
    }
  }

  async #findDeletions(
    caller: Caller,
    ehrId: string,
    { limit, from, type }: { limit: number; from: CursorPosition | undefined; type: string | undefined },
  ): Promise<{ deletions: HistoryEntry[]; next: CursorPosition | undefined }> {
    const limits = createReadLimits(caller)
    const end = performance.now() + MAX_SEARCH_MS
    const deletions: HistoryEntry[] = []
    let position = from
    do {
      const { documents, isCut } = await readDocuments(this.#read(caller, ehrId, position), limits)
      deletions.push(...(await this.#keepLast(documents, type)))
      const last = documents.at(-1)
      const isEnd = !isCut && documents.length < ROUND_SIZE
      position = last && !isEnd ? positionOf(last) : undefined
      if (isCut || isEnd) break
    } while (deletions.length <= limit && performance.now() < end)
    const last = deletions[limit - 1]
    return deletions.length > limit && last
      ? { deletions: deletions.slice(0, limit), next: positionOf(last) }
      : { deletions, next: position }
  }

  /** Who could read a record before its deletion may read its history. */
  #read(caller: Caller, ehrId: string, from: CursorPosition | undefined) {
    const { _rperm } = permissionFilter('_rperm', caller)
    const filter = {
      action: 'delete' as const,
      'before.ehrId': ehrId,
      ...(_rperm && { 'before._rperm': _rperm }),
      ...(from && filterAfter('at', -1, from)),
    }
    return historyCollection(this.#context.db)
      .find(filter, { projection: UNUSED_FIELDS })
      .sort({ at: -1, _id: -1 })
      .limit(ROUND_SIZE)
  }

  /** Keeps the deletions of a kind, or of all kinds, that are the last change of a record that can return alone. */
  async #keepLast(deletions: readonly HistoryEntry[], type: string | undefined): Promise<HistoryEntry[]> {
    const ofKinds = deletions.filter(({ _id, before }) => {
      const kind = this.#kinds.get(parseChangeId(_id).collection)
      return kind && (type ?? kind.type) === kind.type && before?.compositionId === undefined
    })
    const ids = ofKinds.map(({ _id }) => _id)
    const earlier = await findEarlierChanges(this.#context.db, ids)
    return ofKinds.filter(({ _id }) => !earlier.has(_id))
  }

  #toDeletedRecord(
    { _id, at, userId, onBehalfOf, application, before }: HistoryEntry,
    deletedParent: DeletedParent | undefined,
  ): DeletedRecord {
    const { type, kind, format } = this.#kinds.get(parseChangeId(_id).collection) as NamedKind
    const record = format.fromStored(before as NonNullable<typeof before>)
    const { content, values }: Partial<TimelineContent> = kind.timeline?.describe(record) ?? {}
    const text = content ?? record.name
    return {
      type,
      record,
      deletedAt: at.toISOString(),
      userId,
      application,
      onBehalfOf: onBehalfOf ?? null,
      deletedParent: deletedParent ?? null,
      content: typeof text === 'string' ? text : null,
      values: measuredValuesIn(values),
    }
  }

  /** @throws NotFound */
  async #reportAccesses(caller: Caller, ehrId: string, deletions: readonly HistoryEntry[]): Promise<void> {
    const asked = DELETED_LIST
    const records = deletions.map(({ _id }) => parseChangeId(_id))
    const accesses = [...this.#kinds.keys()].flatMap((collection) => {
      const recordsOfKind = records.filter((one) => one.collection === collection)
      return accessesByEhr({ collection, ehr: 'ehrId' }, caller, { action: 'query', asked }, recordsOfKind)
    })
    const ofNone = () =>
      scopedQueryAccesses(this.#context, caller, { type: 'Ehr', asked }, { ehrIds: [ehrId] })
    await this.#context.audit.record(...(accesses.length > 0 ? accesses : await ofNone()))
  }
}

const positionOf = ({ at, _id }: Pick<HistoryEntry, 'at' | '_id'>): CursorPosition => ({ value: at, id: _id })
