import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type Collection, type Db, type IndexDescription, MongoServerError } from 'mongodb'

type Indexed = Pick<Collection, 'listIndexes' | 'createIndexes' | 'dropIndex'>
type Named = IndexDescription & { name: string }

/** Another instance, which starts at the same moment, came first or is at it. */
const MET = new Set<unknown>([27, 85, 86, 276, 12_587])
const MOST_MEETINGS = 10

/**
 * Makes the indexes of a collection what they are declared to be. An index that is declared otherwise now is made
 * under another name before the old one goes: no query is without one, and several instances may do it at once. One that
 * another begins with is not needed, and only makes every write dearer.
 * @param tell of each that is made in a collection that was there before: that may take minutes
 */
export async function makeIndexes(
  collection: Indexed,
  declared: readonly IndexDescription[],
  tell: (index: string) => Promise<void> = async () => {},
): Promise<void> {
  for (let meetings = 0; ; meetings++) {
    try {
      return await bringUpToDate(
        collection,
        declared.filter((one) => !declared.some(begunBy(one))).map(named),
        tell,
      )
    } catch (error) {
      const met = error instanceof MongoServerError && MET.has(error.code)
      if (!met || meetings === MOST_MEETINGS) throw error
    }
  }
}

async function bringUpToDate(
  collection: Indexed,
  declared: readonly Named[],
  tell: (index: string) => Promise<void>,
): Promise<void> {
  const present = await collection.listIndexes().toArray().catch(noneYet)
  if (present.length === 0 && declared.length > 0) {
    await collection.createIndexes([...declared])
    return
  }
  const foreign = present.filter(({ name }) => !declared.some((index) => isVersion(name, index)))
  for (const index of declared) {
    const versions = present.filter(({ name }) => isVersion(name, index))
    const old = versions.filter((one) => !isSame(one, index))
    if (old.length === versions.length) {
      const taken = old.some(({ name }) => name === index.name)
      const name = taken ? `${index.name}@${digestOf(index)}` : index.name
      await tell(name)
      await create(collection, { ...index, name }, [...old, ...foreign])
    }
    for (const { name } of old) await drop(collection, name)
  }
  for (const one of present) if (declared.some(begunBy(one))) await drop(collection, one.name)
}

/** Whether an index has this name because of a declared one, as it is or was. */
const isVersion = (name: string, index: Named): boolean =>
  name === index.name || name.startsWith(`${index.name}@`)

/** Tells the indexes that serve whatever another one does: they begin with its fields, and hold every document. */
const begunBy =
  (one: IndexDescription) =>
  (other: IndexDescription): boolean => {
    const [fields, more] = [fieldsOf(one), fieldsOf(other)]
    const begins = fields.length < more.length && isDeepStrictEqual(fields, more.slice(0, fields.length))
    return begins && !one.collation && isPlain(one) && isPlain({ ...other, unique: false })
  }

const isPlain = (index: IndexDescription): boolean =>
  isDeepStrictEqual(optionsOf(index), optionsOf({ key: {} }))

/** Makes a collection that has no index of its own: not every database makes one within a transaction. */
export async function makeCollection(db: Db, name: string): Promise<void> {
  await db.createCollection(name).catch((error: unknown) => {
    if (!(error instanceof MongoServerError && error.code === 48)) throw error
  })
}

/** The first index makes the collection. */
function noneYet(error: unknown): [] {
  if (error instanceof MongoServerError && error.code === 26) return []
  throw error
}

/**
 * Of the same key MongoDB allows not every two side by side: then the other one goes first, whether it was the declared one
 * or has a name that nobody declares.
 */
async function create(collection: Indexed, index: Named, others: readonly Named[]): Promise<void> {
  try {
    await collection.createIndexes([index])
  } catch (error) {
    const sameKey = others.filter((one) => isDeepStrictEqual(fieldsOf(one), fieldsOf(index)))
    if (!(error instanceof MongoServerError && error.code === 85) || sameKey.length === 0) throw error
    for (const { name } of sameKey) await drop(collection, name)
    await collection.createIndexes([index])
  }
}

const drop = (collection: Indexed, name: string): Promise<unknown> =>
  collection.dropIndex(name).catch((error: unknown) => {
    if (!(error instanceof MongoServerError && error.code === 27)) throw error
  })

/** With the name that MongoDB would give it. */
const named = (index: IndexDescription): Named => ({
  name: fieldsOf(index).flat().join('_'),
  ...index,
})

const fieldsOf = ({ key }: Pick<IndexDescription, 'key'>): [field: string, direction: unknown][] =>
  key instanceof Map ? [...key] : Object.entries(key)

/** All of an index that makes it another one. */
const traits = (index: IndexDescription) => [fieldsOf(index), ...optionsOf(index)]

const optionsOf = ({ unique, sparse, partialFilterExpression, expireAfterSeconds }: IndexDescription) => [
  [unique, sparse].map(Boolean),
  [partialFilterExpression, expireAfterSeconds].map((option) => option ?? null),
]

const isSame = (one: Named, other: Named): boolean => isDeepStrictEqual(traits(one), traits(other))

const digestOf = (index: Named): string =>
  createHash('sha256')
    .update(JSON.stringify(traits(index)))
    .digest('hex')
    .slice(0, 8)
