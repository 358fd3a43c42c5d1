import type { ClientSession, Collection, Db, Filter } from 'mongodb'
import { documentCollection } from '../documents/database.ts'
import type { ParseDocument } from '../documents/parse-format.ts'

/** Limit of the changes in one transaction. */
export const BATCH_LIMITS = { maxDocuments: 1000 }

/** Whether one transaction can change all matching documents of these collections. */
export async function canFitInTransaction(
  db: Db,
  collections: readonly string[],
  filter: Filter<ParseDocument>,
  session: ClientSession,
): Promise<boolean> {
  let left = BATCH_LIMITS.maxDocuments
  for (const name of collections) {
    left -= await documentCollection({ db }, name).countDocuments(filter, { limit: left + 1, session })
    if (left < 0) return false
  }
  return true
}

/** Yields the ids of matching documents in batches, each small enough for one transaction. */
export async function* iterateIdBatches<T extends { _id: string }>(
  documents: Collection<T>,
  filter: Filter<T>,
): AsyncGenerator<string[]> {
  const batchSize = BATCH_LIMITS.maxDocuments
  let ids: string[] = []
  for await (const { _id } of documents.find(filter, { projection: { _id: 1 }, batchSize })) {
    ids.push(_id)
    if (ids.length < batchSize) continue
    yield ids
    ids = []
  }
  if (ids.length > 0) yield ids
}

/** Removes all matching documents in batches, so that no command takes long. @param remove may do more */
export async function deleteInBatches<T extends { _id: string }>(
  documents: Collection<T>,
  filter: Filter<T>,
  remove = (ids: string[]): Promise<unknown> => documents.deleteMany({ _id: { $in: ids } } as Filter<T>),
): Promise<void> {
  for await (const ids of iterateIdBatches(documents, filter)) await remove(ids)
}
