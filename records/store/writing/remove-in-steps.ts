import type { Collection, Filter } from 'mongodb'

/** Documents that are removed at a time. */
const STEP = 1000

/**
 * Removes all that a filter finds, however many there are: no command takes long.
 * @param remove removes the documents with these ids, and may do more
 */
export async function removeInSteps<T extends { _id: string }>(
  documents: Collection<T>,
  filter: Filter<T>,
  remove = (ids: string[]): Promise<unknown> => documents.deleteMany({ _id: { $in: ids } } as Filter<T>),
): Promise<void> {
  let ids: string[]
  do {
    const found = documents.find(filter, { projection: { _id: 1 } }).limit(STEP)
    ids = (await found.toArray()).map(({ _id }) => _id as string)
    if (ids.length > 0) await remove(ids)
  } while (ids.length === STEP)
}
