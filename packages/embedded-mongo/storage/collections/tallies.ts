/**
 * How many documents have the same array in the field with which an index begins, such as who may read them. There are far
 * fewer such arrays than documents, so that what many values of the field lead to is counted without looking at it.
 */
import { createHash } from 'node:crypto'
import type { Document } from 'bson'
import { get } from '../../values/values.ts'
import type { View, Visitor, WritableView } from '../disk/overlay.ts'
import { inSpace, raiseFlag } from './catalog.ts'
import type { Index } from './indexes.ts'
import { after, encodeStart, SPACE_BYTES } from './key-codec.ts'

/** Longer arrays are as a rule no two documents'. */
const MOST_ELEMENTS = 64
const HASH_BYTES = 20

/** Whether an index can be tallied; that all of its documents have arrays there shows when they come. */
export const mayTally = ({ fields, descending, unique, sparse, filter, collation }: Index): boolean =>
  fields.length > 1 &&
  !fields[0]?.includes('.') &&
  descending[0] === false &&
  !(unique || sparse || filter || collation)

/** Elements are told by the bytes with which their keys begin, behind the index's space. */
interface Tallied {
  elements: Buffer[]
  hash: Buffer
}

/** What was made of arrays of texts, by these. */
const known = new Map<string, Tallied>()
const MOST_KNOWN = 1000

const talliedIn = (index: Index, document: Document): Tallied | undefined => {
  const array = get(document, index.fields[0] as string)
  if (!Array.isArray(array) || array.length > MOST_ELEMENTS) return undefined
  const name = array.every((element) => typeof element === 'string') ? JSON.stringify(array) : undefined
  const found = name === undefined ? undefined : known.get(name)
  if (found) return found
  const texts = array.map((element) => beginningOf(index, element).toString('latin1'))
  const elements = [...new Set(texts)].sort().map((text) => Buffer.from(text, 'latin1'))
  const hash = createHash('sha1')
  for (const element of elements) hash.update(element)
  const tallied = { elements, hash: hash.digest() }
  if (known.size === MOST_KNOWN) known.clear()
  if (name !== undefined) known.set(name, tallied)
  return tallied
}

const beginningOf = (index: Index, element: unknown): Buffer =>
  encodeStart(index, [element ?? null]).subarray(SPACE_BYTES)

/** Of an index it is the count of one array: named as the counts of collections are, and changed by transactions as they are. */
const tallyKey = ({ space }: Index, hash: Buffer): Buffer =>
  inSpace(0, Buffer.concat([Buffer.from(`#${space} `), hash]))

/** All arrays that have had an element. */
const elementKey = ({ space }: Index, element: Buffer): Buffer =>
  inSpace(0, Buffer.concat([Buffer.from(`t${String(space).padStart(10, '0')}`), element]))

/** What a document was, and what it is now, in the tallies of its collection; undefined: it was not there, or is not. */
export const tally = (
  view: WritableView,
  indexes: readonly Index[],
  before: Document | undefined,
  now: Document | undefined,
): void => {
  for (const index of indexes) {
    if (!index.tallied) continue
    if (!index.ready) {
      // Whether its filling has met the document already, or will, a transaction cannot know.
      raiseFlag(view, index, 'untallied')
      continue
    }
    const [old, fresh] = [before && talliedIn(index, before), now && talliedIn(index, now)]
    // What cannot be tallied is noted with it. The others go on being counted: its write may be undone.
    if (now && !fresh) raiseFlag(view, index, 'untallied')
    if (old && fresh?.hash.equals(old.hash)) continue
    if (old) change(view, index, old, -1)
    if (fresh) change(view, index, fresh, 1)
  }
}

/** Counts a document that was there before the index. */
export const tallyFilled = (view: WritableView, indexes: readonly Index[], document: Document): void => {
  for (const index of indexes) {
    if (!index.tallied) continue
    const found = talliedIn(index, document)
    if (found) change(view, index, found, 1)
    else raiseFlag(view, index, 'untallied')
  }
}

const change = (view: WritableView, index: Index, { elements, hash }: Tallied, difference: number): void => {
  const key = tallyKey(index, hash)
  const count = view.get(key)
  if (!count)
    for (const element of elements) view.put(elementKey(index, Buffer.concat([element, hash])), NOTHING)
  view.put(key, Buffer.from(String(Number(count ?? 0) + difference)))
}

const NOTHING = Buffer.alloc(0)

/** Whether the tallies of an index know all of its documents. */
export const isTallied = ({ ready, tallied, untallied }: Index): boolean => ready && tallied && !untallied

/** Where all that is kept of an index's tallies lies. */
export const tallyBounds = (space: number): [Buffer, Buffer][] =>
  [`#${space} `, `t${String(space).padStart(10, '0')}`].map((prefix) => {
    const low = inSpace(0, Buffer.from(prefix))
    return [low, after(low)]
  })

/** Counts the documents again that it is shown. */
export class TallyCheck {
  readonly #index: Index
  readonly #counts = new Map<string, number>()

  constructor(index: Index) {
    this.#index = index
  }

  add(document: Document): void {
    const hash = talliedIn(this.#index, document)?.hash.toString('latin1') ?? ''
    this.#counts.set(hash, (this.#counts.get(hash) ?? 0) + 1)
  }

  /** @throws what has been tallied otherwise */
  compare(view: View): void {
    const { name, space } = this.#index
    const [bounds] = tallyBounds(space)
    let left = this.#counts.size
    for (const { key, value } of view.range(...(bounds as [Buffer, Buffer]))) {
      const count = this.#counts.get(key.toString('latin1', key.length - HASH_BYTES))
      if (Number(value) !== (count ?? 0)) throw new Error(`the index ${name} counts otherwise`)
      if (count !== undefined) left--
    }
    if (left > 0) throw new Error(`the index ${name} does not count all documents`)
  }
}

/** How many documents have any of these elements. @param starts the keys of the index with which those of an element begin */
export const countTallied = (view: View, index: Index, starts: readonly Buffer[]): number => {
  const hashes = new Set<string>()
  const visitor: Visitor = (bytes, _, end) => {
    hashes.add(Buffer.from(bytes.subarray(end - HASH_BYTES, end)).toString('latin1'))
    return true
  }
  for (const start of starts) {
    const low = elementKey(index, start.subarray(SPACE_BYTES))
    view.visit(low, after(low), false, Number.POSITIVE_INFINITY, visitor)
  }
  let count = 0
  for (const hash of hashes) count += Number(view.get(tallyKey(index, Buffer.from(hash, 'latin1'))) ?? 0)
  return count
}
