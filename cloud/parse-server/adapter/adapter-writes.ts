import type { ClientSession, Db } from 'mongodb'
import { createBatchedInsert, type InsertDocument } from '../../../records/store/batching/batched-insert.ts'
import { createDeferred, type Deferred, waitWithTimeout } from '../../../records/store/batching/queue.ts'
import { REQUEST_WAIT_TIMEOUT_MS } from '../../../records/store/documents/outage.ts'

type AdapterWrite = (
  this: unknown,
  className: string,
  schema: unknown,
  object: { objectId?: unknown },
  ...rest: unknown[]
) => Promise<unknown>

/** Single-object writes of Parse Server's storage adapter; each takes a session as last argument. */
export type WritingAdapter = Record<
  'createObject' | 'findOneAndUpdate' | 'deleteObjectsByQuery',
  AdapterWrite
> & {
  database: Db
}

/**
 * Runs Parse Server's write within a larger unit.
 * @param write Parse's own write, which may be called again; undefined means that it found no object
 */
type WriteWrapper = (write: ParseWrite) => Promise<unknown>

/** @param only further conditions on the object, in the form of Parse */
export type ParseWrite = (session?: ClientSession, only?: Record<string, unknown>) => Promise<unknown>

/**
 * Announces that the next write of an object will be wrapped. Waits until a previously announced write of
 * that object has started, so that the two cannot be confused.
 */
export type WrapNextWrite = (className: string, objectId: string, transact: WriteWrapper) => Promise<void>

interface PendingWrapper {
  transact: WriteWrapper
  started: Deferred
}

/**
 * Limit of announced writes. A write that Parse abandons after the triggers leaves its announcement behind.
 */
const MAX_PENDING_WRAPPERS = 10_000

/**
 * Coalesces creates: objects created at the same time share one insert command. Separate commands cost a
 * third more.
 */
export function coalesceCreates(adapter: WritingAdapter): void {
  const { createObject } = adapter
  const inserts = new Map<string, InsertDocument<object>>()
  const insertInto = (className: string): InsertDocument<object> => {
    const insert = inserts.get(className) ?? createBatchedInsert(adapter.database.collection(className))
    inserts.set(className, insert)
    return insert
  }
  // Parse converts the object to a document and passes it to this collection.
  const grouping = Object.create(adapter, {
    _adaptiveCollection: { value: async (className: string) => ({ insertOne: insertInto(className) }) },
  })
  adapter.createObject = function (className, schema, object, session) {
    const alone = session || className.startsWith('_')
    return createObject.call(alone ? this : grouping, className, schema, object, session)
  }
}

/** Restores the database error, which tells whether to repeat the transaction. */
const rethrowDatabaseError = (error: { cause?: unknown }): never => {
  throw error.cause ?? error
}

/** Enables write wrapping: a trigger can run Parse's next write of an object in its own transaction. */
export function enableWriteWrapping(adapter: WritingAdapter): WrapNextWrite {
  const announced = new Map<string, PendingWrapper>()
  const take = (className: string, objectId: unknown): WriteWrapper | undefined => {
    const key = `${className}$${objectId}`
    const found = announced.get(key)
    announced.delete(key)
    found?.started.resolve()
    return found?.transact
  }
  // All three take the object, or the query for it, as third argument, which contains the id.
  for (const name of ['createObject', 'findOneAndUpdate', 'deleteObjectsByQuery'] as const) {
    const write = adapter[name].bind(adapter)
    adapter[name] = (className, schema, object, ...rest) => {
      const transact = announced.size > 0 ? take(className, object.objectId) : undefined
      if (!transact) return write(className, schema, object, ...rest)
      const change = name === 'findOneAndUpdate' ? rest.slice(0, 1) : []
      return transact((session, only) =>
        write(className, schema, { ...object, ...only }, ...change, session).catch(rethrowDatabaseError),
      )
    }
  }
  return async (className, objectId, transact) => {
    const key = `${className}$${objectId}`
    const end = Date.now() + REQUEST_WAIT_TIMEOUT_MS
    for (let earlier = announced.get(key); earlier && Date.now() < end; earlier = announced.get(key))
      await waitWithTimeout(earlier.started.promise)
    if (announced.size >= MAX_PENDING_WRAPPERS) announced.delete(announced.keys().next().value ?? '')
    announced.set(key, { transact, started: createDeferred() })
  }
}
