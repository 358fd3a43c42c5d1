import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Author } from '../../documents/caller.ts'

/** One access to EHR data. */
export interface AuditedAccess extends Author {
  requestId: string
  application: string
  action: 'create' | 'read' | 'query' | 'update' | 'delete'
  /** The EHR, or a scope of many (scopes.ts); null when the request named none. */
  ehrId: string | null
  /** The collection of the records. */
  type: string
  ids: string[]
  /** `denied`: no such record for this caller. `refused`: a rule, a permission or a newer version forbade it. */
  outcome: 'done' | 'denied' | 'refused'
  /** The fields of a query, without their values. */
  asked?: string
}

/** A stored access: a link of a chain. */
export interface AuditEntry extends AuditedAccess {
  /** `<instance>-<chain>-<sequence, 12 digits>`: ids sort by chain, then by sequence. */
  _id: string
  at: Date
  /** Keyed hash over this entry and the MAC of the previous one. */
  mac: string
}

/** The last link of a chain: the number of its entries and the MAC of the last one. */
export interface ChainHead {
  sequence: number
  mac: string
}

const SEQUENCE_DIGITS = 12

export const EMPTY_HEAD: ChainHead = { sequence: 0, mac: '' }

const entryId = (chain: string, sequence: number): string =>
  `${chain}-${String(sequence).padStart(SEQUENCE_DIGITS, '0')}`

/** The ids of a chain lie between these two, and no others do. */
export const chainIdStart = (chain: string): string => `${chain}-`
export const chainIdEnd = (chain: string): string => `${chain}-~`

/** Splits an entry's id into chain and sequence number. */
export function parseEntryId(id: string): { chain: string; sequence: number } {
  return { chain: id.slice(0, -SEQUENCE_DIGITS - 1), sequence: Number(id.slice(-SEQUENCE_DIGITS)) }
}

export function computeMac(key: string, parts: unknown): string {
  return createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url')
}

export function isSameMac(a: string, b: string): boolean {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}

/** The MAC of an entry that follows `previous`. It covers every field, including unknown ones. */
export function macOfEntry(key: string, previous: string, entry: Omit<AuditEntry, 'mac'>): string {
  const { _id, at, requestId, userId, application, action, ehrId, type, ids, outcome, asked, ...others } =
    entry
  const values = [_id, at, requestId, userId, application, action, ehrId, type, ids, outcome, asked ?? null]
  return computeMac(key, [previous, ...values, ...Object.entries(others)])
}

/** At most 200 characters, which the database returns unchanged: the MAC must match the text that is read. */
const toStorableText = (text: string): string =>
  STORABLE_TEXT.test(text) ? text : Buffer.from(text.slice(0, 200)).toString()
const STORABLE_TEXT = /^[\x20-\x7e]{0,200}$/

function toStorableAccess(access: AuditedAccess): AuditedAccess {
  return {
    ...access,
    requestId: toStorableText(access.requestId),
    application: toStorableText(access.application),
    ehrId: access.ehrId === null ? null : toStorableText(access.ehrId),
    ids: access.ids.map(toStorableText),
    ...(access.asked === undefined ? {} : { asked: toStorableText(access.asked) }),
  }
}

/** Ids per entry. */
const MAX_IDS_PER_ENTRY = 1000

/** Merges accesses of one request to the same kind and EHR with the same action into one access. */
export function mergeAccesses(accesses: readonly AuditedAccess[]): AuditedAccess[] {
  if (accesses.length < 2) return [...accesses]
  const accessesByKey = new Map<string, AuditedAccess & { uniqueIds: Set<string>; asks: Set<string> }>()
  for (const access of accesses) {
    const { requestId, userId, ehrId, type, action, outcome, ids, asked } = access
    const key = [requestId, userId, ehrId, type, action, outcome].join('\n')
    const one = accessesByKey.get(key) ?? { ...access, uniqueIds: new Set<string>(), asks: new Set<string>() }
    for (const id of ids) one.uniqueIds.add(id)
    if (asked !== undefined) one.asks.add(asked)
    accessesByKey.set(key, one)
  }
  return [...accessesByKey.values()].flatMap(({ uniqueIds, asks, ...access }) => {
    const mergedAccess = asks.size > 0 ? { ...access, asked: [...asks].join('; ') } : access
    return splitIds([...uniqueIds]).map((ids) => ({ ...mergedAccess, ids }))
  })
}

function splitIds(ids: string[]): string[][] {
  const count = Math.max(1, Math.ceil(ids.length / MAX_IDS_PER_ENTRY))
  return Array.from({ length: count }, (_, i) =>
    ids.slice(i * MAX_IDS_PER_ENTRY, (i + 1) * MAX_IDS_PER_ENTRY),
  )
}

/** Links accesses to a head; returns the entries and the new head, without side effects. */
export function linkEntries(
  key: string,
  chain: string,
  head: ChainHead,
  accesses: readonly AuditedAccess[],
  at: Date,
): { entries: AuditEntry[]; head: ChainHead } {
  let { sequence, mac } = head
  const entries = accesses.map((access) => {
    sequence += 1
    const entry = { _id: entryId(chain, sequence), at, ...toStorableAccess(access) }
    mac = macOfEntry(key, mac, entry)
    return { ...entry, mac }
  })
  return { entries, head: { sequence, mac } }
}
