/**
 * Tallies: the number of documents that have the same array in the first field of an index, such as their
 * permissions. There are far fewer such arrays than documents, so the engine answers an `$in` on that field
 * from the tallies, without a scan.
 */
import { createHash } from 'node:crypto'
import type { Document } from 'bson'
import { getMember } from '../../values/bson-values.ts'
import type { View, Visitor, WritableView } from '../disk/overlay.ts'
import { keyInSpace, setFlag } from './catalog.ts'
import type { Index } from './indexes.ts'
import { encodeBound, endOfPrefix, SPACE_BYTES } from './keys/key-encoding.ts'

/** Two documents rarely share an array that is longer. */
const MAX_ELEMENTS = 64
const HASH_BYTES = 20

/** Whether an index can be tallied. The documents must also have arrays there, which only writes show. */
export const canTally = ({ fields, descending, unique, sparse, filter, collation }: Index): boolean =>
  fields.length > 1 &&
  !fields[0]?.includes('.') &&
  descending[0] === false &&
  !(unique || sparse || filter || collation)

/** Elements are identified by the bytes with which their keys begin, after the index's space. */
interface TalliedArray {
  elements: Buffer[]
  hash: Buffer
}

/** A cache for arrays of texts, by these texts. */
const arraysByText = new Map<string, TalliedArray>()
const MAX_TALLIES = 1000

const talliedArrayIn = (index: Index, document: Document): TalliedArray | undefined => {
  const array = getMember(document, index.fields[0] as string)
  if (!Array.isArray(array) || array.length > MAX_ELEMENTS) return undefined
  const name = array.every((element) => typeof element === 'string') ? JSON.stringify(array) : undefined
  const cachedArray = name === undefined ? undefined : arraysByText.get(name)
  if (cachedArray) return cachedArray
  const texts = array.map((element) => beginningOf(index, element).toString('latin1'))
  const elements = [...new Set(texts)].sort().map((text) => Buffer.from(text, 'latin1'))
  const hash = createHash('sha1')
  for (const element of elements) hash.update(element)
  const talliedArray = { elements, hash: hash.digest() }
  if (arraysByText.size === MAX_TALLIES) arraysByText.clear()
  if (name !== undefined) arraysByText.set(name, talliedArray)
  return talliedArray
}

const beginningOf = (index: Index, element: unknown): Buffer =>
  encodeBound(index, [element ?? null]).subarray(SPACE_BYTES)

/**
 * The key of one array's count. It has the form of a collection's count, so transactions merge both in the
 * same way.
 */
const tallyKey = ({ space }: Index, hash: Buffer): Buffer =>
  keyInSpace(0, Buffer.concat([Buffer.from(`#${space} `), hash]))

/** The keys of all arrays that contain an element. */
const elementKey = ({ space }: Index, element: Buffer): Buffer =>
  keyInSpace(0, Buffer.concat([Buffer.from(`t${String(space).padStart(10, '0')}`), element]))

/**
 * Updates the tallies for a change from `before` to `now`; undefined: the document did not exist, or no
 * longer does.
 */
export const updateTallies = (
  view: WritableView,
  indexes: readonly Index[],
  before: Document | undefined,
  now: Document | undefined,
): void => {
  for (const index of indexes) {
    if (!index.tallied) continue
    if (!index.ready) {
      // The build of the index may have counted this document already, or not. A transaction cannot know.
      setFlag(view, index, 'untallied')
      continue
    }
    const old = before && talliedArrayIn(index, before)
    const fresh = now && talliedArrayIn(index, now)
    // An array that cannot be tallied sets the flag. The other arrays stay counted, because this write may be
    // undone.
    if (now && !fresh) setFlag(view, index, 'untallied')
    if (old && fresh?.hash.equals(old.hash)) continue
    if (old) changeTally(view, index, old, -1)
    if (fresh) changeTally(view, index, fresh, 1)
  }
}

/** Counts a document that is older than the index. */
export const tallyExistingDocument = (
  view: WritableView,
  indexes: readonly Index[],
  document: Document,
): void => {
  for (const index of indexes) {
    if (!index.tallied) continue
    const talliedArray = talliedArrayIn(index, document)
    if (talliedArray) changeTally(view, index, talliedArray, 1)
    else setFlag(view, index, 'untallied')
  }
}

const changeTally = (
  view: WritableView,
  index: Index,
  { elements, hash }: TalliedArray,
  difference: number,
): void => {
  const key = tallyKey(index, hash)
  const count = view.get(key)
  if (!count)
    for (const element of elements) view.put(elementKey(index, Buffer.concat([element, hash])), NOTHING)
  view.put(key, Buffer.from(String(Number(count ?? 0) + difference)))
}

const NOTHING = Buffer.alloc(0)

/** Whether the tallies of an index include all of its documents. */
export const isTallied = ({ ready, tallied, untallied }: Index): boolean => ready && tallied && !untallied

/** The bounds of all tallies of an index. */
export const tallyBounds = (space: number): [Buffer, Buffer][] =>
  [`#${space} `, `t${String(space).padStart(10, '0')}`].map((prefix) => {
    const low = keyInSpace(0, Buffer.from(prefix))
    return [low, endOfPrefix(low)]
  })

/** Recounts documents and compares the result with the stored tallies. */
export class TallyCheck {
  readonly #index: Index
  readonly #counts = new Map<string, number>()

  constructor(index: Index) {
    this.#index = index
  }

  add(document: Document): void {
    const hash = talliedArrayIn(this.#index, document)?.hash.toString('latin1') ?? ''
    this.#counts.set(hash, (this.#counts.get(hash) ?? 0) + 1)
  }

  /** @throws if a stored tally differs */
  compare(view: View): void {
    const { name, space } = this.#index
    const [bounds] = tallyBounds(space)
    let left = this.#counts.size
    for (const { key, value } of view.range(...(bounds as [Buffer, Buffer]))) {
      const count = this.#counts.get(key.toString('latin1', key.length - HASH_BYTES))
      if (Number(value) !== (count ?? 0)) throw new Error(`the index ${name} has a wrong count`)
      if (count !== undefined) left--
    }
    if (left > 0) throw new Error(`the index ${name} does not count all documents`)
  }
}

/**
 * The number of documents that have any of these elements.
 * @param starts the prefixes of the elements' keys in the index
 */
export const countTallied = (view: View, index: Index, starts: readonly Buffer[]): number => {
  const hashes = new Set<string>()
  const visitor: Visitor = (bytes, _, end) => {
    hashes.add(Buffer.from(bytes.subarray(end - HASH_BYTES, end)).toString('latin1'))
    return true
  }
  for (const start of starts) {
    const low = elementKey(index, start.subarray(SPACE_BYTES))
    view.visit(low, endOfPrefix(low), false, Number.POSITIVE_INFINITY, visitor)
  }
  let count = 0
  for (const hash of hashes) count += Number(view.get(tallyKey(index, Buffer.from(hash, 'latin1'))) ?? 0)
  return count
}
