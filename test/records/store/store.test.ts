import assert from 'node:assert/strict'
import { newId } from '../../../records/store/documents/ids.ts'
import { encodeCursor, listName } from '../../../records/store/reading/cursor.ts'
import type { Store } from '../../../records/store/store.ts'
import { inTransaction } from '../../../records/store/writing/transaction.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { callerOf, type Note, recordsOfBlock } from '../../harness/test-records.ts'

const subject = callerOf('subject')
const nurse = callerOf('nurse', ['plan-1-read'])
const stranger = callerOf('stranger', ['plan-2-read', 'plan-2-write'])
const permissions = { read: ['subject', 'role:plan-1-read'], write: ['subject'] }

const is = (name: string) => (error: unknown) => error instanceof ServiceError && error.error === name

describe('records/store', () => {
  const opened = recordsOfBlock()
  let notes: Store<typeof Note, 'newest' | 'due' | 'byText' | 'mine'>

  before(() => {
    notes = opened.notes
  })

  const add = (ehrId: string, text = 'text') => notes.create(subject, { ehrId, text }, permissions)
  const stored = (id: string) => opened.db.collection<{ _id: string }>('Note').findOne({ _id: id })

  describe('create', () => {
    it('writes the document as Parse would', async () => {
      const note = await notes.create(subject, { ehrId: 'e', text: 't', dueDate: '2026-03-01' }, permissions)
      const at = new Date(note.createdAt)
      assert.deepEqual(await stored(note.id), {
        _id: note.id,
        ehrId: 'e',
        text: 't',
        dueDate: new Date('2026-03-01'),
        version: 1,
        _created_at: at,
        _updated_at: at,
        _rperm: ['subject', 'role:plan-1-read'],
        _wperm: ['subject'],
        _acl: { subject: { r: true, w: true }, 'role:plan-1-read': { r: true } },
      })
    })

    it('refuses a record without readers and writers', async () => {
      await assert.rejects(notes.create(subject, { ehrId: 'e', text: 't' }, {} as never), TypeError)
    })

    it('answers a repeated id with the record of the first attempt, also when both arrive at once', async () => {
      const id = newId()
      const attempts = await Promise.all(
        ['a', 'b', 'c'].map((text) => notes.create(subject, { ehrId: 'e', text }, permissions, { id })),
      )
      assert.equal(new Set(attempts.map(({ text }) => text)).size, 1)
      assert.equal((await notes.history(subject, { id }, { limit: 10 })).items.length, 1)
    })

    it('answers another user who sends the same id as if there were nothing', async () => {
      const { id } = await add('e')
      await assert.rejects(
        notes.create(stranger, { ehrId: 'e', text: 't' }, permissions, { id }),
        is('NotFound'),
      )
    })

    it('refuses what a unique index holds already', async () => {
      for (const ehrId of ['unique', 'a value that says index: _id_ of itself']) {
        const input = { ehrId, text: 't', status: 'ONLY' }
        await notes.create(subject, input, permissions)
        await assert.rejects(notes.create(subject, input, permissions), is('Conflict'))
      }
    })
  })

  describe('who may see and change', () => {
    it('shows a record to its readers and hides it from all others', async () => {
      const { id } = await add('e')
      assert.equal((await notes.get(subject, { id })).id, id)
      assert.equal((await notes.get(nurse, { id })).id, id)
      assert.equal((await notes.get({ ...stranger, unrestricted: true }, { id })).id, id)
      await assert.rejects(notes.get(stranger, { id }), is('NotFound'))
      await assert.rejects(notes.get(subject, { id, ehrId: 'another' }), is('NotFound'))
      await assert.rejects(notes.get(subject, { id: 'none' }), is('NotFound'))
    })

    it('lets only writers write; a reader hears so, a stranger does not', async () => {
      const { id } = await add('e')
      for (const [caller, error] of [
        [nurse, 'Forbidden'],
        [stranger, 'NotFound'],
      ] as const) {
        await assert.rejects(
          notes.update(caller, { id }, (now) => ({ ...now, text: 'x' })),
          is(error),
        )
        await assert.rejects(notes.remove(caller, { id }), is(error))
      }
      assert.equal((await notes.get(subject, { id })).version, 1)
    })

    it('takes no record without _rperm for a public one', async () => {
      const documents = opened.db.collection<{ _id: string; ehrId: string; version: number }>('Note')
      await documents.insertOne({ _id: 'bare', ehrId: 'bare', version: 1 })
      await assert.rejects(notes.get(stranger, { id: 'bare' }), is('NotFound'))
    })

    it('lists nothing that the caller may not see, and counts it neither', async () => {
      await add('seen')
      const query = { where: { ehrId: 'seen' }, limit: 10, count: true }
      assert.equal((await notes.list(nurse, 'newest', query)).total, 1)
      assert.deepEqual(await notes.list(stranger, 'newest', query), {
        items: [],
        next: null,
        prev: null,
        total: 0,
      })
    })
  })

  describe('update', () => {
    it('replaces the record, removes what is left out, keeps what the schema does not know', async () => {
      const { id } = await notes.create(subject, { ehrId: 'e', text: 't', tags: ['a'] }, permissions)
      await opened.db.collection<{ _id: string }>('Note').updateOne({ _id: id }, { $set: { other: 1 } })
      const updated = await notes.update(subject, { id }, () => ({ ehrId: 'e', text: 'new' }))
      assert.equal(updated.version, 2)
      const { _updated_at, ...document } = (await stored(id)) as Record<string, unknown>
      assert.equal((_updated_at as Date).toISOString(), updated.updatedAt)
      assert.deepEqual(
        [document.text, document.tags, document.other, document.version],
        ['new', undefined, 1, 2],
      )
      assert.deepEqual(document._rperm, permissions.read)
    })

    it('changes the permissions on request', async () => {
      const { id } = await add('e')
      await notes.update(subject, { id }, (now) => now, {
        permissions: { read: ['subject'], write: ['subject'] },
      })
      await assert.rejects(notes.get(nurse, { id }), is('NotFound'))
    })

    it('refuses when the record is at no version that the caller names, and names the current one', async () => {
      const { id } = await add('e')
      await notes.update(subject, { id }, (now) => now, { expected: [7, 1] })
      await assert.rejects(
        notes.update(subject, { id }, (now) => now, { expected: [1] }),
        (error: ServiceError) => {
          assert.deepEqual([error.error, error.version], ['PreconditionFailed', 2])
          return true
        },
      )
      await assert.rejects(notes.remove(subject, { id }, { expected: [] }), is('PreconditionFailed'))
      await notes.remove(subject, { id }, { expected: 'any' })
    })

    it('lets exactly one of many win that name the same version', async () => {
      const { id } = await add('race')
      const writers = Array.from({ length: 20 }, (_, i) =>
        notes.update(subject, { id }, (now) => ({ ...now, text: `${i}` }), { expected: [1] }),
      )
      const results = await Promise.allSettled(writers)
      const won = results.filter(({ status }) => status === 'fulfilled')
      assert.equal(won.length, 1)
      for (const result of results)
        assert.ok(result.status === 'fulfilled' || is('PreconditionFailed')(result.reason))
      assert.equal((await notes.get(subject, { id })).version, 2)
    })

    it('loses none of many that name no version: each sees what the one before left', async () => {
      const { id } = await add('race', '')
      const append = (i: number) =>
        notes.update(subject, { id }, (now) => ({ ...now, text: `${now.text}${i}` }))
      await Promise.all(Array.from({ length: 8 }, (_, i) => append(i)))
      const note = await notes.get(subject, { id })
      assert.deepEqual([note.version, [...note.text].sort().join('')], [9, '01234567'])
    })

    it('counts every write once when all kinds of them meet on the same records', async () => {
      const ids = (
        await notes.createAll(subject, Array(4).fill({ ehrId: 'mixed', text: '' }), permissions)
      ).map(({ id }) => id)
      const next = <T extends { text: string }>(now: T): T => ({ ...now, text: `${now.text}.` })
      const refuse = () => {
        throw new ServiceError('RuleViolated', { violations: [] })
      }
      const [one = '', two = ''] = ids
      const kinds = [
        (id: string) => notes.update(subject, { id }, next),
        (id: string) => notes.update(subject, { id }, refuse),
        (id: string) => notes.update(nurse, { id }, next),
        (id: string) => notes.update(subject, { id }, next, { expected: [3] }),
        () => notes.create(subject, { ehrId: 'mixed', text: '' }, permissions, { id: one }),
        () =>
          inTransaction(opened.records, async (tx) => {
            for (const id of [one, two]) await notes.update(subject, { id }, next, { tx })
          }),
      ]
      const work = Array.from({ length: 60 }, (_, i) => kinds[i % 6]?.(ids[Math.floor(i / 6) % 4] ?? ''))
      const results = await Promise.allSettled(work)
      for (const result of results)
        if (result.status === 'rejected') assert.ok(result.reason instanceof ServiceError)
      for (const id of ids) {
        const { version, text } = await notes.get(subject, { id })
        const { items } = await notes.history(subject, { id }, { limit: 100 })
        assert.equal(text.length, version - 1)
        assert.deepEqual(
          items.map((change) => change.version),
          Array.from({ length: version }, (_, i) => version - i),
        )
        assert.ok(version > 2)
      }
    })

    it('writes nothing when the change throws', async () => {
      const { id } = await add('e')
      const refuse = () => {
        throw new ServiceError('RuleViolated', { violations: [] })
      }
      await assert.rejects(notes.update(subject, { id }, refuse), is('RuleViolated'))
      assert.equal((await notes.get(subject, { id })).version, 1)
    })
  })

  describe('several writes', () => {
    it('happen together', async () => {
      const [first] = await inTransaction(opened.records, async (tx) => {
        const note = await notes.create(subject, { ehrId: 'tx', text: '1' }, permissions, { tx })
        await notes.update(subject, { id: note.id }, (now) => ({ ...now, text: '2' }), { tx })
        return [await notes.get(subject, { id: note.id }, { tx })]
      })
      assert.deepEqual([first?.text, first?.version], ['2', 2])
    })

    it('or not at all', async () => {
      const work = inTransaction(opened.records, async (tx) => {
        await notes.createAll(
          subject,
          [
            { ehrId: 'undone', text: '1' },
            { ehrId: 'undone', text: '2' },
          ],
          permissions,
          { tx },
        )
        await notes.remove(subject, { id: 'none' }, { tx })
      })
      await assert.rejects(work, is('NotFound'))
      assert.equal(
        (await notes.list(subject, 'newest', { where: { ehrId: 'undone' }, limit: 1, count: true })).total,
        0,
      )
    })
  })

  describe('list', () => {
    const all = async (
      name: 'newest' | 'due' | 'byText',
      ehrId: string,
      limit: number,
      between?: () => Promise<unknown>,
    ) => {
      const seen = []
      let cursor: string | undefined
      do {
        const page = await notes.list(subject, name, { where: { ehrId }, limit, cursor })
        assert.ok(page.items.length <= limit)
        seen.push(...page.items)
        cursor = page.next ?? undefined
        await between?.()
      } while (cursor)
      return seen
    }

    it('pages through equal and missing sort values without losing or repeating one', async () => {
      const dates = [null, undefined, '2026-01-01', '2026-01-01', '2026-01-02', null, undefined, '2025-12-31']
      await notes.createAll(
        subject,
        dates.map((dueDate) => ({
          ehrId: 'paged',
          text: 't',
          ...(dueDate === undefined ? {} : { dueDate }),
        })),
        permissions,
      )
      for (const limit of [1, 2, 3, 8]) {
        const seen = await all('due', 'paged', limit)
        assert.deepEqual(
          seen.map(({ dueDate }) => dueDate ?? null),
          [null, null, null, null, '2025-12-31', '2026-01-01', '2026-01-01', '2026-01-02'],
        )
        assert.equal(new Set(seen.map(({ id }) => id)).size, 8)
      }
    })

    it('goes back over the pages that it came by, in either order', async () => {
      for (const name of ['due', 'byText', 'newest'] as const)
        for (const order of ['asc', 'desc'] as const)
          for (const limit of [1, 2, 3, 8]) {
            const query = { where: { ehrId: 'paged' }, limit, order }
            const forth = [await notes.list(subject, name, query)]
            for (let next = forth[0]?.next; next; next = forth.at(-1)?.next)
              forth.push(await notes.list(subject, name, { ...query, cursor: next }))
            assert.equal(forth.flatMap(({ items }) => items).length, 8)
            for (const [i, page] of forth.entries()) {
              const cursor = page.prev
              const before = cursor && (await notes.list(subject, name, { ...query, cursor }))
              assert.deepEqual(before ? before.items : undefined, forth[i - 1]?.items)
            }
          }
    })

    it('repeats and loses nothing when others write in between', async () => {
      const texts = Array.from({ length: 40 }, (_, i) => String(i).padStart(2, '0'))
      await notes.createAll(
        subject,
        texts.map((text) => ({ ehrId: 'moving', text })),
        permissions,
      )
      const write = () => add('moving', String(Math.floor(Math.random() * 40)).padStart(2, '0'))
      const seen = await all('byText', 'moving', 7, write)
      assert.equal(new Set(seen.map(({ id }) => id)).size, seen.length)
      for (const text of texts) assert.ok(seen.some((note) => note.text === text))
      assert.deepEqual(
        seen.map(({ text }) => text),
        seen.map(({ text }) => text).sort(),
      )
    })

    it('filters by typed conditions', async () => {
      await notes.createAll(
        subject,
        [
          { ehrId: 'f', text: 'a', dueDate: '2026-01-01', tags: ['x', 'y'] },
          { ehrId: 'f', text: 'b', dueDate: '2026-01-02', status: 'OPEN' },
          { ehrId: 'f', text: 'c', dueDate: '2026-01-03', status: 'DONE' },
        ],
        permissions,
      )
      const texts = async (where: Parameters<typeof notes.list>[2]['where']) =>
        (await notes.list(subject, 'byText', { where: { ehrId: 'f', ...where }, limit: 9 })).items.map(
          ({ text }) => text,
        )
      assert.deepEqual(await texts({ dueDate: { from: '2026-01-02', to: '2026-01-03' } }), ['b'])
      assert.deepEqual(await texts({ dueDate: '2026-01-03' }), ['c'])
      assert.deepEqual(await texts({ status: null }), ['a'])
      assert.deepEqual(await texts({ status: { in: ['OPEN', 'DONE'] } }), ['b', 'c'])
      assert.deepEqual(await texts({ status: { not: 'DONE' } }), ['a', 'b'])
      assert.deepEqual(await texts({ tags: 'y' }), ['a'])
      assert.deepEqual(await texts({ status: undefined }), ['a', 'b', 'c'])
    })

    it('lets no operator of a caller reach the database', async () => {
      for (const forged of [{ $gt: '' }, { $where: '1' }, { in: [{ $gt: '' }] }, { constructor: 1 }]) {
        const where = { ehrId: 'f', text: forged as never }
        await assert.rejects(notes.list(subject, 'byText', { where, limit: 1 }), TypeError)
      }
      await assert.rejects(notes.get(subject, { id: { $gt: '' } as never }), TypeError)
    })

    it('refuses a list without the fields that its index needs', async () => {
      await assert.rejects(notes.list(subject, 'newest', { where: {}, limit: 1 }), TypeError)
    })

    it('refuses the cursor of another list', async () => {
      const page = await notes.list(subject, 'byText', { where: { ehrId: 'moving' }, limit: 1 })
      const query = { where: { ehrId: 'moving' }, limit: 1, cursor: page.next ?? '' }
      await assert.rejects(notes.list(subject, 'newest', query), is('MalformedRequest'))
    })

    it('refuses a cursor whose position no record of the list can have', async () => {
      for (const [name, value] of [
        ['newest', null],
        ['newest', 'text'],
        ['due', 5],
        ['byText', new Date()],
      ] as const) {
        const cursor = encodeCursor(listName('Note', name), { value, id: 'x' })
        const query = { where: { ehrId: 'moving' }, limit: 1, cursor }
        await assert.rejects(notes.list(subject, name, query), is('MalformedRequest'), name)
      }
    })
  })
})
