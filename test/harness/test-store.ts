import { startEngine, type TestEngine } from '@health-record-service/embedded-mongo/testing'
import { Type } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import type { Db } from 'mongodb'
import { accessesOfList } from '../../records/ehrs/rights/query-accesses.ts'
import { containedCollections } from '../../records/kinds.ts'
import { type AuditLog, auditIndexes, openAuditLog } from '../../records/store/audit/audit-log.ts'
import { BulkWriteSupport } from '../../records/store/batching/pending-writes.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import { JobRunner } from '../../records/store/jobs/background-jobs.ts'
import { Store } from '../../records/store/store.ts'
import { EhrLocks } from '../../records/store/writing/ehr-locks.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import { nullable } from '../../schemas/forms/nullable.ts'

export const AUDIT_KEY = 'a key for tests'

/** The stores on a database of their own, opened as the service opens them. */
export interface TestStore {
  db: Db
  context: StoreContext
  audit: AuditLog
  notes: Store<typeof Note, 'newest' | 'due' | 'byText' | 'mine'>
  /** Opens them again, like another instance or after a crash. */
  reopen(): Promise<void>
  close(): Promise<void>
}

export const Note = Type.Object({
  ehrId: Type.String(),
  text: Type.String(),
  status: Type.Optional(Type.String()),
  dueDate: Type.Optional(nullable(Type.String({ format: 'date' }))),
  tags: Type.Optional(Type.Array(Type.String())),
})

let databaseCount = 0

/** Opens stores on an engine of their own, for the tests of a block and their hooks. */
export function useTestStore(): TestStore & { engine: TestEngine } {
  const opened = { engine: {} } as ReturnType<typeof useTestStore>
  const { engine } = opened
  before(async () => {
    await startEngine(engine)
    await openTestStore(engine, opened)
  })
  after(async () => {
    await opened.close()
    await engine.stop()
  })
  return opened
}

export async function openTestStore(
  engine: Pick<TestEngine, 'client'>,
  opened = {} as TestStore,
): Promise<TestStore> {
  const name = `records${++databaseCount}`
  Object.assign(opened, {
    async reopen() {
      const { client } = engine
      const db = client.db(name)
      const audit = await openAuditLog({ db, key: AUDIT_KEY, clock: () => new Date(), onFault: () => {} })
      const context: StoreContext = {
        client,
        db,
        clock: () => new Date(),
        audit,
        contents: containedCollections,
        definitions: new LRUCache({ max: 10 }),
        jobs: new JobRunner({ client, db }, [], false),
        ehrLocks: new EhrLocks(),
        bulkWrites: new BulkWriteSupport(),
        accessesOfList,
        notifyOfPendingEhr: async () => {},
      }
      Object.assign(opened, { db, context, audit, notes: createNoteStore(context) })
    },
    close: () => opened.audit.close(),
  })
  await opened.reopen()
  for (const [collection, indexes] of [opened.notes.indexes(), ...Object.entries(auditIndexes)]) {
    await opened.db.collection(collection).createIndexes(indexes)
  }
  return opened
}

export const createNoteStore = (context: StoreContext): TestStore['notes'] =>
  new Store(context, {
    collection: 'Note',
    schema: Note,
    ehr: 'ehrId',
    lists: {
      newest: { requiredFields: ['ehrId'], sort: 'createdAt', order: 'desc' },
      due: { requiredFields: ['ehrId'], sort: 'dueDate', order: 'asc' },
      byText: { requiredFields: ['ehrId'], sort: 'text', order: 'asc' },
      mine: { requiredFields: [], sort: 'createdAt', order: 'desc' },
    },
    indexes: [
      {
        name: 'once',
        key: { ehrId: 1, status: 1 },
        unique: true,
        partialFilterExpression: { status: 'ONLY' },
      },
    ],
  })

let requestCount = 0

export const createCaller = (userId: string, roles: string[] = []): Caller => ({
  userId,
  roles,
  application: 'tests',
  requestId: `request-${++requestCount}`,
})
