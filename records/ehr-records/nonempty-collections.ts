import type { Document, Filter } from 'mongodb'
import { EHR_ACCESS_FIELDS } from '../ehrs/rights/read-scope.ts'
import type { Database } from '../store/documents/database.ts'
import type { ParseDocument } from '../store/documents/parse-format.ts'

/** With fewer collections, the extra command costs more than it saves. */
const MIN_COLLECTIONS = 4

/**
 * Finds which of these collections contain a document, so that only those are queried. One command looks at one index
 * key of each collection. For very few collections it returns all of them.
 * @param filter that an index answers
 */
export async function findNonemptyCollections(
  { db }: Pick<Database, 'db'>,
  filter: Filter<ParseDocument>,
  collections: readonly string[],
): Promise<ReadonlySet<string>> {
  const [first, ...rest] = [...new Set(collections)]
  if (first === undefined || rest.length + 1 < MIN_COLLECTIONS) return new Set(collections)
  const stages = [...countOne(filter, 0), ...unionOf(filter, rest, 1)]
  return nonemptyIn(await db.collection(first).aggregate(stages).toArray(), [first, ...rest])
}

/** Some EHRs, and where they have records. */
interface EhrContents {
  /** The access fields of each EHR, by its id. */
  ehrs: ReadonlyMap<string, ParseDocument>
  /** The collections with a record of one of them. */
  nonempty: ReadonlySet<string>
}

/**
 * Finds which collections contain records of these EHRs, as {@link findNonemptyCollections} does, and in the same command
 * the fields that decide who may see all of an EHR. For very few collections it reads nothing.
 */
export async function findEhrContents(
  { db }: Pick<Database, 'db'>,
  ehrIds: readonly string[],
  collections: readonly string[],
): Promise<EhrContents> {
  const uniqueCollections = [...new Set(collections)]
  if (uniqueCollections.length < MIN_COLLECTIONS)
    return { ehrs: new Map(), nonempty: new Set(uniqueCollections) }
  const ids = { $in: [...ehrIds] }
  const stages = [
    { $match: { _id: ids } },
    { $project: EHR_ACCESS_FIELDS },
    ...unionOf({ ehrId: ids }, uniqueCollections),
  ]
  const documents = await db.collection('Ehr').aggregate<ParseDocument>(stages).toArray()
  const ehrs = documents.filter(({ _id }) => _id !== undefined)
  return {
    ehrs: new Map(ehrs.map((ehr) => [ehr._id, ehr])),
    nonempty: nonemptyIn(documents, uniqueCollections),
  }
}

/** Counts have the positions of the collections as names: the names of some collections have a dot. */
const countOne = (filter: Filter<ParseDocument>, position: number): Document[] => [
  { $match: filter },
  { $limit: 1 },
  { $count: String(position) },
]

const unionOf = (filter: Filter<ParseDocument>, collections: readonly string[], start = 0): Document[] =>
  collections.map((coll, at) => ({ $unionWith: { coll, pipeline: countOne(filter, start + at) } }))

function nonemptyIn(documents: readonly Document[], collections: readonly string[]): ReadonlySet<string> {
  const positions = new Set(documents.flatMap((one) => Object.keys(one)))
  return new Set(collections.filter((_, at) => positions.has(String(at))))
}
