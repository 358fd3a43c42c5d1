/** Merges ranges of an index: their entries in the order of the bytes after the shared ones. */
import type { Index } from '../collections/indexes.ts'
import { scanIndex } from '../collections/records.ts'
import type { Entry, View } from '../disk/overlay.ts'
import type { KeyBounds } from './bounds.ts'

/** Most ranges return few entries or none before the query has enough. */
const EXPECTED_ENTRIES = 4

interface Head {
  entry: Entry
  bounds: KeyBounds
  /** The entries after the first one; most ranges are never asked for them. */
  rest: Iterator<Entry> | undefined
}

/** The entries of all ranges in order; each range is ordered already. */
export function* mergeRanges(
  view: View,
  index: Index,
  ranges: readonly KeyBounds[],
  reverse: boolean,
): Iterable<Entry> {
  const sign = reverse ? -1 : 1
  const before = (a: Head, b: Head): boolean =>
    a.entry.key.compare(b.entry.key, b.bounds.prefixLength, undefined, a.bounds.prefixLength) * sign < 0
  const entriesAfter = ({ entry: { key }, bounds: { low, high } }: Head): Iterator<Entry> => {
    const [from, to] = reverse ? [low, key] : [Buffer.concat([key, ZERO]), high]
    return scanIndex(view, index, from, to, reverse, EXPECTED_ENTRIES)[Symbol.iterator]()
  }
  const heads = new Heap<Head>(before)
  for (const bounds of ranges) {
    const key = view.visit(bounds.low, bounds.high, reverse, 1, () => true)
    if (!key) continue
    const value = (index.unique && view.get(key)) || nothing
    heads.push({ entry: { key, value }, bounds, rest: undefined })
  }
  for (let head = heads.first; head; head = heads.first) {
    yield head.entry
    head.rest ??= entriesAfter(head)
    const { value: entry, done } = head.rest.next()
    if (done) heads.shift()
    else {
      head.entry = entry
      heads.sink()
    }
  }
}

const nothing = Buffer.alloc(0)
/** Appended to a key, it makes the smallest key above it. */
export const ZERO = Buffer.alloc(1)

/** A binary heap: finds the smallest of many items with few comparisons. */
class Heap<T> {
  readonly #items: T[] = []
  readonly #before: (a: T, b: T) => boolean

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before
  }

  get first(): T | undefined {
    return this.#items[0]
  }

  push(item: T): void {
    const items = this.#items
    let at = items.push(item) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#before(item, items[parent] as T)) break
      items[at] = items[parent] as T
      at = parent
    }
    items[at] = item
  }

  shift(): void {
    const last = this.#items.pop()
    if (last === undefined || this.#items.length === 0) return
    this.#items[0] = last
    this.sink()
  }

  /** Restores the order after the first item has changed. */
  sink(): void {
    const items = this.#items
    const item = items[0] as T
    let at = 0
    for (let child = 1; child < items.length; child = 2 * at + 1) {
      const right = child + 1
      if (right < items.length && this.#before(items[right] as T, items[child] as T)) child = right
      if (!this.#before(items[child] as T, item)) break
      items[at] = items[child] as T
      at = child
    }
    items[at] = item
  }
}
