import { type Collection, MongoBulkWriteError, MongoServerError } from 'mongodb'
import { createBatcher } from './micro-batcher.ts'

/** Inserts a document. @throws MongoServerError when it is rejected; Unavailable when it waits too long */
export type InsertDocument<D> = (document: D) => Promise<void>

interface PendingInsert<D> {
  document: D
  error?: MongoServerError
}

/** Documents per command. */
const MAX_BATCH_SIZE = 100

/** Batches concurrent inserts into common commands. A rejected document does not affect the others. */
export function createBatchedInsert<D extends object>(documents: Collection<D>): InsertDocument<D> {
  const groups = createBatcher<PendingInsert<D>>(MAX_BATCH_SIZE, async (insertions) => {
    const all = insertions.map(({ document }) => document)
    try {
      await documents.insertMany(all as never, { ordered: false })
    } catch (error) {
      for (const { index, code, errmsg } of writeErrorsOf(error)) {
        const one = insertions[index]
        if (one) one.error = new MongoServerError({ code, message: errmsg ?? '' })
      }
    }
  })
  return async (document) => {
    const insertion: PendingInsert<D> = { document }
    await groups.add([insertion])
    if (insertion.error) throw insertion.error
  }
}

/**
 * The rejected documents of a command whose other documents are written.
 * @throws the error itself when the outcome is uncertain
 */
function writeErrorsOf(error: unknown): { index: number; code: number; errmsg: string | undefined }[] {
  const refused = error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : []
  const isCertain = error instanceof MongoBulkWriteError && !error.result.getWriteConcernError()
  if (refused.length === 0 || !isCertain) throw error
  return refused
}
