import type { Collection, Filter } from 'mongodb'
import type { ClassKind } from '../ehr-records/kind.ts'
import { findEhrContents } from '../ehr-records/nonempty-collections.ts'
import type {
  TimelineContent,
  TimelineDefinition,
  TimelineGroup,
} from '../ehr-records/timeline-definition.ts'
import { scopedQueryAccesses } from '../ehrs/rights/query-accesses.ts'
import { findParticipantPlans } from '../ehrs/rights/read-scope.ts'
import {
  createReadLimits,
  limitOfPage,
  type ReadLimits,
  type ReadList,
  readDocuments,
} from '../limits/read-limits.ts'
import { mapInSlices } from '../limits/time-slice.ts'
import { IN_EHR_COMPOSITION_FILTER } from '../measurements/compositions/composition-membership.ts'
import { type AuditedAccess, runWhileRecording } from '../store/audit/audit-log.ts'
import { type Caller, permissionFilter } from '../store/documents/caller.ts'
import { documentCollection } from '../store/documents/database.ts'
import {
  createParseFormat,
  type ParseDocument,
  type ParseFormat,
  type SavedRecord,
} from '../store/documents/parse-format.ts'
import { type CursorPosition, decodeTimeCursor, encodeCursor } from '../store/reading/cursor.ts'
import { toMongoFilter } from '../store/reading/filter.ts'
import type { SortOrder } from '../store/reading/pages.ts'
import { accessesByEhr } from '../store/resource.ts'
import type { StoreContext } from '../store/writing/transaction.ts'

/** Parameters of a timeline; it contains everything that overlaps the time between `from` and `to`. */
export interface TimelineQuery {
  from?: string | undefined
  to?: string | undefined
  /** Names of kinds; undefined: all. */
  kinds?: readonly string[] | undefined
  limit: number
  cursor?: string | undefined
  order?: SortOrder | undefined
}

/** One entry of a timeline; times as ISO texts. */
export interface TimelineEntry extends TimelineContent {
  /** Unique within the timeline. */
  id: string
  kind: string
  group: TimelineGroup
  start: string
  /** null: a moment, or ongoing. */
  end: string | null
  ongoing: boolean
  /** The class name, and the description of the record. */
  className: string
  record: SavedRecord<Record<string, unknown>>
}

type FieldValues = Record<string, unknown>

/** A kind whose records appear in the timeline. */
interface TimelineKind {
  kind: ClassKind & { timeline: TimelineDefinition }
  format: ParseFormat<FieldValues>
  documents: Collection<ParseDocument>
}

/** Records of a kind that share a start field: one index returns them in the timeline's order. */
interface TimelineStream {
  source: TimelineKind
  /** The stored start field. */
  key: string
  filter: FieldValues
}

interface TimelineMatch {
  source: TimelineKind
  start: Date
  id: string
  document: ParseDocument
}

const TIMELINE_LIST = 'timeline'

/** The names of kinds that a request may list. */
export const timelineKindsOf = ({ kind, parts = [] }: TimelineDefinition): string[] => [
  kind,
  ...parts.map((part) => part.kind),
]

/** All events in an EHR, of every kind, sorted by time. */
export class Timelines {
  readonly #context: StoreContext
  readonly #kinds: readonly TimelineKind[]

