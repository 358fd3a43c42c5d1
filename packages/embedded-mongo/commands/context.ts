/** What a command is given, and how it says which options it takes. */
import { type Document, Double } from 'bson'
import { type Collection, checkNamespace } from '../storage/collections/catalog.ts'
import type { View, WritableView } from '../storage/disk/overlay.ts'
import type { Engine } from '../storage/engine.ts'
import type { WriteId } from '../storage/last-writes.ts'
import type { Batch } from '../storage/queries/cursors.ts'
import { openedAt } from '../values/raw.ts'
import type { Pace } from '../values/steps.ts'
import { encode } from '../values/values.ts'

export interface Context {
  engine: Engine
  db: string
  command: Document
  /** Where its work pauses, and when maxTimeMS is over. */
  pace: Pace
  /** What reads see: the last commit, or the transaction's snapshot with its own changes. */
  view: View
  /** The collection of that name, undefined when there is none. @throws 246 in a transaction older than its definition */
  find(name: string): Collection | undefined
  /** The collection to write to, made when there is none. */
  ensure(name: string): Promise<Collection>
  write<T>(run: (view: WritableView) => T): Promise<T>
  /** The session and transaction that cursors belong to. */
  owner: string | undefined
  inTransaction: boolean
  /** A write that its client may send again, and whether this is such another time. */
  retryable?: { write: WriteId; again: boolean }
  connectionId: number
}

export interface Command {
  run(context: Context): Document | Buffer | Promise<Document | Buffer>
  /** The names of its options beside the general ones; anything else is refused (40415). Absent: not checked. */
  options?: string
  /** Allowed inside a transaction. */
  transactional?: true
}

/** The collection a command names in its first field, with its namespace. */
export const target = (
  { db, command, find }: Context,
  name: string,
): { ns: string; collection: Collection | undefined } => {
  const collection = checkNamespace(db, command[name])
  return { ns: `${db}.${collection}`, collection: find(collection) }
}

export const cursorReply = ({ id, ns, documents }: Batch, field: 'firstBatch' | 'nextBatch'): Buffer => {
  const reply = openedAt(encode({ ok: new Double(1) }), 3, 'cursor')
  const cursor = openedAt(encode({ id, ns }), 4, field)
  // In one piece: a batch may be of megabytes.
  const bytes = documents.within(Buffer.concat([reply, cursor]), 2)
  bytes.writeInt32LE(bytes.length)
  bytes.writeInt32LE(bytes.length - 1 - reply.length, reply.length)
  return bytes
}
