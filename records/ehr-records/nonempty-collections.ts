import type { Filter } from 'mongodb'
import type { Database } from '../store/documents/database.ts'
import type { ParseDocument } from '../store/documents/parse-format.ts'

/** With fewer other collections, the extra command costs more than it saves. */
const MIN_OTHER_COLLECTIONS = 3

/**
 * Finds which of these collections contain a document, such as one of an EHR, so that only those are queried. One
 * command looks at one index key of each collection. For very few collections it returns all of them.
 * @param filter that an index answers
 */
export async function findNonemptyCollections(
  { db }: Pick<Database, 'db'>,
  filter: Filter<ParseDocument>,
  collections: readonly string[],
): Promise<ReadonlySet<string>> {
  const all = [...new Set(collections)]
  const [first, ...rest] = all
  if (first === undefined || rest.length < MIN_OTHER_COLLECTIONS) return new Set(collections)
  // Counts have the positions as names: those of some collections have a dot.
  const any = (at: number) => [{ $match: filter }, { $limit: 1 }, { $count: String(at) }]
  const others = rest.map((coll, at) => ({ $unionWith: { coll, pipeline: any(at + 1) } }))
  const found = await db
    .collection(first)
    .aggregate([...any(0), ...others])
    .toArray()
  const positions = new Set(found.flatMap((count) => Object.keys(count)))
  return new Set(all.filter((_, at) => positions.has(String(at))))
}
