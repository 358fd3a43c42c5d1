/** Views of the key space, and in-memory changes on top of a view. */

export interface Entry {
  key: Buffer
  value: Buffer
}

/** Each key begins with four bytes for its space: a collection's records, one index, or the catalogue. */
export interface View {
  get(key: Buffer): Buffer | undefined
  /**
   * Entries with low <= key < high, in key order or its reverse.
   * @param expected how many entries usually suffice
   */
  range(low: Buffer, high: Buffer, reverse?: boolean, expected?: number): Iterable<Entry>
  /** Only the keys, which takes a third of the time. */
  keys(low: Buffer, high: Buffer, reverse?: boolean, expected?: number): Iterable<Buffer>
  /**
   * Passes the keys with low <= key < high to the visitor without copying each; the copies dominate large
   * ranges.
   * @returns the last visited key if there may be more: the visitor had enough, or `most` keys were visited
   */
  visit(low: Buffer, high: Buffer, reverse: boolean, most: number, visitor: Visitor): Buffer | undefined
  /** The number of entries with low <= key < high. */
  count(low: Buffer, high: Buffer): number
}

/**
 * Receives the bytes of a key from `start` to before `end`; they are valid until it returns.
 * @returns whether to continue
 */
export type Visitor = (bytes: Uint8Array, start: number, end: number) => boolean

export interface WritableView extends View {
  /** The flags raised in this view, by index. */
  newFlags?: Map<object, Set<string>>
  put(key: Buffer, value: Buffer): void
  remove(key: Buffer): void
}

interface Change {
  key: Buffer
  /** undefined: removed. */
  value: Buffer | undefined
}

/** The changes in one space. */
class Space {
  /** By their keys as latin1. */
  readonly #changesByName = new Map<string, Change>()
  /**
   * Changes not in `#changesByName` yet, because nobody has looked one up since. Most index entries never get there:
   * naming is slow.
   */
  #unnamedChanges: Change[] = []
  #sortedNames: string[] | undefined

  add(change: Change): void {
    this.#unnamedChanges.push(change)
  }

  /** The changes in the order of arrival. If a key changes several times, the last change counts. */
  *changesInOrder(): Iterable<Change> {
    yield* this.#changesByName.values()
    yield* this.#unnamedChanges
  }

  /** One change for each key. */
  get named(): ReadonlyMap<string, Change> {
    const { size } = this.#changesByName
    for (const change of this.#unnamedChanges) this.#changesByName.set(change.key.toString('latin1'), change)
    if (this.#changesByName.size !== size) this.#sortedNames = undefined
    if (this.#unnamedChanges.length > 0) this.#unnamedChanges = []
    return this.#changesByName
  }

  /** The changes with low <= key < high, in key order. */
  between(low: Buffer, high: Buffer): Change[] {
    const { named } = this
    this.#sortedNames ??= [...named.keys()].sort()
    const from = lowerBound(this.#sortedNames, low.toString('latin1'))
    const to = lowerBound(this.#sortedNames, high.toString('latin1'))
    return this.#sortedNames.slice(from, to).map((name) => named.get(name) as Change)
  }
}

/** In-memory changes on top of another view, which stays unchanged until someone applies them. */
export class Overlay implements WritableView {
  #base: View
  newFlags?: Map<object, Set<string>>
  readonly #spaces = new Map<number, Space>()

  constructor(below: View) {
    this.#base = below
  }

  /** Replaces the view below after the changes have been written to it. */
  rebase(below: View): void {
    this.#base = below
  }

  get(key: Buffer): Buffer | undefined {
    return this.#get(key, key.toString('latin1'))
  }

  #get(key: Buffer, name: string): Buffer | undefined {
    const change = this.#spaces.get(key.readUInt32BE(0))?.named.get(name)
    if (change) return change.value
    return this.#base instanceof Overlay ? this.#base.#get(key, name) : this.#base.get(key)
  }

  put(key: Buffer, value: Buffer): void {
    this.#set(key, value)
  }

  remove(key: Buffer): void {
    this.#set(key, undefined)
  }

  #set(key: Buffer, value: Buffer | undefined): void {
    const number = key.readUInt32BE(0)
    const space = this.#spaces.get(number) ?? new Space()
    this.#spaces.set(number, space)
    space.add({ key, value })
  }

  /** One change for each key, by the key as latin1. @param without selects the spaces to skip */
  *changes(without: (space: number) => boolean): Iterable<[string, Change]> {
    for (const [number, space] of this.#spaces) if (!without(number)) yield* space.named
  }

  /** All changes, as {@link Space.changesInOrder}. */
  *changesInOrder(): Iterable<Change> {
    for (const space of this.#spaces.values()) yield* space.changesInOrder()
  }

  get empty(): boolean {
    return this.#spaces.size === 0
  }

  /**
   * Moves the changes to `target`. This overlay must not be used afterwards.
   * @param without selects the spaces to skip
   */
  applyTo(target: Overlay, without: (space: number) => boolean = () => false): void {
    for (const [number, own] of this.#spaces) {
      if (without(number)) continue
      const space = target.#spaces.get(number)
      if (!space) target.#spaces.set(number, own)
      else for (const change of own.changesInOrder()) space.add(change)
    }
  }

  range(low: Buffer, high: Buffer, reverse = false, expected?: number): Iterable<Entry> {
    const changes = this.#copyChanges(low, high)
    const below = this.#base.range(low, high, reverse, expected)
    return changes.length === 0 ? below : merge(below, reverse ? changes.reverse() : changes, reverse)
  }

  keys(low: Buffer, high: Buffer, reverse = false, expected?: number): Iterable<Buffer> {
    if (this.#copyChanges(low, high).length === 0) return this.#base.keys(low, high, reverse, expected)
    return keysOf(this.range(low, high, reverse, expected))
  }

  visit(low: Buffer, high: Buffer, reverse: boolean, most: number, visitor: Visitor): Buffer | undefined {
    if (this.#copyChanges(low, high).length === 0) return this.#base.visit(low, high, reverse, most, visitor)
    let left = most
    for (const { key } of this.range(low, high, reverse, most))
      if (!visitor(key, 0, key.length) || --left === 0) return key
    return undefined
  }

  count(low: Buffer, high: Buffer): number {
    let keyCount = this.#base.count(low, high)
    for (const { key, value } of this.#copyChanges(low, high))
      keyCount += (value ? 1 : 0) - (this.#base.get(key) ? 1 : 0)
    return keyCount
  }

  /** A copy of this overlay's changes in the range: a reader sees the range as it was when it asked. */
  #copyChanges(low: Buffer, high: Buffer): Change[] {
    return this.#spaces.get(low.readUInt32BE(0))?.between(low, high) ?? []
  }
}

function* keysOf(entries: Iterable<Entry>): Iterable<Buffer> {
  for (const { key } of entries) yield key
}

const lowerBound = (sortedNames: string[], name: string): number => {
  let low = 0
  let high = sortedNames.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sortedNames[middle] as string) < name) low = middle + 1
    else high = middle
  }
  return low
}

function* merge(below: Iterable<Entry>, changes: Change[], reverse: boolean): Iterable<Entry> {
  let next = 0
  for (const entry of below) {
    let order = -1
    while (next < changes.length && order < 0) {
      const change = changes[next] as Change
      order = Buffer.compare(change.key, entry.key) * (reverse ? -1 : 1)
      if (order > 0) break
      next++
      if (change.value) yield change as Entry
    }
    if (order !== 0) yield entry
  }
  for (; next < changes.length; next++) if (changes[next]?.value) yield changes[next] as Entry
}
