import { type Collection, MongoBulkWriteError, MongoServerError } from 'mongodb'
import { createGroups } from './group.ts'

/** Stores one new document. @throws MongoServerError for one that is refused; Unavailable when its turn does not come */
export type Insert<D> = (document: D) => Promise<void>

interface Insertion<D> {
  document: D
  refused?: MongoServerError
}

/** Documents in one command. */
const MOST = 100

/** Insertions that share commands: those that come at the same time. One that is refused does not touch the others. */
export function createInserts<D extends object>(documents: Collection<D>): Insert<D> {
  const groups = createGroups<Insertion<D>>(MOST, async (insertions) => {
    const all = insertions.map(({ document }) => document)
    try {
      await documents.insertMany(all as never, { ordered: false })
    } catch (error) {
      for (const { index, code, errmsg } of refusalsIn(error)) {
        const one = insertions[index]
        if (one) one.refused = new MongoServerError({ code, message: errmsg ?? '' })
      }
    }
  })
  return async (document) => {
    const insertion: Insertion<D> = { document }
    await groups.add([insertion])
    if (insertion.refused) throw insertion.refused
  }
}

/** What was refused of a command of which the rest is written. @throws what went wrong, when that is not certain */
function refusalsIn(error: unknown): { index: number; code: number; errmsg: string | undefined }[] {
  const refused = error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : []
  const isCertain = error instanceof MongoBulkWriteError && !error.result.getWriteConcernError()
  if (refused.length === 0 || !isCertain) throw error
  return refused
}
