import { createHmac, timingSafeEqual } from 'node:crypto'

/** One access, as it is reported to the audit. */
export interface Access {
  requestId: string
  userId: string
  application: string
  action: 'create' | 'read' | 'query' | 'update' | 'delete'
  /** The EHR whose data it was, or a scope of many (scopes.ts); null when the request named none. */
  ehrId: string | null
  /** The kind of record: its collection. */
  type: string
  ids: string[]
  /**
   * `done`; `denied`: there is no such record for this caller; `refused`: a rule, a permission or a newer version
   * forbade it; `announced`: said before another part (Parse Server) does the write, which may not have happened.
   */
  outcome: 'done' | 'denied' | 'refused' | 'announced'
  /** Of a query: what was asked, by the names of the fields, without their values. */
  asked?: string
}

/** An access as it is kept: a link in a chain. */
export interface AuditEntry extends Access {
  /** `<instance>-<lane>-<sequence, 12 digits>`: chains sort one after the other, each in its order. */
  _id: string
  at: Date
  /** Keyed hash over this entry and the mac of the one before it. */
  mac: string
}

/** The last link of a chain: how many entries it has, and the last one's mac. */
export interface Head {
  sequence: number
  mac: string
}

const DIGITS = 12

export const START: Head = { sequence: 0, mac: '' }

const entryId = (chain: string, sequence: number): string =>
  `${chain}-${String(sequence).padStart(DIGITS, '0')}`

/** All ids of a chain are between these two, and no others. */
export const startOfChain = (chain: string): string => `${chain}-`
export const endOfChain = (chain: string): string => `${chain}-~`

/** The chain and the sequence number in an entry's id. */
export function placeOf(id: string): { chain: string; sequence: number } {
  return { chain: id.slice(0, -DIGITS - 1), sequence: Number(id.slice(-DIGITS)) }
}

export function macOf(key: string, parts: unknown): string {
  return createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url')
}

export function sameMac(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** The mac that an entry must bear behind `previous`. Every field is covered, also one that nobody knows. */
export function entryMac(key: string, previous: string, entry: Omit<AuditEntry, 'mac'>): string {
  const { _id, at, requestId, userId, application, action, ehrId, type, ids, outcome, asked, ...others } =
    entry
  return macOf(key, [
    previous,
    _id,
    at,
    requestId,
    userId,
    application,
    action,
    ehrId,
    type,
    ids,
    outcome,
    asked ?? null,
    ...Object.entries(others),
  ])
}

/** At most 200 characters, and none that the database would store as another: the mac has to hold on what is read. */
const storable = (text: string): string =>
  PLAIN.test(text) ? text : Buffer.from(text.slice(0, 200)).toString()
const PLAIN = /^[\x20-\x7e]{0,200}$/

function cleaned(access: Access): Access {
  return {
    ...access,
    requestId: storable(access.requestId),
    application: storable(access.application),
    ehrId: access.ehrId === null ? null : storable(access.ehrId),
    ids: access.ids.map(storable),
    ...(access.asked === undefined ? {} : { asked: storable(access.asked) }),
  }
}

/** Ids in one entry. */
const MOST_IDS = 1000

/** What one request did to one kind of records of one EHR, as one access, however often it is said. */
export function onePerKind(accesses: readonly Access[]): Access[] {
  if (accesses.length < 2) return [...accesses]
  const merged = new Map<string, Access & { known: Set<string>; asks: Set<string> }>()
  for (const access of accesses) {
    const { requestId, userId, ehrId, type, action, outcome, ids, asked } = access
    const key = [requestId, userId, ehrId, type, action, outcome].join('\n')
    const one = merged.get(key) ?? { ...access, known: new Set<string>(), asks: new Set<string>() }
    for (const id of ids) one.known.add(id)
    if (asked !== undefined) one.asks.add(asked)
    merged.set(key, one)
  }
  return [...merged.values()].flatMap(({ known, asks, ...access }) => {
    const said = asks.size > 0 ? { ...access, asked: [...asks].join('; ') } : access
    return chunks([...known]).map((ids) => ({ ...said, ids }))
  })
}

function chunks(ids: string[]): string[][] {
  const count = Math.max(1, Math.ceil(ids.length / MOST_IDS))
  return Array.from({ length: count }, (_, i) => ids.slice(i * MOST_IDS, (i + 1) * MOST_IDS))
}

/** Links accesses behind a head; gives the entries and the new head, and changes nothing. */
export function link(
  key: string,
  chain: string,
  head: Head,
  accesses: readonly Access[],
  at: Date,
): { entries: AuditEntry[]; head: Head } {
  let { sequence, mac } = head
  const entries = accesses.map((access) => {
    sequence += 1
    const entry = { _id: entryId(chain, sequence), at, ...cleaned(access) }
    mac = entryMac(key, mac, entry)
    return { ...entry, mac }
  })
  return { entries, head: { sequence, mac } }
}
