/** The context of a command, and the declaration of its options. */
import { type Document, Double } from 'bson'
import { type Collection, checkNamespace } from '../storage/collections/catalog.ts'
import type { View, WritableView } from '../storage/disk/overlay.ts'
import type { Engine } from '../storage/engine.ts'
import type { WriteId } from '../storage/last-writes.ts'
import type { Batch } from '../storage/queries/cursors.ts'
import { encode } from '../values/bson-values.ts'
import { withoutEnd } from '../values/raw-documents.ts'
import type { CommandTimer } from '../values/steps.ts'

export interface CommandContext {
  engine: Engine
  db: string
  command: Document
  /** Where to pause, and when maxTimeMS is over. */
  timer: CommandTimer
  /** The view for reads: the last commit, or the transaction's snapshot with its own changes. */
  view: View
  /**
   * The collection of that name; undefined if it does not exist.
   * @throws 246 in a transaction older than its definition
   */
  find(name: string): Collection | undefined
  /** The collection to write to; created if it does not exist. */
  ensure(name: string): Promise<Collection>
  write<T>(run: (view: WritableView) => T): Promise<T>
  /** The session and transaction that own the command's cursors. */
  owner: string | undefined
  inTransaction: boolean
  /** Ends the transaction; undefined outside one. */
  abortTransaction?: () => void
  /** A retryable write, and whether this is a retry. */
  retryable?: { write: WriteId; isRetry: boolean }
  connectionId: number
}

export interface Command {
  run(context: CommandContext): Document | Buffer | Promise<Document | Buffer>
  /**
   * The names of its options besides the general ones; other options are refused (40415). Absent: not
   * checked.
   */
  options?: string
  /** Allowed inside a transaction. */
  transactional?: true
}

/** The collection that a command names in its first field, with its namespace. */
export const targetCollection = (
  { db, command, find }: CommandContext,
  name: string,
): { ns: string; collection: Collection | undefined } => {
  const collection = checkNamespace(db, command[name])
  return { ns: `${db}.${collection}`, collection: find(collection) }
}

export const cursorReply = ({ id, ns, documents }: Batch, field: 'firstBatch' | 'nextBatch'): Buffer => {
  const reply = withoutEnd(encode({ ok: new Double(1) }), 3, 'cursor')
  const cursor = withoutEnd(encode({ id, ns }), 4, field)
  // One buffer, without copying the batch again: it may have megabytes.
  const bytes = documents.within(Buffer.concat([reply, cursor]), 2)
  bytes.writeInt32LE(bytes.length)
  bytes.writeInt32LE(bytes.length - 1 - reply.length, reply.length)
  return bytes
}
