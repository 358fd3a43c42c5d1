import type { ClientSession, Db } from 'mongodb'
import { createInserts, type Insert } from '../../../records/store/batching/inserts.ts'
import { inTime, type Signal, signal } from '../../../records/store/batching/waiting.ts'
import { PATIENCE_MS } from '../../../records/store/documents/outage.ts'

type Write = (
  this: unknown,
  className: string,
  schema: unknown,
  object: { objectId?: unknown },
  ...rest: unknown[]
) => Promise<unknown>

/** The writes of one object by Parse Server's storage adapter; each takes a session as its last argument. */
export type WritingAdapter = Record<'createObject' | 'findOneAndUpdate' | 'deleteObjectsByQuery', Write> & {
  database: Db
}

/**
 * Does Parse Server's write as a part of something larger.
 * @param write Parse's own; it may be asked for again. What it finds nothing to write to is undefined.
 */
type Transact = (write: Save) => Promise<unknown>

/** @param only what else must be true of the object, as Parse asks for it */
export type Save = (session?: ClientSession, only?: Record<string, unknown>) => Promise<unknown>

/**
 * Announces that the next write of an object is a part of something larger, once the write that was announced before it is
 * under way: neither is taken for the other.
 */
export type JoinWrite = (className: string, objectId: string, transact: Transact) => Promise<void>

interface Announced {
  transact: Transact
  taken: Signal
}

/** Announced at the same time; a write that Parse gives up after the triggers leaves its announcement behind. */
const mostAnnounced = 10_000

/** Has objects that Parse Server creates at the same time share commands: each by itself costs a third more. */
export function createTogether(adapter: WritingAdapter): void {
  const { createObject } = adapter
  const inserts = new Map<string, Insert<object>>()
  const insertInto = (className: string): Insert<object> => {
    const insert = inserts.get(className) ?? createInserts(adapter.database.collection(className))
    inserts.set(className, insert)
    return insert
  }
  // Parse makes a document of the object, and hands it to what it finds here.
  const grouping = Object.create(adapter, {
    _adaptiveCollection: { value: async (className: string) => ({ insertOne: insertInto(className) }) },
  })
  adapter.createObject = function (className, schema, object, session) {
    const alone = session || className.startsWith('_')
    return createObject.call(alone ? this : grouping, className, schema, object, session)
  }
}

/** What our adapter turned into an answer: by the database's own error it is known whether to repeat the transaction. */
const asTheDatabaseSaid = (error: { cause?: unknown }): never => {
  throw error.cause ?? error
}

/** Lets triggers have Parse's writes take place in a transaction of theirs, with what belongs to them. */
export function joinWrites(adapter: WritingAdapter): JoinWrite {
  const announced = new Map<string, Announced>()
  const take = (className: string, objectId: unknown): Transact | undefined => {
    const key = `${className}$${objectId}`
    const found = announced.get(key)
    announced.delete(key)
    found?.taken.give()
    return found?.transact
  }
  // In all three the object, or the query for it, comes third, and its id stands in it.
  for (const name of ['createObject', 'findOneAndUpdate', 'deleteObjectsByQuery'] as const) {
    const write = adapter[name].bind(adapter)
    adapter[name] = (className, schema, object, ...rest) => {
      const transact = announced.size > 0 ? take(className, object.objectId) : undefined
      if (!transact) return write(className, schema, object, ...rest)
      const change = name === 'findOneAndUpdate' ? rest.slice(0, 1) : []
      return transact((session, only) =>
        write(className, schema, { ...object, ...only }, ...change, session).catch(asTheDatabaseSaid),
      )
    }
  }
  return async (className, objectId, transact) => {
    const key = `${className}$${objectId}`
    const end = Date.now() + PATIENCE_MS
    for (let earlier = announced.get(key); earlier && Date.now() < end; earlier = announced.get(key))
      await inTime(earlier.taken.given)
    if (announced.size >= mostAnnounced) announced.delete(announced.keys().next().value ?? '')
    announced.set(key, { transact, taken: signal() })
  }
}
