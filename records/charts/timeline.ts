import type { Collection, Filter } from 'mongodb'
import { plansOfParticipant } from '../ehrs/rights/readable.ts'
import { HELD_IN_EHR } from '../measurements/compositions/held.ts'
import type { ClassKind } from '../registered/kind.ts'
import type { Holders } from '../registered/registered.ts'
import type { Group, Said, TimelineLine } from '../registered/timeline-line.ts'
import { whileRecorded } from '../store/audit/trail.ts'
import { type Caller, permitted } from '../store/documents/caller.ts'
import { documentsOf } from '../store/documents/database.ts'
import {
  type ParseDocument,
  type ParseFormat,
  parseFormat,
  type Saved,
} from '../store/documents/parse-format.ts'
import { decodeCursor, encodeCursor, foreignCursor, type Position } from '../store/reading/cursor.ts'
import { toQuery } from '../store/reading/filter.ts'
import type { Order } from '../store/reading/listing.ts'
import { accessesOf } from '../store/resource.ts'
import type { Records } from '../store/writing/transaction.ts'
import { collectionsHolding } from './holding.ts'

/** What is asked of a timeline: what overlaps the time between `from` and `to`. */
export interface TimelineQuery {
  from?: string | undefined
  to?: string | undefined
  /** Of which kinds; undefined: of all. */
  kinds?: readonly string[] | undefined
  limit: number
  cursor?: string | undefined
  order?: Order | undefined
}

/** One line of a timeline; times as ISO texts. */
export interface Line extends Said {
  /** Unique in the timeline. */
  id: string
  kind: string
  group: Group
  start: string
  /** null: it is a moment, or goes on. */
  end: string | null
  ongoing: boolean
  /** The name of the class, and what the record says of itself. */
  className: string
  record: Saved<Record<string, unknown>>
}

type Fields = Record<string, unknown>

/** A kind whose records stand in the timeline. */
interface TimelineKind {
  kind: ClassKind & { timeline: TimelineLine }
  format: ParseFormat<Fields>
  documents: Collection<ParseDocument>
}

/** Records of a kind that begin by the same field: they come from one index, in the timeline's order. */
interface Stream {
  source: TimelineKind
  /** The stored field of their start. */
  key: string
  filter: Fields
}

interface Found {
  source: TimelineKind
  start: Date
  id: string
  document: ParseDocument
}

const LIST = 'timeline'

/** The kinds that can be requested. */
export const kindsOf = ({ kind, parts = [] }: TimelineLine): string[] => [
  kind,
  ...parts.map((part) => part.kind),
]

/** What happened in an EHR, of all kinds, in the order of time. */
export class Timelines {
  readonly #records: Records
  readonly #holders: Pick<Holders, 'ehr'>
  readonly #sources: readonly TimelineKind[]

