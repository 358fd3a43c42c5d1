import type { Database } from '../store/documents/database.ts'

/** Not more collections than these are worth a command that tells which of them to ask. */
const FEW = 3

/**
 * Which of these collections hold anything of an EHR, whoever may see it: one command that looks at one key of each.
 * The others need not be asked. Of only a few it may be all.
 */
export async function collectionsHolding(
  { db }: Pick<Database, 'db'>,
  ehrId: string,
  collections: readonly string[],
): Promise<ReadonlySet<string>> {
  const [first, ...rest] = collections
  if (first === undefined || rest.length < FEW) return new Set(collections)
  const any = (name: string) => [
    { $match: { ehrId } },
    { $limit: 1 },
    { $project: { _id: 0, name: { $literal: name } } },
  ]
  const others = rest.map((coll) => ({ $unionWith: { coll, pipeline: any(coll) } }))
  const found = db.collection(first).aggregate<{ name: string }>([...any(first), ...others])
  return new Set((await found.toArray()).map(({ name }) => name))
}
