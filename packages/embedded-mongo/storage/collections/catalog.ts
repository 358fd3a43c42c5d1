/** The catalogue: all collections and indexes, and the spaces (key prefixes) that hold their bytes. */
import { randomUUID } from 'node:crypto'
import { type Document, UUID } from 'bson'
import { decode, encode, toNumber } from '../../values/bson-values.ts'
import { fail } from '../../values/errors.ts'
import type { View, WritableView } from '../disk/overlay.ts'
import { alreadyExists, buildIndex, checkIndexSpec, type Index } from './indexes.ts'

export interface Collection {
  readonly ns: string
  readonly db: string
  readonly name: string
  readonly uuid: string
  readonly options: Document
  readonly space: number
  readonly indexes: readonly Index[]
  /** Raised by each change that makes older snapshots of this collection unreadable. */
  readonly version: number
}

const spaceKey = (space: number, rest: string | Buffer = ''): Buffer => {
  const tail = typeof rest === 'string' ? Buffer.from(rest) : rest
  const key = Buffer.allocUnsafe(4 + tail.length)
  key.writeUInt32BE(space)
  tail.copy(key, 4)
  return key
}

/** The bounds of all keys in a space. */
export const spaceBounds = (space: number): [Buffer, Buffer] => [spaceKey(space), spaceKey(space + 1)]

export const keyInSpace = (space: number, rest: Buffer): Buffer => spaceKey(space, rest)

const definitionKey = (ns: string): Buffer => spaceKey(0, `c${ns}`)
const counterKey = spaceKey(0, 'next space')

type Flag = 'multikey' | 'cut' | 'untallied' | 'uneven' | `array${number}` | `loss${number}`

const flagKey = (index: Index, flag: Flag): Buffer => spaceKey(0, `f${flag} ${index.space}`)

/**
 * Records a property of an index. It applies in memory at once: if the write is undone, plans are only more
 * careful than necessary.
 */
export const setFlag = (
  view: WritableView,
  index: Index,
  flag: 'multikey' | 'cut' | 'untallied' | 'uneven',
): void => {
  index[flag] = true
  storeFlag(view, index, flag)
}

/** Remembers that the flags of a view are on disk, so that later writes need not look for them again. */
export const markFlagsStored = ({ newFlags }: Pick<WritableView, 'newFlags'>): void => {
  for (const [index, flags] of newFlags ?? [])
    for (const flag of flags) (index as Index).storedFlags.add(flag)
}

/** Records that a document has an array in this component. */
export const recordArray = (view: WritableView, index: Index, component: number): void => {
  index.arrays?.add(component)
  storeFlag(view, index, `array${component}`)
}

/** Records that a key does not give back the value of this component. */
export const recordLoss = (view: WritableView, index: Index, component: number): void => {
  index.losses?.add(component)
  storeFlag(view, index, `loss${component}`)
}

const storeFlag = (view: WritableView, index: Index, flag: Flag): void => {
  if (index.storedFlags.has(flag)) return
  // A statement has many documents. Most of them raise no new flag.
  view.newFlags ??= new Map()
  const flags = view.newFlags.get(index) ?? new Set()
  if (flags.has(flag)) return
  view.newFlags.set(index, flags.add(flag))
  const key = flagKey(index, flag)
  if (!view.get(key)) view.put(key, Buffer.of(1))
}

