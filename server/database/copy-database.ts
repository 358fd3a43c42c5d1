import { createHash } from 'node:crypto'
import { BSON, type Collection, type Db, type Document, type IndexDescriptionInfo } from 'mongodb'
import { listCollectionNames } from '../../records/store/documents/database.ts'
import { createCollection, INDEX_BUILD_OPTIONS } from '../../records/store/documents/indexes.ts'

/** Progress of copying one collection. */
export interface CopyProgress {
  collection: string
  documents: number
  total: number
}

/** Count and digest of a collection. The digest changes with any byte and does not depend on the order. */
export interface CollectionContents {
  documents: number
  digest: string
}

/** Mark in the target while the copy is incomplete. */
interface CopyMark {
  _id: 'copy'
  /** Identity of the source. */
  of: string
}

const copyMarksOf = (target: Db) => target.collection<CopyMark>('copy.underway')

/** Whether an interrupted copy waits to be continued. */
export const hasUnfinishedCopy = async (target: Db): Promise<boolean> =>
  (await copyMarksOf(target).findOne({ _id: 'copy' })) !== null

/** Declares a copy complete. An attempt that was interrupted before can be repeated. */
export const finishCopy = async (target: Db): Promise<void> => {
  await copyMarksOf(target).drop()
}

/** The collection with the kind of a database. No service starts without it, so it is copied last. */
const LAST_COLLECTION = 'environment'

/** Maximum documents and bytes per batch. */
const MAX_BATCH = { documents: 1000, bytes: 8_000_000 }

/**
 * Copies a database that nobody changes meanwhile, with its indexes, and compares the result. Continues an
 * earlier attempt. Documents start to expire after the comparison. Nothing uses the target before `finishCopy`.
 * @throws Error when the target contains other data, or differs in the end
 */
export async function copyDatabase(
  source: Db,
  target: Db,
  tell: (progress: CopyProgress) => void,
): Promise<Map<string, CollectionContents>> {
  const names = await collectionsOf(source)
  if (!names.includes(LAST_COLLECTION)) throw new Error('The source contains no data of the service.')
  await claimTarget(target, await identifySource(source), [...names, copyMarksOf(target).collectionName])
  const contentsByName = new Map<string, CollectionContents>()
  for (const name of names) {
    const from = source.collection(name)
    const to = target.collection(name)
    await createCollection(target, name)
    await dropExpiringIndexes(to)
    const sourceContents = await copyDocuments(from, to, tell)
    const indexes = (await from.listIndexes().toArray()).filter(({ name }) => name !== '_id_')
    await copyIndexes(
      to,
      indexes.filter(({ expireAfterSeconds }) => expireAfterSeconds === undefined),
    )
    const targetContents = await readContents(to)
    if (
      targetContents.documents !== sourceContents.documents ||
      targetContents.digest !== sourceContents.digest
    )
      throw new Error(`The collection ${name} differs in the target. Empty the target and move again.`)
    contentsByName.set(name, targetContents)
  }
  for (const name of names) {
    const indexes = await source.collection(name).listIndexes().toArray()
    await copyIndexes(
      target.collection(name),
      indexes.filter((one) => one.expireAfterSeconds !== undefined),
    )
  }
  return contentsByName
}

async function collectionsOf(db: Db): Promise<string[]> {
  const names = await listCollectionNames(db)
  return [
    ...names.filter((name) => name !== LAST_COLLECTION).sort(),
    ...names.filter((name) => name === LAST_COLLECTION),
  ]
}

/** Identifies the data directory, independent of later writes. */
async function identifySource(source: Db): Promise<string> {
  const environment = await source.collection(LAST_COLLECTION).find().sort({ _id: 1 }).toArray()
  return createHash('sha256').update(BSON.EJSON.stringify(environment)).digest('hex')
}

