/** Indexes: builds them in slices, lists and drops them. */
import type { Document } from 'bson'
import type { Collection } from '../storage/collections/catalog.ts'
import { buildIndex, type Index } from '../storage/collections/indexes.ts'
import { fillIndexes } from '../storage/collections/records.ts'
import { canTally } from '../storage/collections/tallies.ts'
import type { WritableView } from '../storage/disk/overlay.ts'
import { findOnlyIndex } from '../storage/queries/planner.ts'
import { encode, isNullish, isObject, isTruthy } from '../values/bson-values.ts'
import { fail } from '../values/errors.ts'
import { readInteger } from '../values/numbers.ts'
import { checkEach, checkKnown, flag, wrongType } from '../values/options/option-types.ts'
import { type Command, type CommandContext, cursorReply, targetCollection } from './context.ts'

const createIndexes: Command = {
  options: 'indexes commitQuorum',
  async run(context) {
    const { engine, db, command } = context
    const specs: Document[] =
      Array.isArray(command.indexes) && command.indexes.every(isObject)
        ? command.indexes
        : isNullish(command.indexes)
          ? fail(40414, "BSON field 'createIndexes.indexes' is missing but a required field")
          : fail(14, "BSON field 'createIndexes.indexes' must be an array of objects")
    if (specs.length === 0) fail(2, 'Must specify at least one index to create')
    const { ns, collection: existing } = targetCollection(context, 'createIndexes')
    await engine.ensure(db, command.createIndexes)
    const [numIndexesBefore, numIndexesAfter] = await engine.runIndexBuild(ns, () =>
      buildIndexes(context, ns, specs),
    )
    const note = numIndexesAfter === numIndexesBefore ? { note: 'all indexes already exist' } : {}
    return { numIndexesBefore, numIndexesAfter, createdCollectionAutomatically: !existing, ...note, ok: 1 }
  },
}

/** Registers the indexes, so that writers update them, and fills them in slices. */
const buildIndexes = async (
  context: CommandContext,
  ns: string,
  specs: Document[],
): Promise<[number, number]> => {
  const { engine, timer } = context
  let [before, newIndexes, lastId]: [number, Index[], Buffer | undefined] = [0, [], undefined]
  const register = (view: WritableView, collection: Collection): Collection => {
    before = collection.indexes.length
    const fresh = engine.catalog.newIndexes(collection, specs)
    if (fresh.length === 0) return collection
    newIndexes = []
    for (const spec of fresh) {
      const hasTallies = isFirstToTally(spec, [...collection.indexes, ...newIndexes])
      newIndexes.push({ ...engine.catalog.newIndex(view, spec, hasTallies), ready: false })
    }
    lastId = fillIndexes(view, collection, newIndexes, undefined, timer)
    return engine.catalog.setIndexes(view, collection, [...collection.indexes, ...newIndexes])
  }
  const updatedCollection = await engine.changeDefinition(ns, register, { timer })
  if (newIndexes.length > 0) await completeIndexes(context, updatedCollection, newIndexes, lastId)
  return [before, updatedCollection.indexes.length]
}

/** One tallied index for each first field is enough. */
const isFirstToTally = (spec: Document, otherIndexes: readonly Index[]): boolean => {
  const index = buildIndex(spec, 0)
  const isAlike = ({ tallied, untallied, fields }: Index) =>
    tallied && !untallied && fields[0] === index.fields[0]
  return canTally(index) && !otherIndexes.some(isAlike)
}

/**
 * The number of slices queued at once. One commit writes them all, since a commit takes longer than a slice.
 */
const SLICES_PER_COMMIT = 6

/** Fills the rest of the indexes in slices. Queries may use an index only when all its entries are on disk. */
const completeIndexes = async (
  { engine, timer }: CommandContext,
  { ns, uuid }: Collection,
  newIndexes: Index[],
  first: Buffer | undefined,
): Promise<void> => {
  const current = (): Collection => {
    const collection = engine.catalog.find(ns)
    const isThere =
      collection?.uuid === uuid && newIndexes.every((index) => collection.indexes.includes(index))
    return isThere
      ? collection
      : fail(276, `the collection ${ns} or the index was dropped while it was built`)
  }
  let from = first
  const fill = (view: WritableView): void => {
    if (from) from = fillIndexes(view, current(), newIndexes, from, timer)
  }
  try {
    while (from) {
      await timer.pause()
      await Promise.all(Array.from({ length: SLICES_PER_COMMIT }, () => engine.write(fill, timer)))
    }
    await engine.write((view) => {
      const collection = current()
      for (const index of newIndexes) index.ready = true
      engine.catalog.setIndexes(view, collection, [...collection.indexes])
    })
  } catch (error) {
    await engine
      .changeDefinition(ns, (view, collection) => engine.dropIndexes(view, collection, newIndexes))
      .catch(() => {})
    throw error
  }
}

const listIndexes: Command = {
  options: 'cursor includeBuildUUIDs includeIndexBuildInfo',
  async run(context) {
    const { engine, timer, command, owner } = context
    const { ns } = targetCollection(context, 'listIndexes')
    checkEach(command, 'listIndexes', { includeBuildUUIDs: flag, includeIndexBuildInfo: flag })
    if (isTruthy(command.includeIndexBuildInfo))
      fail(115, 'includeIndexBuildInfo is not supported by this engine')
    const size = batchSizeOf(command.cursor, 'listIndexes')
    const documents = engine.catalog.get(ns).indexes.map(({ spec }) => encode(spec))
    return cursorReply(await engine.cursors.start({ ns, documents, timer, owner }, size), 'firstBatch')
  },
}

const dropIndexes: Command = {
  options: 'index',
  async run(context) {
    const { engine, command, timer } = context
    const { ns } = targetCollection(context, 'dropIndexes')
    if (command.index === undefined)
      fail(40414, "BSON field 'dropIndexes.index' is missing but a required field")
    const nIndexesWas = engine.catalog.get(ns).indexes.length
    const drop = (view: WritableView, collection: Collection) =>
      engine.dropIndexes(view, collection, indexesToDrop(collection, command.index))
    await engine.changeDefinition(ns, drop, { timer })
    return { nIndexesWas, ok: 1 }
  },
}

/** The size of the first batch, from the `cursor` option of a list command. */
export const batchSizeOf = (cursor: unknown, name: string, otherwise = 1e6): number => {
  if (isNullish(cursor)) return otherwise
  if (!isObject(cursor)) return wrongType(`${name}.cursor`, 'object')
  checkKnown(cursor, `${name}.cursor`, ['batchSize'])
  return readInteger(cursor.batchSize, `${name}.cursor.batchSize`, otherwise)
}

const indexesToDrop = (collection: Collection, selection: unknown): Index[] => {
  if (selection === '*' || (Array.isArray(selection) && selection.includes('*')))
    return collection.indexes.filter(({ name }) => name !== '_id_')
  const names = Array.isArray(selection) ? selection : [selection]
  if (!names.every((name) => typeof name === 'string' || (isObject(name) && !Array.isArray(selection))))
    fail(14, "BSON field 'dropIndexes.index' is the wrong type, expected types '[string, object]'")
  if (new Set(names).size < names.length) fail(27, 'two indexes have the same name')
  return names.map((name) => {
    const index =
      findOnlyIndex(collection, name) ??
      fail(27, `index not found with name [${typeof name === 'string' ? name : JSON.stringify(name)}]`)
    if (index.name === '_id_') fail(72, 'cannot drop _id index')
    return index
  })
}

export const indexes: Record<string, Command> = {
  createIndexes,
  listIndexes,
  dropIndexes,
  deleteIndexes: dropIndexes,
}
