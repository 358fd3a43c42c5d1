import {
  type AnyBulkWriteOperation,
  type AnyClientBulkWriteModel,
  type ClientSession,
  type Collection,
  type Document,
  type MongoClient,
  MongoClientBulkWriteError,
  MongoServerError,
  type OptionalId,
} from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import { isOutage, unavailableError } from '../documents/outage.ts'
import { groupBy } from './group-by.ts'

interface PendingWrite {
  collection: Collection
  operation: AnyBulkWriteOperation
}

interface Server {
  client: MongoClient
  bulkWrites: BulkWriteSupport
}

/**
 * Writes of a transaction that wait to be sent together, in their order: one command costs less than one for each
 * collection. Nobody sees them before, not even the transaction.
 */
export class PendingWrites {
  readonly #server: Server
  readonly #session: ClientSession
  readonly #writes: PendingWrite[] = []

  constructor(server: Server, session: ClientSession) {
    this.#server = server
    this.#session = session
  }

  /** Adds writes, each of which has to affect a document. */
  add<T extends Document>(collection: Collection<T>, operations: readonly AnyBulkWriteOperation<T>[]): void {
    for (const operation of operations)
      this.#writes.push({ collection, operation } as unknown as PendingWrite)
  }

  insert<T extends Document>(collection: Collection<T>, documents: readonly OptionalId<T>[]): void {
    this.add(
      collection,
      documents.map((document) => ({ insertOne: { document } })),
    )
  }

  /** Sends all writes if one of them changes this collection, so that the transaction can read it. */
  async flushBeforeReading(name: string): Promise<void> {
    if (this.#writes.some(({ collection }) => collection.collectionName === name)) await this.flush()
  }

  /**
   * Sends the writes.
   * @throws Conflict when one affects no document; Unavailable when the transaction has to run again; MongoServerError
   */
  async flush(): Promise<void> {
    const writes = this.#writes.splice(0)
    if (writes.length === 0) return
    const affectedCount = (await this.#canSendTogether(writes))
      ? await this.#sendTogether(writes)
      : await this.#sendByCollection(writes)
    if (affectedCount < writes.length)
      throw new ServiceError('Conflict', {
        detail: 'Another request changed the record at the same time. Read it again and retry.',
      })
  }

  async #canSendTogether(writes: readonly PendingWrite[]): Promise<boolean> {
    const [{ collection }] = writes as [PendingWrite]
    const isForOne = writes.every((one) => one.collection.collectionName === collection.collectionName)
    const { client, bulkWrites } = this.#server
    return !isForOne && bulkWrites.has(client, collection.namespace)
  }

  async #sendTogether(writes: readonly PendingWrite[]): Promise<number> {
    const models = writes.map(({ collection, operation }) => {
      const [[name, model]] = Object.entries(operation) as [[string, object]]
      return { name, namespace: collection.namespace, ...model } as AnyClientBulkWriteModel<Document>
    })
    try {
      return countAffected(await this.#server.client.bulkWrite(models, { session: this.#session }))
    } catch (error) {
      const serverError = serverErrorOf(error)
      // The refused command may have ended the transaction.
      if (this.#server.bulkWrites.forgetWhenRefused(serverError)) throw unavailableError(serverError)
      throw serverError
    }
  }

  async #sendByCollection(writes: readonly PendingWrite[]): Promise<number> {
    let affectedCount = 0
    for (const ofOne of groupBy(writes, ({ collection }) => collection.collectionName).values()) {
      const [{ collection }] = ofOne as [PendingWrite]
      const operations = ofOne.map(({ operation }) => operation)
      const options = { session: this.#session, ordered: false }
      affectedCount += countAffected(await collection.bulkWrite(operations, options))
    }
    return affectedCount
  }
}

interface WriteCounts {
  insertedCount: number
  matchedCount: number
  upsertedCount: number
  deletedCount: number
}

const countAffected = ({ insertedCount, matchedCount, upsertedCount, deletedCount }: WriteCounts): number =>
  insertedCount + matchedCount + upsertedCount + deletedCount

/** The error of the server, which the driver wraps. */
function serverErrorOf(error: unknown): unknown {
  if (!(error instanceof MongoClientBulkWriteError)) return error
  const [first] = error.writeErrors.values()
  return error.cause ?? (first ? new MongoServerError({ ...first }) : error)
}

const NO_ID = '' as never

/** CommandNotFound, and CommandNotSupported in the mode of an earlier version. */
const UNKNOWN_COMMAND_CODES: readonly unknown[] = [59, 115]

/**
 * Finds out whether the server has the command `bulkWrite`, as MongoDB 8 and the embedded engine do. It asks, since a new
 * server refuses the command while it runs in the mode of an earlier version.
 */
export class BulkWriteSupport {
  #answer: Promise<boolean> | undefined

  has(client: MongoClient, namespace: string): Promise<boolean> {
    this.#answer ??= this.#ask(client, namespace)
    return this.#answer
  }

  /** Asks again after a downgrade of the server. @returns whether the server refused the command for this reason */
  forgetWhenRefused(error: unknown): boolean {
    const isRefusal = error instanceof MongoServerError && UNKNOWN_COMMAND_CODES.includes(error.code)
    if (isRefusal) this.#answer = undefined
    return isRefusal
  }

  async #ask(client: MongoClient, namespace: string): Promise<boolean> {
    try {
      await client.bulkWrite([{ name: 'deleteOne', namespace, filter: { _id: NO_ID } }])
      return true
    } catch (error) {
      if (isOutage(error)) this.#answer = undefined
      return false
    }
  }
}