  constructor(context: StoreContext, kinds: readonly ClassKind[]) {
    this.#context = context
    this.#kinds = kinds.filter(hasTimelineLine).map((kind) => ({
      kind,
      format: createParseFormat(kind.schema) as ParseFormat<FieldValues>,
      documents: documentCollection(context, kind.collection),
    }))
  }

  /**
   * Reads the entries that the caller may see.
   * @throws NotFound when the caller may see nothing of the EHR; MalformedRequest for a cursor of another
   * list
   */
  async read(
    caller: Caller,
    ehrId: string,
    query: TimelineQuery,
  ): Promise<{ lines: TimelineEntry[]; next: string | null; prev: string | null }> {
    const { limit, cursor, order = 'desc' } = query
    const after = cursor === undefined ? undefined : decodeTimeCursor(cursorListOf(order), cursor)
    const direction = (order === 'asc') === !after?.isBackward ? 1 : -1
    const ofEhr = { ehrId }
    const streams = this.#kinds.flatMap((source) => streamsOf(source, query))
    const collections = streams.map(({ source }) => source.kind.collection)
    const { ehrs, nonempty } = await findEhrContents(this.#context, [ehrId], collections)
    const inPlans = (await this.#planScopes(caller, ehrId, ehrs.get(ehrId))) ?? [ofEhr]
    const nonemptyStreams = streams.filter(({ source }) => nonempty.has(source.kind.collection))
    const limits = createReadLimits(caller)
    const reading = { direction, after, limit: limit + 1, limits } as const
    const parts = await Promise.all(
      nonemptyStreams.flatMap((stream) =>
        (isOfPlans(stream) ? inPlans : [ofEhr]).map((scope) =>
          readStream(stream, { ...scope, ...permissionFilter('_rperm', caller) }, reading),
        ),
      ),
    )
    const sortedMatches = parts
      .flatMap(({ matches }) => matches)
      .sort((a, b) => direction * compareMatches(a, b))
    const page = sortedMatches.slice(0, limitOfPage(limit, parts))
    if (after?.isBackward) page.reverse()
    const accesses = await this.#accesses(caller, ehrId, page)
    const recording = this.#context.audit.record(...accesses)
    const lines = await runWhileRecording(recording, () => mapInSlices(page, toTimelineEntry, limits.slice))
    const around = neighbouringPositions(page, sortedMatches.length > page.length, after)
    const cursorOf = (position: CursorPosition | undefined) =>
      position ? encodeCursor(cursorListOf(order), position) : null
    return { lines, next: cursorOf(around.next), prev: cursorOf(around.prev) }
  }

  /** Filters for the measurements that a caller may see who only takes part in plans. */
  async #planScopes(
    caller: Caller,
    ehrId: string,
    ehr: ParseDocument | undefined,
  ): Promise<FieldValues[] | undefined> {
    const ids = await findParticipantPlans(this.#context, caller, ehrId, ehr)
    const plans = ids?.length === 1 ? ids[0] : { $in: ids }
    return ids && [{ carePlanId: plans }, { ehrId, ...IN_EHR_COMPOSITION_FILTER }]
  }

  /** @throws NotFound */
  async #accesses(caller: Caller, ehrId: string, page: readonly TimelineMatch[]): Promise<AuditedAccess[]> {
    if (page.length === 0) {
      const access = { type: 'Ehr', asked: TIMELINE_LIST }
      return scopedQueryAccesses(this.#context, caller, access, { ehrIds: [ehrId] })
    }
    const collections = [...new Set(page.map(({ source }) => source.kind.collection))]
    const accessFields = { action: 'query', asked: TIMELINE_LIST } as const
    return collections.flatMap((collection) => {
      const records = page.flatMap(({ source, document: { _id: id, ehrId } }) =>
        source.kind.collection === collection ? [{ id, ehrId }] : [],
      )
      return accessesByEhr({ collection, ehr: 'ehrId' }, caller, accessFields, records)
    })
  }
}

/** Whether an index lists the records of a stream plan by plan, in the timeline's order. */
const isOfPlans = ({ source: { kind, format }, key }: TimelineStream): boolean =>
  kind.parentType === 'plan' &&
  Object.values(kind.lists).some(
    ({ requiredFields, sort }) =>
      requiredFields.join() === 'carePlanId' && format.field(sort as string).key === key,
  )

const hasTimelineLine = (kind: ClassKind): kind is TimelineKind['kind'] => kind.timeline !== undefined

/** A cursor is only valid for the order in which it was issued. */
const cursorListOf = (order: SortOrder): string => `${TIMELINE_LIST}.${order}`

/** The cursor positions of the next and the previous page, if there are any. */
function neighbouringPositions(
  page: readonly TimelineMatch[],
  more: boolean,
  from: CursorPosition | undefined,
): { next: CursorPosition | undefined; prev: CursorPosition | undefined } {
  const first = page[0]
  const last = page.at(-1)
  return {
    next: last && (from?.isBackward || more) ? { value: last.start, id: last.id } : undefined,
    prev:
      first && (from?.isBackward ? more : from)
        ? { value: first.start, id: first.id, isBackward: true }
        : undefined,
  }
}

/** Sorts by start, then by collection and id. */
function compareMatches(
  a: Pick<TimelineMatch, 'start' | 'id'>,
  b: Pick<TimelineMatch, 'start' | 'id'>,
): number {
  return a.start.getTime() - b.start.getTime() || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}

function streamsOf(source: TimelineKind, { from, to, kinds }: TimelineQuery): TimelineStream[] {
  const { kind, format } = source
  const { start, parts = [], overlapFilters } = kind.timeline
  const shownKinds = kinds ?? timelineKindsOf(kind.timeline)
  if (!timelineKindsOf(kind.timeline).some((one) => shownKinds.includes(one))) return []
  const ofParts = partFilter(kind.timeline, shownKinds)
  const alternatives = overlapFilters?.(from).map((where) => toMongoFilter(format, where as never))
  return start.flatMap((name, i) => {
    const key = format.field(name).key
    const overlapping = alternatives ?? [overlapFilter(source, key, from && new Date(from))]
    const unset = start.slice(0, i).map((other) => [format.field(other).key, null])
    // Needed without `from` and `to`, too: a record without this start field is not part of the stream.
    const bounds = {
      ...(from && !kind.timeline.end && { $gte: new Date(from) }),
      ...(to && { $lt: new Date(to) }),
    }
    return overlapping.map((one) => ({
      source,
      key,
      filter: {
        ...(parts.length > 0 ? ofParts : {}),
        ...Object.fromEntries(unset),
        ...one,
        [key]: { $gt: MIN_DATE, ...bounds, ...(one[key] as object | undefined) },
      },
    }))
  })
}

/** Before any time that an ISO text can express. */
const MIN_DATE = new Date(-8.64e15)

/** The filter that selects only the requested parts. */
function partFilter(
  { kind, parts = [] }: TimelineDefinition,
  requestedKinds: readonly string[],
): FieldValues {
  const types = (isRequested: boolean) =>
    parts.flatMap((part) => (requestedKinds.includes(part.kind) === isRequested ? [part.type] : []))
  if (!requestedKinds.includes(kind)) return { type: { $in: types(true) } }
  const otherTypes = types(false)
  return otherTypes.length > 0 ? { type: { $nin: otherTypes } } : {}
}

/**
 * Selects records that are not over before `from`. One that begins later never is: its end may be a day, which
 * precedes a time of that day.
 */
function overlapFilter(
  { kind, format }: TimelineKind,
  startKey: string,
  from: Date | undefined | '',
): FieldValues {
  const { end, open } = kind.timeline
  if (!end || !from) return {}
  const key = format.field(end).key
  const withoutEnd = open
    ? [
        { [key]: null, ...open },
        { [key]: null, _updated_at: { $gte: from } },
      ]
    : []
  return { $or: [{ [startKey]: { $gte: from } }, { [key]: { $gte: from } }, ...withoutEnd] }
}

interface StreamReading {
  direction: 1 | -1
  after: (CursorPosition & { value: Date }) | undefined
  limit: number
  /** Shared by all streams of a timeline. */
  limits: ReadLimits
}

async function readStream(
  { source, key, filter }: TimelineStream,
  readable: FieldValues,
  { direction, after, limit, limits }: StreamReading,
): Promise<ReadList<ParseDocument> & { matches: TimelineMatch[] }> {
  const { documents, kind } = source
  const positionFilter = after ? afterPositionFilter(kind.collection, key, direction, after) : {}
  const bounds = narrowBounds(filter[key] as DateBounds, positionFilter[key] as DateBounds | undefined)
  const conditions = {
    ...readable,
    ...filter,
    ...(positionFilter.$or ? combineFilters(filter, positionFilter) : {}),
    [key]: bounds,
  }
  const sortedDocuments = documents
    .find(conditions as Filter<ParseDocument>, { projection: { _acl: 0, _rperm: 0, _wperm: 0 } })
    .sort({ [key]: direction, _id: direction })
    .limit(limit)
  const read = await readDocuments(sortedDocuments, limits)
  const matches = read.documents.map((document) => ({
    source,
    start: document[key] as Date,
    id: `${kind.collection}/${document._id}`,
    document,
  }))
  return { matches, ...read }
}

type DateBounds = Record<string, Date>

/** Keeps the tighter of two bounds with the same operator: a cursor may come from another period. */
function narrowBounds(bounds: DateBounds, otherBounds: DateBounds = {}): DateBounds {
  const tighter = Object.entries(otherBounds).filter(([operator, value]) => {
    const { [operator]: bound = value } = bounds
    return operator.startsWith('$lt') ? value <= bound : value >= bound
  })
  return { ...bounds, ...Object.fromEntries(tighter) }
}

const combineFilters = (filter: FieldValues, { $or }: FieldValues): FieldValues =>
  filter.$or ? { $or: filter.$or, $and: [{ $or }] } : { $or }

/**
 * Selects the records of a kind after a position; records with the same start are ordered by collection and
 * id.
 */
function afterPositionFilter(
  collection: string,
  key: string,
  direction: 1 | -1,
  { value, id }: CursorPosition,
): FieldValues {
  const [later, notEarlier] = direction === 1 ? ['$gt', '$gte'] : ['$lt', '$lte']
  const slash = id.indexOf('/')
  const itemCollection = id.slice(0, slash)
  if (itemCollection !== collection) {
    const follows = collection > itemCollection === (direction === 1)
    return { [key]: { [follows ? notEarlier : later]: value } }
  }
  const same = { _id: { [later]: id.slice(slash + 1) } }
  return { [key]: { [notEarlier]: value }, $or: [{ [key]: { [later]: value } }, same] }
}

function toTimelineEntry({ source: { kind, format }, start, id, document }: TimelineMatch): TimelineEntry {
  const { timeline } = kind
  const record = format.fromStored(document)
  const variety = timeline.parts?.find(({ type }) => type === record.type)
  const over = timeline.end === undefined ? undefined : document[format.field(timeline.end).key]
  const isOpen = Object.entries(timeline.open ?? {}).every(([name, value]) => record[name] === value)
  const ongoing = timeline.open !== undefined && !(over instanceof Date) && isOpen
  const lasts = over instanceof Date ? over : timeline.open && !ongoing ? document._updated_at : undefined
  // Copies fields one by one: an object literal that begins with a spread is many times slower.
  const { content, summary, severity, code, values, isRetracted } = timeline.describe(record)
  return {
    id,
    kind: variety?.kind ?? timeline.kind,
    group: variety?.group ?? timeline.group,
    content,
    summary,
    severity,
    code,
    values,
    isRetracted,
    start: start.toISOString(),
    end: lasts && lasts > start ? lasts.toISOString() : null,
    ongoing,
    className: kind.name,
    record,
  }
}