  constructor(records: Records, holders: Pick<Holders, 'ehr'>, kinds: readonly ClassKind[]) {
    this.#records = records
    this.#holders = holders
    this.#sources = kinds.filter(hasTimelineLine).map((kind) => ({
      kind,
      format: parseFormat(kind.schema) as ParseFormat<Fields>,
      documents: documentsOf(records, kind.collection),
    }))
  }

  /** The lines that the caller may see. @throws NotFound when nothing of the EHR is; MalformedRequest for a foreign cursor */
  async read(
    caller: Caller,
    ehrId: string,
    query: TimelineQuery,
  ): Promise<{ lines: Line[]; next: string | null; prev: string | null }> {
    const { limit, cursor, order = 'desc' } = query
    const after = cursor === undefined ? undefined : positionIn(order, cursor)
    const direction = (order === 'asc') === !after?.back ? 1 : -1
    const ofEhr = { ehrId }
    const streams = this.#sources.flatMap((source) => streamsOf(source, query))
    const collections = [...new Set(streams.map(({ source }) => source.kind.collection))]
    const [holding, inPlans = [ofEhr]] = await Promise.all([
      collectionsHolding(this.#records, ehrId, collections),
      this.#inPlans(caller, ehrId),
    ])
    const held = streams.filter(({ source }) => holding.has(source.kind.collection))
    const parts = await Promise.all(
      held.flatMap((stream) =>
        (isOfPlans(stream) ? inPlans : [ofEhr]).map((place) => {
          const readable = { ...place, ...permitted('_rperm', caller) }
          return readStream(stream, readable, { direction, after, limit: limit + 1 })
        }),
      ),
    )
    const all = parts.flat().sort((a, b) => direction * compare(a, b))
    const page = all.slice(0, limit)
    if (after?.back) page.reverse()
    if (page.length === 0) await this.#holders.ehr(caller, ehrId)
    const lines = await whileRecorded(this.#report(caller, page), () => page.map(lineOf))
    const around = neighbours(page, all.length > limit, after)
    const cursorOf = (place: Position | undefined) => (place ? encodeCursor(listIn(order), place) : null)
    return { lines, next: cursorOf(around.next), prev: cursorOf(around.prev) }
  }

  /** Where the measurements are that a caller may see who only takes part in plans. */
  async #inPlans(caller: Caller, ehrId: string): Promise<Fields[] | undefined> {
    const ids = await plansOfParticipant(this.#records, caller, ehrId)
    const plans = ids?.length === 1 ? ids[0] : { $in: ids }
    return ids && [{ carePlanId: plans }, { ehrId, ...HELD_IN_EHR }]
  }

  #report(caller: Caller, page: readonly Found[]): Promise<void> {
    const collections = [...new Set(page.map(({ source }) => source.kind.collection))]
    const what = { action: 'query', asked: LIST } as const
    const accesses = collections.flatMap((collection) => {
      const records = page.flatMap(({ source, document: { _id: id, ehrId } }) =>
        source.kind.collection === collection ? [{ id, ehrId }] : [],
      )
      return accessesOf({ collection, ehr: 'ehrId' }, caller, what, records)
    })
    return this.#records.audit.record(...accesses)
  }
}

/** Whether the records of a stream are listed plan by plan in the timeline's order. */
const isOfPlans = ({ source: { kind, format }, key }: Stream): boolean =>
  kind.registeredIn === 'plan' &&
  Object.values(kind.lists).some(
    ({ by, sort }) => by.join() === 'carePlanId' && format.field(sort as string).key === key,
  )

const hasTimelineLine = (kind: ClassKind): kind is TimelineKind['kind'] => kind.timeline !== undefined

/** A cursor goes on in the order that it was given in. */
const listIn = (order: Order): string => `${LIST}.${order}`

/** @throws MalformedRequest */
function positionIn(order: Order, cursor: string): Position & { value: Date } {
  const { value, ...position } = decodeCursor(listIn(order), cursor)
  if (!(value instanceof Date)) throw foreignCursor()
  return { value, ...position }
}

/** Where the pages on either side of one begin, as far as there are any. */
function neighbours(
  page: readonly Found[],
  more: boolean,
  from: Position | undefined,
): { next: Position | undefined; prev: Position | undefined } {
  const [first, last] = [page[0], page.at(-1)]
  return {
    next: last && (from?.back || more) ? { value: last.start, id: last.id } : undefined,
    prev: first && (from?.back ? more : from) ? { value: first.start, id: first.id, back: true } : undefined,
  }
}

/** By start, then by id: the same start in several kinds is in the order of their names. */
function compare(a: Pick<Found, 'start' | 'id'>, b: Pick<Found, 'start' | 'id'>): number {
  return a.start.getTime() - b.start.getTime() || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}

function streamsOf(source: TimelineKind, { from, to, kinds }: TimelineQuery): Stream[] {
  const { kind, format } = source
  const { start, parts = [], reaching } = kind.timeline
  const wanted = kinds ?? kindsOf(kind.timeline)
  if (!kindsOf(kind.timeline).some((one) => wanted.includes(one))) return []
  const ofParts = typeOf(kind.timeline, wanted)
  const overlapping = reaching?.(from).map((where) => toQuery(format, where as never)) ?? [
    overlap(source, from && new Date(from)),
  ]
  return start.flatMap((name, i) => {
    const key = format.field(name).key
    const unset = start.slice(0, i).map((other) => [format.field(other).key, null])
    // Also where nothing is asked: what has no such start is no part of this stream.
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
        [key]: { $gt: BEGINNING, ...bounds, ...(one[key] as object | undefined) },
      },
    }))
  })
}

/** Before all that can be written in an ISO text. */
const BEGINNING = new Date(-8.64e15)