/** @throws Error when the target contains data other than a copy of this source */
async function claimTarget(target: Db, source: string, expected: readonly string[]): Promise<void> {
  const mark = await copyMarksOf(target).findOne({ _id: 'copy' })
  const targetNames = await collectionsOf(target)
  const foreign = mark ? targetNames.filter((name) => !expected.includes(name)) : targetNames
  if (foreign.length > 0 || (mark && mark.of !== source))
    throw new Error(
      `The target contains other data (${foreign.slice(0, 3).join(', ') || 'a copy of another database'}). Use an empty database.`,
    )
  if (!mark) await copyMarksOf(target).insertOne({ _id: 'copy', of: source })
}

const EXACT_READ_OPTIONS = {
  promoteValues: false,
  promoteLongs: false,
  promoteBuffers: false,
  bsonRegExp: true,
} as const

/** @returns contents of the source */
async function copyDocuments(
  from: Collection,
  to: Collection,
  tell: (progress: CopyProgress) => void,
): Promise<CollectionContents> {
  const total = await from.estimatedDocumentCount()
  const sum = new ContentsDigest()
  for await (const batch of readBatches(from)) {
    const documents = batch.map((bytes) => BSON.deserialize(sum.add(bytes), EXACT_READ_OPTIONS))
    const ids = { _id: { $in: documents.map(({ _id }) => _id) } }
    const there = await to.find(ids as object, { projection: { _id: 1 }, ...EXACT_READ_OPTIONS }).toArray()
    const existingKeys = new Set(there.map(documentKeyOf))
    const missing = documents.filter((document) => !existingKeys.has(documentKeyOf(document)))
    if (missing.length > 0) await to.insertMany(missing as never[], EXACT_READ_OPTIONS)
    tell({ collection: from.collectionName, documents: sum.documents, total: total })
  }
  return sum.contents
}

const documentKeyOf = ({ _id }: Document): string => Buffer.from(BSON.serialize({ _id })).toString('base64')

async function* readBatches(collection: Collection): AsyncGenerator<Uint8Array[]> {
  let batch: Uint8Array[] = []
  let bytes = 0
  // Keeps the order of insertion.
  const documents = collection.find({}, { raw: true, batchSize: MAX_BATCH.documents })
  for await (const document of documents as unknown as AsyncIterable<Uint8Array>) {
    batch.push(document)
    bytes += document.length
    if (batch.length < MAX_BATCH.documents && bytes < MAX_BATCH.bytes) continue
    yield batch
    ;[batch, bytes] = [[], 0]
  }
  if (batch.length > 0) yield batch
}

async function readContents(collection: Collection): Promise<CollectionContents> {
  const sum = new ContentsDigest()
  for await (const batch of readBatches(collection)) for (const document of batch) sum.add(document)
  return sum.contents
}

class ContentsDigest {
  documents = 0
  readonly #digest = Buffer.alloc(32)

  add(document: Uint8Array): Uint8Array {
    this.documents += 1
    const hash = createHash('sha256').update(withIdFirst(document)).digest()
    for (let i = 0; i < hash.length; i++) this.#digest[i] = (this.#digest[i] as number) ^ (hash[i] as number)
    return document
  }

  get contents(): CollectionContents {
    return { documents: this.documents, digest: this.#digest.toString('hex') }
  }
}

/** MongoDB stores the `_id` first; earlier versions of the embedded engine kept the order of a replacement. */
function withIdFirst(document: Uint8Array): Uint8Array {
  if (Buffer.from(document).toString('latin1', 5, 9) === '_id\0') return document
  const { _id, ...rest } = BSON.deserialize(document, EXACT_READ_OPTIONS)
  return BSON.serialize(new Map([['_id', _id], ...Object.entries(rest)]))
}

/** Those of an interrupted attempt would delete documents before the comparison. */
async function dropExpiringIndexes(collection: Collection): Promise<void> {
  for (const { name, expireAfterSeconds } of await collection.listIndexes().toArray())
    if (expireAfterSeconds !== undefined) await collection.dropIndex(name)
}

async function copyIndexes(collection: Collection, indexes: readonly IndexDescriptionInfo[]): Promise<void> {
  // Drops fields that the source adds itself.
  const descriptions = indexes.map(({ v: _, ns: __, ...index }: Document) => index)
  if (descriptions.length > 0) await collection.createIndexes(descriptions as never[], INDEX_BUILD_OPTIONS)
}
