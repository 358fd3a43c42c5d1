import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type Collection, type Db, type IndexDescription, MongoServerError } from 'mongodb'

type IndexedCollection = Pick<Collection, 'listIndexes' | 'createIndexes' | 'dropIndex'>
type NamedIndex = IndexDescription & { name: string }

/** By default a build, and so the start, would wait for a member of the replica set that is down. */
export const INDEX_BUILD_OPTIONS = { commitQuorum: 'majority' } as const

/** Codes of conflicts with another instance that starts at the same time and changes the same index. */
const CONCURRENT_CHANGE_CODES = new Set<unknown>([27, 85, 86, 276, 12_587])
const MAX_RETRIES = 10

/**
 * Brings the indexes of a collection in line with their declarations. A changed index is created under
 * another name before the old one is dropped, so no query lacks an index. Several instances may run this at
 * once. An index that is a prefix of another one is dropped, because it only slows down writes.
 * @param tell called before an index is created in an existing collection: that may take minutes
 */
export async function syncIndexes(
  collection: IndexedCollection,
  declarations: readonly IndexDescription[],
  tell: (index: string) => Promise<void> = async () => {},
): Promise<void> {
  const requiredIndexes = declarations
    .filter((one) => !declarations.some(hasPrefix(one)))
    .map(withDefaultName)
  for (let meetings = 0; ; meetings++) {
    try {
      return await syncIndexesOnce(collection, requiredIndexes, tell)
    } catch (error) {
      const isConflict = error instanceof MongoServerError && CONCURRENT_CHANGE_CODES.has(error.code)
      if (!isConflict || meetings === MAX_RETRIES) throw error
    }
  }
}

async function syncIndexesOnce(
  collection: IndexedCollection,
  declarations: readonly NamedIndex[],
  tell: (index: string) => Promise<void>,
): Promise<void> {
  // A missing collection has no indexes; creating the first index creates it.
  const present = (await collection.listIndexes().toArray().catch(ignoreErrorCode(26))) ?? []
  if (present.length === 0 && declarations.length > 0) {
    await collection.createIndexes([...declarations], INDEX_BUILD_OPTIONS)
    return
  }
  // MongoDB also lists an index that another instance is still building. Creating it again waits for that.
  const current = declarations.flatMap((index) => {
    const presentIndex = present.find((one) => hasNameOfIndex(one.name, index) && isSameIndex(one, index))
    return presentIndex ? [{ ...index, name: presentIndex.name }] : []
  })
  if (current.length > 0) await collection.createIndexes(current, INDEX_BUILD_OPTIONS)
  const foreign = present.filter(({ name }) => !declarations.some((index) => hasNameOfIndex(name, index)))
  for (const index of declarations) {
    const versions = present.filter(({ name }) => hasNameOfIndex(name, index))
    const old = versions.filter((one) => !isSameIndex(one, index))
    if (old.length === versions.length) {
      const isNameTaken = old.some(({ name }) => name === index.name)
      const name = isNameTaken ? `${index.name}@${definitionDigest(index)}` : index.name
      await tell(name)
      await createOrReplaceIndex(collection, { ...index, name }, [...old, ...foreign])
    }
    for (const { name } of old) await dropIndexIfPresent(collection, name)
  }
  for (const one of present)
    if (declarations.some(hasPrefix(one))) await dropIndexIfPresent(collection, one.name)
}

/** The name belongs to a current or former version of the declared index. */
const hasNameOfIndex = (name: string, index: NamedIndex): boolean =>
  name === index.name || name.startsWith(`${index.name}@`)

/** Tests whether another index starts with the same fields, and contains every document. */
const hasPrefix =
  (one: IndexDescription) =>
  (other: IndexDescription): boolean => {
    const fields = keyFieldsOf(one)
    const more = keyFieldsOf(other)
    const begins = fields.length < more.length && isDeepStrictEqual(fields, more.slice(0, fields.length))
    return (
      begins && !one.collation && hasDefaultOptions(one) && hasDefaultOptions({ ...other, unique: false })
    )
  }

const hasDefaultOptions = (index: IndexDescription): boolean =>
  isDeepStrictEqual(comparableOptions(index), comparableOptions({ key: {} }))

/** Creates a collection without indexes: some databases cannot create one within a transaction. */
export async function createCollection(db: Db, name: string): Promise<void> {
  await db.createCollection(name).catch(ignoreErrorCode(48))
}

const ignoreErrorCode = (code: number) => (error: unknown) => {
  if (!(error instanceof MongoServerError && error.code === code)) throw error
}

/** Creates an index. Where MongoDB allows no second one with its key, the other one is dropped first. */
async function createOrReplaceIndex(
  collection: IndexedCollection,
  index: NamedIndex,
  otherIndexes: readonly NamedIndex[],
): Promise<void> {
  try {
    await collection.createIndexes([index], INDEX_BUILD_OPTIONS)
  } catch (error) {
    const sameKey = otherIndexes.filter((one) => isDeepStrictEqual(keyFieldsOf(one), keyFieldsOf(index)))
    if (!(error instanceof MongoServerError && error.code === 85) || sameKey.length === 0) throw error
    for (const { name } of sameKey) await dropIndexIfPresent(collection, name)
    await collection.createIndexes([index], INDEX_BUILD_OPTIONS)
  }
}

const dropIndexIfPresent = (collection: IndexedCollection, name: string): Promise<unknown> =>
  collection.dropIndex(name).catch(ignoreErrorCode(27))

/** Adds the name that MongoDB would generate. */
const withDefaultName = (index: IndexDescription): NamedIndex => ({
  name: keyFieldsOf(index).flat().join('_'),
  ...index,
})

const keyFieldsOf = ({ key }: Pick<IndexDescription, 'key'>): [field: string, direction: unknown][] =>
  key instanceof Map ? [...key] : Object.entries(key)

/** The properties that distinguish an index from another one. */
const comparableDefinition = (index: IndexDescription) => [keyFieldsOf(index), ...comparableOptions(index)]

const comparableOptions = (index: IndexDescription) => [
  [index.unique, index.sparse].map(Boolean),
  [index.partialFilterExpression, index.expireAfterSeconds].map((option) => option ?? null),
]

const isSameIndex = (one: NamedIndex, other: NamedIndex): boolean =>
  isDeepStrictEqual(comparableDefinition(one), comparableDefinition(other))

const definitionDigest = (index: NamedIndex): string =>
  createHash('sha256')
    .update(JSON.stringify(comparableDefinition(index)))
    .digest('hex')
    .slice(0, 8)