/** The condition that admits only the requested parts. */
function typeOf({ kind, parts = [] }: TimelineLine, wanted: readonly string[]): Fields {
  const types = (those: boolean) =>
    parts.flatMap((part) => (wanted.includes(part.kind) === those ? [part.type] : []))
  if (!wanted.includes(kind)) return { type: { $in: types(true) } }
  const unwanted = types(false)
  return unwanted.length > 0 ? { type: { $nin: unwanted } } : {}
}

/** What is not over before `from`. */
function overlap({ kind, format }: TimelineKind, from: Date | undefined | ''): Fields {
  const { end, open, start } = kind.timeline
  if (!end || !from) return {}
  const key = format.field(end).key
  const moments = start.map((name) => ({ [key]: null, [format.field(name).key]: { $gte: from } }))
  const closed = { [key]: null, _updated_at: { $gte: from } }
  return { $or: [{ [key]: { $gte: from } }, ...(open ? [{ [key]: null, ...open }, closed] : moments)] }
}

async function readStream(
  { source, key, filter }: Stream,
  readable: Fields,
  {
    direction,
    after,
    limit,
  }: { direction: 1 | -1; after: (Position & { value: Date }) | undefined; limit: number },
): Promise<Found[]> {
  const { documents, kind } = source
  const reached = after ? beyond(kind.collection, key, direction, after) : {}
  const bounds = narrowed(filter[key] as Bounds, reached[key] as Bounds | undefined)
  const conditions = { ...readable, ...filter, ...(reached.$or ? both(filter, reached) : {}), [key]: bounds }
  const found = await documents
    .find(conditions as Filter<ParseDocument>, { projection: { _acl: 0, _rperm: 0, _wperm: 0 } })
    .sort({ [key]: direction, _id: direction })
    .limit(limit)
    .toArray()
  return found.map((document) => ({
    source,
    start: document[key] as Date,
    id: `${kind.collection}/${document._id}`,
    document: document as ParseDocument,
  }))
}

type Bounds = Record<string, Date>

/** Of two bounds of one sort the one that leaves less: a cursor may come from another period. */
function narrowed(bounds: Bounds, others: Bounds = {}): Bounds {
  const tighter = Object.entries(others).filter(([operator, value]) => {
    const { [operator]: bound = value } = bounds
    return operator.startsWith('$lt') ? value <= bound : value >= bound
  })
  return { ...bounds, ...Object.fromEntries(tighter) }
}

const both = (filter: Fields, { $or }: Fields): Fields =>
  filter.$or ? { $or: filter.$or, $and: [{ $or }] } : { $or }

/** What of a kind comes after a position: of those with the same start those whose name and id do. */
function beyond(collection: string, key: string, direction: 1 | -1, { value, id }: Position): Fields {
  const [later, notEarlier] = direction === 1 ? ['$gt', '$gte'] : ['$lt', '$lte']
  const slash = id.indexOf('/')
  const of = id.slice(0, slash)
  if (of !== collection) {
    const follows = collection > of === (direction === 1)
    return { [key]: { [follows ? notEarlier : later]: value } }
  }
  const same = { _id: { [later]: id.slice(slash + 1) } }
  return { [key]: { [notEarlier]: value }, $or: [{ [key]: { [later]: value } }, same] }
}

function lineOf({ source: { kind, format }, start, id, document }: Found): Line {
  const { timeline } = kind
  const record = format.fromStored(document)
  const variety = timeline.parts?.find(({ type }) => type === record.type)
  const over = timeline.end === undefined ? undefined : document[format.field(timeline.end).key]
  const isOpen = Object.entries(timeline.open ?? {}).every(([name, value]) => record[name] === value)
  const ongoing = timeline.open !== undefined && !(over instanceof Date) && isOpen
  const lasts = over instanceof Date ? over : timeline.open && !ongoing ? document._updated_at : undefined
  // One by one: an object that begins with what another one has takes many times as long to make.
  const { content, summary, severity, code, values } = timeline.says(record)
  return {
    id,
    kind: variety?.kind ?? timeline.kind,
    group: variety?.group ?? timeline.group,
    content,
    summary,
    severity,
    code,
    values,
    start: start.toISOString(),
    end: lasts && lasts > start ? lasts.toISOString() : null,
    ongoing,
    className: kind.name,
    record,
  }
}
