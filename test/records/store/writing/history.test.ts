import assert from 'node:assert/strict'
import { encodeCursor } from '../../../../records/store/reading/cursor.ts'
import { deleteHistoryOfEhr, findHistories } from '../../../../records/store/writing/history.ts'
import { ServiceError } from '../../../../schemas/errors.ts'
import { createCaller, useTestStore } from '../../../harness/test-store.ts'

const author = createCaller('author')
const other = createCaller('other')
const stranger = createCaller('stranger')
const permissions = { read: ['author', 'other'], write: ['author', 'other'] }
const hasErrorName = (name: string) => (error: unknown) =>
  error instanceof ServiceError && error.error === name

describe('the history', () => {
  const opened = useTestStore()

  /** Creates a note and updates it to version 4; its text goes from one to four. */
  async function newHistory(ehrId = 'e') {
    const { notes } = opened
    const { id } = await notes.create(author, { ehrId, text: 'one', dueDate: '2026-03-01' }, permissions)
    await notes.update(other, { id }, (note) => ({ ...note, text: 'two' }))
    await notes.update(author, { id }, ({ ehrId }) => ({ ehrId, text: 'three' }))
    await notes.update(other, { id }, (note) => ({ ...note, text: 'four' }))
    return id
  }

  it('lists author, time, changed fields and former record of each version', async () => {
    const id = await newHistory()
    const { items, next } = await opened.notes.history(author, { id }, { limit: 10 })
    assert.equal(next, null)
    assert.deepEqual(
      items.map(({ version, userId, action, changed, before }) => [
        version,
        userId,
        action,
        changed,
        before?.text,
      ]),
      [
        [4, 'other', 'update', ['text'], 'three'],
        [3, 'author', 'update', ['dueDate', 'text'], 'two'],
        [2, 'other', 'update', ['text'], 'one'],
        [1, 'author', 'create', [], undefined],
      ],
    )
    assert.equal(items[2]?.before?.dueDate, '2026-03-01')
    assert.ok(items.every(({ at, application }) => !Number.isNaN(Date.parse(at)) && application === 'tests'))
  })

  it('returns pages, newest first', async () => {
    const id = await newHistory()
    const versions: number[] = []
    let cursor: string | undefined
    do {
      const page = await opened.notes.history(author, { id }, { limit: 3, cursor })
      versions.push(...page.items.map(({ version }) => version))
      cursor = page.next ?? undefined
    } while (cursor)
    assert.deepEqual(versions, [4, 3, 2, 1])
  })

  it('finds those of more records than a pipeline may have stages', async () => {
    const ids = [
      await newHistory(),
      ...Array.from({ length: 1100 }, (_, i) => `none${i}`),
      await newHistory(),
    ]
    const keys = ids.map((id) => ({ collection: 'Note', id, ehrId: 'e' }))
    const histories = await findHistories(opened.db, keys, 3, ['version'])
    assert.equal(histories.size, ids.length)
    for (const id of [ids[0], ids.at(-1)])
      assert.deepEqual(
        histories.get(String(id))?.map(({ version }) => version),
        [1, 2, 3],
      )
  })

  it('returns NotFound to a stranger, and no other record for a forged cursor', async () => {
    const [id] = [await newHistory(), await newHistory()]
    await assert.rejects(opened.notes.history(stranger, { id }, { limit: 1 }), hasErrorName('NotFound'))
    for (const beyond of ['e/Note/zzzzzzzzzz/', 'Note/zzzzzzzzzz/', '\u{10ffff}', '~']) {
      const cursor = encodeCursor('history', { value: beyond, id: 'any' })
      const { items } = await opened.notes.history(author, { id }, { limit: 10, cursor })
      assert.ok(items.every(({ before }) => before === null || before.id === id))
    }
  })

  it('orders versions by number beyond 9', async () => {
    const { id } = await opened.notes.create(author, { ehrId: 'e', text: '0' }, permissions)
    for (let i = 1; i <= 11; i++)
      await opened.notes.update(author, { id }, (note) => ({ ...note, text: `${i}` }))
    const { items } = await opened.notes.history(author, { id }, { limit: 20 })
    assert.deepEqual(
      items.map(({ version }) => version),
      [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1],
    )
  })

  it('restores a former version as a new one, changed by the rule', async () => {
    const id = await newHistory()
    const restored = await opened.notes.restore(author, { id }, 1, (note, former) => ({
      ...former,
      status: note.text,
    }))
    assert.deepEqual(
      [restored.version, restored.text, restored.dueDate, restored.status],
      [5, 'one', '2026-03-01', 'four'],
    )
    const { items } = await opened.notes.history(author, { id }, { limit: 1 })
    assert.deepEqual(items[0]?.changed, ['dueDate', 'status', 'text'])
  })

  it('refuses to restore an unknown version, for a stranger, or over an unexpected version', async () => {
    const id = await newHistory()
    const former = <T>(_now: T, former: T) => former
    await assert.rejects(opened.notes.restore(author, { id }, 9, former), hasErrorName('NotFound'))
    await assert.rejects(opened.notes.restore(stranger, { id }, 1, former), hasErrorName('NotFound'))
    await assert.rejects(
      opened.notes.restore(author, { id }, 1, former, { expected: [3] }),
      hasErrorName('PreconditionFailed'),
    )
  })

  it('keeps the history of a removed record until its EHR is purged, and that of other EHRs', async () => {
    const id = await newHistory('forgotten')
    await newHistory('forgotten-not')
    const changes = opened.db.collection('history.changes')
    await opened.notes.remove(author, { id })
    const change = await changes.findOne({ 'before._id': id, action: 'delete' })
    assert.equal(change?.before.text, 'four')
    const count = await changes.countDocuments()
    await deleteHistoryOfEhr(opened.db, 'forgotten')
    assert.equal(await changes.countDocuments(), count - 5)
    assert.equal(await changes.countDocuments({ 'before._id': id }), 0)
  })
})
