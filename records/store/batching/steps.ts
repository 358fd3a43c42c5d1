import type { ClientSession, Collection, Db, Document, Filter } from 'mongodb'

/** What one transaction changes at most. */
export const STEP = { documents: 1000 }

/** A query, whatever the ids are like. */
export type Which = Filter<Document & { _id: string }>

/** Whether what a filter finds in these collections can be changed in one transaction. */
export async function fits(
  db: Db,
  collections: readonly string[],
  filter: Which,
  session: ClientSession,
): Promise<boolean> {
  let left = STEP.documents
  for (const name of collections) {
    left -= await db
      .collection<Document & { _id: string }>(name)
      .countDocuments(filter, { limit: left + 1, session })
    if (left < 0) return false
  }
  return true
}

/** The ids of what a filter finds, as many at a time as one transaction changes. */
export async function* idsInSteps(db: Db, collection: string, filter: Which): AsyncGenerator<string[]> {
  const batchSize = STEP.documents
  const found = db
    .collection<Document & { _id: string }>(collection)
    .find(filter, { projection: { _id: 1 }, batchSize })
  let ids: string[] = []
  for await (const { _id } of found) {
    ids.push(_id)
    if (ids.length < batchSize) continue
    yield ids
    ids = []
  }
  if (ids.length > 0) yield ids
}

/**
 * Removes all that a filter finds, however many there are: no command takes long.
 * @param remove removes the documents with these ids, and may do more
 */
export async function removeInSteps<T extends { _id: string }>(
  documents: Collection<T>,
  filter: Filter<T>,
  remove = (ids: string[]): Promise<unknown> => documents.deleteMany({ _id: { $in: ids } } as Filter<T>),
): Promise<void> {
  const most = STEP.documents
  let ids: string[]
  do {
    const found = documents.find(filter, { projection: { _id: 1 } }).limit(most)
    ids = (await found.toArray()).map(({ _id }) => _id as string)
    if (ids.length > 0) await remove(ids)
  } while (ids.length === most)
}
