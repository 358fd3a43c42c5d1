import { createHash } from 'node:crypto'
import {
  BSON,
  type Collection,
  type Db,
  type Document,
  type IndexDescriptionInfo,
  MongoServerError,
} from 'mongodb'

/** How far a copy is, of one collection. */
export interface Progress {
  collection: string
  documents: number
  of: number
}

/** All documents of a collection: how many, and what changes when a single byte of one does, in whatever order they lie. */
export interface Contents {
  documents: number
  digest: string
}

/** What a target has as long as its copy is not complete. */
interface Mark {
  _id: 'copy'
  /** What the data are a copy of. */
  of: string
}

const markOf = (target: Db) => target.collection<Mark>('copy.underway')

/** It says of which kind a database is: without it no service starts. It comes last. */
const LAST = 'environment'

/** Documents that are sent at a time, and their bytes. */
const MOST = { documents: 1000, bytes: 8_000_000 }

/**
 * Makes a database a copy of another one that nobody changes meanwhile, indexes and all, and compares them in the end.
 * What an earlier attempt has copied stays. Expiring documents begin to expire when everything has been compared.
 * @throws Error when the target holds anything else, or is different in the end
 */
export async function copyDatabase(
  source: Db,
  target: Db,
  tell: (progress: Progress) => void,
): Promise<Map<string, Contents>> {
  const names = await collectionsOf(source)
  if (!names.includes(LAST)) throw new Error('There are no data of the service to copy')
  await claim(target, await identityOf(source), [...names, markOf(target).collectionName])
  const copied = new Map<string, Contents>()
  for (const name of names) {
    const [from, to] = [source.collection(name), target.collection(name)]
    await target.createCollection(name).catch(unlessCode(48))
    const wanted = await copyDocuments(from, to, tell)
    const indexes = (await from.listIndexes().toArray()).filter(({ name }) => name !== '_id_')
    await makeIndexes(
      to,
      indexes.filter(({ expireAfterSeconds }) => expireAfterSeconds === undefined),
    )
    const found = await contentsOf(to)
    if (found.documents !== wanted.documents || found.digest !== wanted.digest)
      throw new Error(`${name} is not the same in the target: empty the target, and move again`)
    copied.set(name, found)
  }
  for (const name of names) {
    const indexes = await source.collection(name).listIndexes().toArray()
    await makeIndexes(
      target.collection(name),
      indexes.filter((one) => one.expireAfterSeconds !== undefined),
    )
  }
  await markOf(target).drop()
  return copied
}

async function collectionsOf(db: Db): Promise<string[]> {
  const found = await db.listCollections({}, { nameOnly: true }).toArray()
  const names = found.map(({ name }) => name).filter((name) => !name.startsWith('system.'))
  return [...names.filter((name) => name !== LAST).sort(), ...names.filter((name) => name === LAST)]
}

/** The same for the same data directory, whatever has been written since. */
async function identityOf(source: Db): Promise<string> {
  const environment = await source.collection(LAST).find().sort({ _id: 1 }).toArray()
  return createHash('sha256').update(BSON.EJSON.stringify(environment)).digest('hex')
}

/** @throws Error when the target holds anything that is no copy of these data */
async function claim(target: Db, of: string, expected: readonly string[]): Promise<void> {
  const mark = await markOf(target).findOne({ _id: 'copy' })
  const found = await collectionsOf(target)
  const foreign = mark ? found.filter((name) => !expected.includes(name)) : found
  if (foreign.length > 0 || (mark && mark.of !== of))
    throw new Error(
      `The target holds other data (${foreign.slice(0, 3).join(', ') || 'a copy of others'}): use an empty database`,
    )
  if (!mark) await markOf(target).insertOne({ _id: 'copy', of })
}

const exactly = {
  ...{ promoteValues: false, promoteLongs: false, promoteBuffers: false, bsonRegExp: true },
} as const

/** @returns what the source holds */
async function copyDocuments(
  from: Collection,
  to: Collection,
  tell: (progress: Progress) => void,
): Promise<Contents> {
  const of = await from.estimatedDocumentCount()
  const sum = new Sum()
  for await (const batch of batchesOf(from)) {
    const documents = batch.map((bytes) => BSON.deserialize(sum.add(bytes), exactly))
    const ids = { _id: { $in: documents.map(({ _id }) => _id) } }
    const there = await to.find(ids as object, { projection: { _id: 1 }, ...exactly }).toArray()
    const known = new Set(there.map(keyOf))
    const missing = documents.filter((document) => !known.has(keyOf(document)))
    if (missing.length > 0) await to.insertMany(missing as never[], exactly)
    tell({ collection: from.collectionName, documents: sum.documents, of })
  }
  return sum.contents
}

const keyOf = ({ _id }: Document): string => Buffer.from(BSON.serialize({ _id })).toString('base64')

async function* batchesOf(collection: Collection): AsyncGenerator<Uint8Array[]> {
  let batch: Uint8Array[] = []
  let bytes = 0
  // In the order in which they were written, which the copy keeps.
  const found = collection.find({}, { raw: true, batchSize: MOST.documents })
  for await (const document of found as unknown as AsyncIterable<Uint8Array>) {
    batch.push(document)
    bytes += document.length
    if (batch.length < MOST.documents && bytes < MOST.bytes) continue
    yield batch
    ;[batch, bytes] = [[], 0]
  }
  if (batch.length > 0) yield batch
}

async function contentsOf(collection: Collection): Promise<Contents> {
  const sum = new Sum()
  for await (const batch of batchesOf(collection)) for (const document of batch) sum.add(document)
  return sum.contents
}

class Sum {
  documents = 0
  readonly #digest = Buffer.alloc(32)

  add(document: Uint8Array): Uint8Array {
    this.documents += 1
    const hash = createHash('sha256').update(document).digest()
    for (let i = 0; i < hash.length; i++) this.#digest[i] = (this.#digest[i] as number) ^ (hash[i] as number)
    return document
  }

  get contents(): Contents {
    return { documents: this.documents, digest: this.#digest.toString('hex') }
  }
}

async function makeIndexes(collection: Collection, indexes: readonly IndexDescriptionInfo[]): Promise<void> {
  // What the source says of its own making.
  const declared = indexes.map(({ v: _, ns: __, ...index }: Document) => index)
  if (declared.length > 0) await collection.createIndexes(declared as never[])
}

const unlessCode = (code: number) => (error: unknown) => {
  if (!(error instanceof MongoServerError && error.code === code)) throw error
}