/** @throws 73 */
export const checkNamespace = (db: string, name: unknown): string => {
  if (typeof name !== 'string') return fail(73, 'collection name has invalid type')
  if (name === '' || name.includes('\0') || name.includes('$') || name.startsWith('.') || name.endsWith('.'))
    fail(73, `Invalid namespace specified '${db}.${name}'`)
  if (name.startsWith('system.') && !name.startsWith('system.js'))
    fail(73, `Invalid system namespace: ${db}.${name}`)
  if (db === '' || /[ ."$/\\\0]/.test(db) || db.length > 63) fail(73, `Invalid database name: '${db}'`)
  if (Buffer.byteLength(`${db}.${name}`) > 255)
    fail(73, 'Fully qualified namespace is too long. Max: 255 bytes')
  return name
}

const MAX_INDEXES = 64

export class Catalog {
  #collections = new Map<string, Collection>()
  #nextSpace = 1
  #version = 0
  /** Spaces of indexes that are not unique. No space is ever used again. */
  readonly #entrySpaces = new Set<number>()

  load(view: View): void {
    this.#collections.clear()
    this.#nextSpace = Number(view.get(counterKey)?.toString() ?? 1)
    for (const { value } of view.range(definitionKey(''), spaceKey(0, 'd'))) {
      const collection = fromStored(view, decode(value))
      this.#keep(collection)
    }
  }

  #keep(collection: Collection): void {
    this.#collections.set(collection.ns, collection)
    for (const { unique, space } of collection.indexes) if (!unique) this.#entrySpaces.add(space)
  }

  /** Whether the content of a space is derived from records: it changes only together with one of them. */
  isDerived(space: number): boolean {
    return this.#entrySpaces.has(space)
  }

  /** Raised by each change of a collection's definition. */
  get version(): number {
    return this.#version
  }

  find(ns: string): Collection | undefined {
    return this.#collections.get(ns)
  }

  get(ns: string): Collection {
    return this.find(ns) ?? fail(26, `ns does not exist: ${ns}`)
  }

  list(db?: string): Collection[] {
    return [...this.#collections.values()].filter((collection) => db === undefined || collection.db === db)
  }

  /** @throws 48 if it exists, 13297 if its database exists with other capitals */
  create(view: WritableView, db: string, name: string, options: Document = {}): Collection {
    const ns = `${db}.${checkNamespace(db, name)}`
    if (this.find(ns)) fail(48, `Collection ${ns} already exists.`)
    this.#checkCase(db)
    const space = this.#allocate(view)
    const idIndex = buildIndex(
      { v: 2, key: { _id: 1 }, name: '_id_', ...(options.collation && { collation: options.collation }) },
      this.#allocate(view),
    )
    // A new collection is empty in every older snapshot, so version 0 disturbs no snapshot.
    const collection = { ns, db, name, uuid: randomUUID(), options, space, indexes: [idIndex], version: 0 }
    return this.#store(view, collection)
  }

  /** Two databases may not differ by case alone: on some disks their files would be the same. */
  #checkCase(db: string): void {
    const other = this.list().find((one) => one.db !== db && one.db.toLowerCase() === db.toLowerCase())
    if (other)
      fail(
        13297,
        `db already exists with different case already have: [${other.db}] trying to create [${db}]`,
      )
  }

  #allocate(view: WritableView): number {
    const space = this.#nextSpace++
    view.put(counterKey, Buffer.from(String(this.#nextSpace)))
    return space
  }

  #store(view: WritableView, collection: Collection): Collection {
    view.put(definitionKey(collection.ns), encode(toStored(collection)))
    this.#keep(collection)
    return collection
  }

  /** Returns the `specs` that do not exist yet. @throws 85, 86, 67, 197 */
  newIndexes(collection: Collection, specs: Document[]): Document[] {
    const existing = [...collection.indexes]
    const { collation } = collection.options
    const checkedSpecs = specs.map((spec) => checkIndexSpec(spec, collation))
    const fresh = checkedSpecs.filter((spec) => {
      if (alreadyExists(existing, spec)) return false
      existing.push(buildIndex(spec, 0))
      return true
    })
    if (existing.length > MAX_INDEXES) fail(67, `add index fails, too many indexes for ${collection.ns}`)
    return fresh
  }

  newIndex(view: WritableView, spec: Document, hasTallies: boolean): Index {
    return buildIndex(spec, this.#allocate(view), { tallied: hasTallies })
  }

  setIndexes(view: WritableView, collection: Collection, indexes: Index[]): Collection {
    return this.#store(view, { ...collection, indexes, version: ++this.#version })
  }

  drop(view: WritableView, collection: Collection): void {
    view.remove(definitionKey(collection.ns))
    this.#collections.delete(collection.ns)
    this.#version++
  }

  rename(view: WritableView, collection: Collection, db: string, name: string): void {
    this.#checkCase(db)
    this.drop(view, collection)
    this.#store(view, { ...collection, ns: `${db}.${name}`, db, name, version: ++this.#version })
  }
}

const toStored = ({ ns, db, name, uuid, options, space, indexes }: Collection): Document => ({
  ns,
  db,
  name,
  uuid,
  options,
  space,
  indexes: indexes.map(({ spec, space, ready, arrays, losses, uneven, tallied }) => ({
    spec,
    space,
    ...(arrays && { tracksArrays: true }),
    ...(losses && { tracksLosses: true }),
    ...(uneven !== undefined && { tracksElements: true }),
    ...(tallied && { tallied }),
    ...(!ready && { building: true }),
  })),
})

const fromStored = (view: View, definition: Document): Collection => ({
  ns: definition.ns,
  db: definition.db,
  name: definition.name,
  uuid: definition.uuid,
  options: definition.options,
  space: toNumber(definition.space),
  version: 0,
  indexes: (definition.indexes as Document[]).map(({ spec, space, building, ...options }) => {
    const tracksArrays = options.tracksArrays === true
    const tracksLosses = options.tracksLosses === true
    const tracksElements = options.tracksElements === true
    const tracks = { tracksArrays, tracksLosses, tracksElements, tallied: options.tallied === true }
    const index = buildIndex(spec, toNumber(space), tracks)
    index.ready = building !== true
    const isFlagSet = (flag: Flag): boolean => {
      if (view.get(flagKey(index, flag))) index.storedFlags.add(flag)
      return index.storedFlags.has(flag)
    }
    for (const flag of ['multikey', 'cut', 'untallied'] as const) index[flag] = isFlagSet(flag)
    if (tracksElements) index.uneven = isFlagSet('uneven')
    for (const component of index.fields.keys()) {
      if (isFlagSet(`array${component}`)) index.arrays?.add(component)
      if (isFlagSet(`loss${component}`)) index.losses?.add(component)
    }
    return index
  }),
})

/** A collection as listCollections shows it. */
export const describeCollection = (collection: Collection): Document => ({
  name: collection.name,
  type: 'collection',
  options: collection.options,
  info: { readOnly: false, uuid: new UUID(collection.uuid) },
  idIndex: collection.indexes[0]?.spec,
})
