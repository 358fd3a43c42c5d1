import assert from 'node:assert/strict'
import { startEngine, type TestEngine } from '@health-record-service/embedded-mongo/testing'
import { type CommandStartedEvent, type Document, MongoClient } from 'mongodb'
import { DeletedRecords } from '../../../records/history/deleted-records.ts'
import { changeLogIndexes } from '../../../records/live/change-log.ts'
import { listAccesses } from '../../../records/store/audit/audit-log.ts'
import { removeEntriesBefore } from '../../../records/store/audit/checkpoints.ts'
import { createCaller, Note, openTestStore, type TestStore } from '../../harness/test-store.ts'

const subject = createCaller('subject')
const permissions = { read: ['subject'], write: ['subject'] }
const EXPLAINED_COMMANDS = ['find', 'aggregate', 'update', 'delete', 'findAndModify']
const TRANSPORT_FIELDS = new Set([
  'lsid',
  'txnNumber',
  '$db',
  '$clusterTime',
  'startTransaction',
  'autocommit',
  'writeConcern',
])

describe('query plans', () => {
  let engine: TestEngine
  let client: MongoClient
  let opened: TestStore
  let id: string

  before(async () => {
    engine = await startEngine()
    client = new MongoClient(engine.uri, { monitorCommands: true })
    opened = await openTestStore({ client })
    const inputs = Array.from({ length: 300 }, (_, i) => ({ ehrId: `e${i % 10}`, text: `${i % 7}` }))
    await opened.notes.createAll(subject, inputs, permissions)
    id = (await opened.notes.create(subject, { ehrId: 'e1', text: 'the one' }, permissions)).id
    await opened.notes.update(subject, { id }, (note) => note)
    for (const [collection, indexes] of changeLogIndexes(opened.db))
      await opened.db.collection(collection).createIndexes(indexes)
    await opened.db.collection('Ehr').insertOne({ _id: 'e1', _rperm: ['subject'] } as never)
    await deleteNotes(['e1', 'e1', ...Array(20).fill('e2')])
  })
  after(async () => {
    await opened.close()
    await client.close()
    await engine.stop()
  })

  async function deleteNotes(ehrIds: readonly string[]): Promise<void> {
    const inputs = ehrIds.map((ehrId) => ({ ehrId, text: 'wrong' }))
    for (const { id } of await opened.notes.createAll(subject, inputs, permissions))
      await opened.notes.remove(subject, { id })
  }

  const listDeleted = async () => {
    const kinds = new Map([['Note', { collection: 'Note', schema: Note }]])
    const { items } = await new DeletedRecords(opened.context, kinds).list(subject, 'e1', firstPage)
    assert.equal(items.length, 2)
  }

  /** The query plans of an operation's commands. */
  async function plansOf(operation: () => Promise<unknown>): Promise<Document[]> {
    const commands: Document[] = []
    const note = ({ commandName, command }: CommandStartedEvent) => {
      const fields = Object.entries(command).filter(([name]) => !TRANSPORT_FIELDS.has(name))
      if (EXPLAINED_COMMANDS.includes(commandName)) commands.push(Object.fromEntries(fields))
    }
    client.on('commandStarted', note)
    await operation()
    client.off('commandStarted', note)
    const explain = (command: Document) =>
      opened.db.command({ explain: command, verbosity: 'executionStats' })
    return Promise.all(commands.map(explain))
  }

  const firstPage = { limit: 5 }
  const operations: Record<string, (notes: TestStore['notes']) => Promise<unknown>> = {
    'one record': (notes) => notes.get(subject, { id, ehrId: 'e1' }),
    'an update': (notes) => notes.update(subject, { id, ehrId: 'e1' }, (note) => note),
    'a list descending': (notes) => notes.list(subject, 'newest', { where: { ehrId: 'e1' }, ...firstPage }),
    'a list ascending': (notes) => notes.list(subject, 'byText', { where: { ehrId: 'e1' }, ...firstPage }),
    'the next page': async (notes) => {
      const { next } = await notes.list(subject, 'byText', { where: { ehrId: 'e1' }, ...firstPage })
      await notes.list(subject, 'byText', { where: { ehrId: 'e1' }, ...firstPage, cursor: next ?? '' })
    },
    'a reversed list': (notes) =>
      notes.list(subject, 'newest', { where: { ehrId: 'e1' }, ...firstPage, order: 'asc' }),
    'the previous page': async (notes) => {
      const query = { where: { ehrId: 'e1' }, ...firstPage }
      const { next } = await notes.list(subject, 'byText', query)
      const { prev } = await notes.list(subject, 'byText', { ...query, cursor: next ?? '' })
      await notes.list(subject, 'byText', { ...query, cursor: prev ?? '' })
    },
    'a count': (notes) =>
      notes.list(subject, 'newest', { where: { ehrId: 'e1' }, ...firstPage, count: true }),
    'a list of readable records': (notes) =>
      notes.list(createCaller('nobody'), 'mine', { where: {}, ...firstPage }),
    'a history': (notes) => notes.history(subject, { id }, firstPage),
    'the deleted records of an EHR': listDeleted,
    'a restored version': (notes) => notes.restore(subject, { id }, 1, (_, former) => former),
    'the subject’s view of the audit': () => listAccesses(opened.db, { ehrId: 'e1' }, firstPage),
    'the removal of old entries': () => removeEntriesBefore(opened.db, 'key', new Date(0)),
    'a removal': (notes) => notes.remove(subject, { id, ehrId: 'e1' }),
  }
  /**
   * The expected number of examined documents, where it exceeds a page: all documents of a count, those with
   * the same text as the start of the page before, a batch of removable entries.
   */
  const examines: Record<string, number> = {
    'a count': 31,
    'the previous page': 7 + 5,
    'the removal of old entries': 1000,
  }
  for (const [title, operation] of Object.entries(operations)) {
    it(`use an index for ${title}`, async () => {
      const plans = await plansOf(() => operation(opened.notes))
      assert.ok(plans.length > 0)
      for (const plan of plans) {
        assert.doesNotMatch(JSON.stringify(plan), /COLLSCAN/)
        assert.ok(plan.executionStats.totalDocsExamined <= (examines[title] ?? 7), JSON.stringify(plan))
      }
    })
  }
})
