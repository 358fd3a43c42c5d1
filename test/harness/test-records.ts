import { type Engine, startEngine } from '@health-record-service/embedded-mongo/testing'
import { Type } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import type { Db } from 'mongodb'
import { contents } from '../../records/kinds.ts'
import { type Audit, auditIndexes, openAudit } from '../../records/store/audit/trail.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import { UnderWay } from '../../records/store/steps/under-way.ts'
import { Store } from '../../records/store/store.ts'
import { RecentRemovals } from '../../records/store/writing/removal/recent-removals.ts'
import type { Records } from '../../records/store/writing/transaction.ts'
import { Turns } from '../../records/store/writing/turns.ts'

export const KEY = 'a key for tests'

/** Records in a database of their own, as the service opens them. */
export interface TestRecords {
  db: Db
  records: Records
  audit: Audit
  notes: Store<typeof Note, 'newest' | 'due' | 'byText' | 'mine'>
  /** Opens them again, as another instance or after a crash. */
  reopen(): Promise<void>
  close(): Promise<void>
}

export const Note = Type.Object({
  ehrId: Type.String(),
  text: Type.String(),
  status: Type.Optional(Type.String()),
  dueDate: Type.Optional(Type.Union([Type.String({ format: 'date' }), Type.Null()])),
  tags: Type.Optional(Type.Array(Type.String())),
})

let databases = 0

/** On an engine of their own for the tests of a block; to be used in them and in their hooks. */
export function recordsOfBlock(): TestRecords & { engine: Engine } {
  const opened = { engine: {} } as ReturnType<typeof recordsOfBlock>
  const { engine } = opened
  before(async () => {
    await startEngine(engine)
    await openRecords(engine, opened)
  })
  after(async () => {
    await opened.close()
    await engine.stop()
  })
  return opened
}

export async function openRecords(
  engine: Pick<Engine, 'client'>,
  opened = {} as TestRecords,
): Promise<TestRecords> {
  const name = `records${++databases}`
  Object.assign(opened, {
    async reopen() {
      const { client } = engine
      const db = client.db(name)
      const audit = await openAudit({ db, key: KEY, clock: () => new Date(), onFault: () => {} })
      const records: Records = {
        client,
        db,
        clock: () => new Date(),
        audit,
        contents,
        recentRemovals: new RecentRemovals(),
        definitions: new LRUCache({ max: 10 }),
        underWay: new UnderWay({ client, db }, [], false),
        turns: new Turns(),
        tellOfPendingEhr: async () => {},
      }
      Object.assign(opened, { db, records, audit, notes: noteStore(records) })
    },
    close: () => opened.audit.close(),
  })
  await opened.reopen()
  for (const [collection, indexes] of [opened.notes.indexes(), ...Object.entries(auditIndexes)]) {
    await opened.db.collection(collection).createIndexes(indexes)
  }
  return opened
}

export const noteStore = (records: Records): TestRecords['notes'] =>
  new Store(records, {
    collection: 'Note',
    schema: Note,
    ehr: 'ehrId',
    lists: {
      newest: { by: ['ehrId'], sort: 'createdAt', order: 'desc' },
      due: { by: ['ehrId'], sort: 'dueDate', order: 'asc' },
      byText: { by: ['ehrId'], sort: 'text', order: 'asc' },
      mine: { by: [], sort: 'createdAt', order: 'desc' },
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

let requests = 0

export const callerOf = (userId: string, roles: string[] = []): Caller => ({
  userId,
  roles,
  application: 'tests',
  requestId: `request-${++requests}`,
})
