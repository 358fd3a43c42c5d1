/** Checks that the catalogue, the counts, the records and the indexes of a data file match. */
import { decode } from '../values/bson-values.ts'
import { type Catalog, type Collection, keyInSpace, spaceBounds } from './collections/catalog.ts'
import type { Index } from './collections/indexes.ts'
import { countRecords, discardedSpaces, scanRecords, storedEntries } from './collections/records.ts'
import { isTallied, TallyCheck } from './collections/tallies.ts'
import type { View } from './disk/overlay.ts'

const nothing = Buffer.alloc(0)

/** An index that has exactly one entry for each document. */
const isTotal = ({ ready, multikey, sparse, filter }: Index): boolean =>
  ready && !multikey && !sparse && filter === undefined

/** Compares the stored counts with the numbers of entries; takes milliseconds. @throws if they differ */
export const verifyCounts = (view: View, catalog: Catalog): void => {
  const owners = new Set([0, ...discardedSpaces(view)])
  for (const collection of catalog.list()) {
    const documents = countRecords(view, collection)
    for (const owner of [collection, ...collection.indexes]) owners.add(owner.space)
    for (const owner of [collection, ...collection.indexes.filter(isTotal)]) {
      const entryCount = view.count(...spaceBounds(owner.space))
      if (entryCount !== documents)
        throw new Error(`${nameOf(collection, owner)} has ${entryCount} entries for ${documents} documents`)
    }
  }
  for (let space = firstSpace(view, 0); space !== undefined; space = firstSpace(view, space + 1))
    if (!owners.has(space)) throw new Error('it contains data of no collection')
}

const nameOf = (collection: Collection, owner: Collection | Index): string =>
  owner === collection ? collection.ns : `the index ${owner.name} of ${collection.ns}`

const firstSpace = (view: View, from: number): number | undefined => {
  for (const { key } of view.range(keyInSpace(from, nothing), keyInSpace(0xffffffff, nothing)))
    return key.readUInt32BE(0)
  return undefined
}

/** Reads every record and looks for each of its index entries. @throws on the first mismatch */
export const verifyAll = (view: View, catalog: Catalog): void => {
  verifyCounts(view, catalog)
  for (const collection of catalog.list()) {
    const indexes = collection.indexes.filter(({ ready }) => ready)
    const entries = new Map(indexes.map((index) => [index, 0]))
    const tallyChecks = indexes.filter(isTallied).map((index) => new TallyCheck(index))
    for (const { id, bytes } of scanRecords(view, collection)) {
      if (bytes.length < 5 || bytes.readInt32LE(0) !== bytes.length)
        throw new Error(`a record of ${collection.ns} is incomplete`)
      const document = decode(bytes)
      for (const tallies of tallyChecks) tallies.add(document)
      for (const { index, key, value } of storedEntries(indexes, id, document)) {
        if (!view.get(key)?.equals(value))
          throw new Error(`the index ${index.name} of ${collection.ns} lacks a document`)
        entries.set(index, (entries.get(index) ?? 0) + 1)
      }
    }
    for (const tallies of tallyChecks) tallies.compare(view)
    for (const [index, count] of entries)
      if (view.count(...spaceBounds(index.space)) !== count)
        throw new Error(`the index ${index.name} of ${collection.ns} has more entries than documents`)
  }
}
