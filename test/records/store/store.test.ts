import assert from 'node:assert/strict'
import { MongoServerError } from 'mongodb'
import type { Caller } from '../../../records/store/documents/caller.ts'
import { newId } from '../../../records/store/documents/ids.ts'
import type { Job } from '../../../records/store/documents/job.ts'
import { encodeCursor, qualifiedListName } from '../../../records/store/reading/cursor.ts'
import type { Store } from '../../../records/store/store.ts'
import { runStoreTransaction, type StoreContext } from '../../../records/store/writing/transaction.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { createCaller, type Note, useTestStore } from '../../harness/test-store.ts'

const subject = createCaller('subject')
const nurse = createCaller('nurse', ['plan-1-read'])
const stranger = createCaller('stranger', ['plan-2-read', 'plan-2-write'])
const permissions = { read: ['subject', 'role:plan-1-read'], write: ['subject'] }

const hasErrorName = (name: string) => (error: unknown) =>
  error instanceof ServiceError && error.error === name

describe('the store', () => {
  const opened = useTestStore()
  let notes: Store<typeof Note, 'newest' | 'due' | 'byText' | 'mine'>

  before(() => {
    notes = opened.notes
  })

  const add = (ehrId: string, text = 'text') => notes.create(subject, { ehrId, text }, permissions)
  const addEhr = (id: string, _rperm: string[]) =>
    opened.db.collection<{ _id: string; _rperm: string[] }>('Ehr').insertOne({ _id: id, _rperm })
  const stored = (id: string) => opened.db.collection<{ _id: string }>('Note').findOne({ _id: id })

  describe('create', () => {
    it('writes the document in Parse’s format', async () => {
      const note = await notes.create(subject, { ehrId: 'e', text: 't', dueDate: '2026-03-01' }, permissions)
      const time = new Date(note.createdAt)
      assert.deepEqual(await stored(note.id), {
        _id: note.id,
        ehrId: 'e',
        text: 't',
        dueDate: new Date('2026-03-01'),
        version: 1,
        _created_at: time,
        _updated_at: time,
        _rperm: ['subject', 'role:plan-1-read'],
        _wperm: ['subject'],
      })
    })

    it('refuses a record without readers and writers', async () => {
      await assert.rejects(notes.create(subject, { ehrId: 'e', text: 't' }, {} as never), TypeError)
    })

    it('stores one record for a repeated id, and refuses concurrent attempts', async () => {
      const id = newId()
      const attempts = await Promise.allSettled(
        ['a', 'b', 'c'].map((text) => notes.create(subject, { ehrId: 'e', text }, permissions, { id })),
      )
      const refused = attempts.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
      assert.deepEqual(refused.map(hasErrorName('Conflict')), [true, true])
      assert.equal((await notes.history(subject, { id }, { limit: 10 })).items.length, 1)
    })

    it('refuses a duplicate value of a unique index', async () => {
      for (const ehrId of ['unique', 'a value that says index: _id_ of itself']) {
        const input = { ehrId, text: 't', status: 'ONLY' }
        await notes.create(subject, input, permissions)
        await assert.rejects(notes.create(subject, input, permissions), hasErrorName('Conflict'))
      }
    })
  })

  describe('permissions', () => {
    it('show a record to its readers and hide it from all others', async () => {
      const { id } = await add('e')
      assert.equal((await notes.get(subject, { id })).id, id)
      assert.equal((await notes.get(nurse, { id })).id, id)
      assert.equal((await notes.get({ ...stranger, unrestricted: true }, { id })).id, id)
      await assert.rejects(notes.get(stranger, { id }), hasErrorName('NotFound'))
      await assert.rejects(notes.get(subject, { id, ehrId: 'another' }), hasErrorName('NotFound'))
      await assert.rejects(notes.get(subject, { id: 'none' }), hasErrorName('NotFound'))
    })

    it('hold for each caller of the same moment, of whom some ask for the same record', async () => {
      const { id } = await add('e')
      const find = async (caller: Caller, key: { id: string; ehrId?: string }) =>
        (await notes.find(caller, key))?.id
      const foundIds = await Promise.all([
        find(subject, { id }),
        find(stranger, { id }),
        find(subject, { id, ehrId: 'another' }),
        find(nurse, { id, ehrId: 'e' }),
      ])
      assert.deepEqual(foundIds, [id, undefined, undefined, id])
    })

    it('let only writers write: a reader gets Forbidden, a stranger NotFound', async () => {
      const { id } = await add('e')
      for (const [caller, error] of [
        [nurse, 'Forbidden'],
        [stranger, 'NotFound'],
      ] as const) {
        await assert.rejects(
          notes.update(caller, { id }, (note) => ({ ...note, text: 'x' })),
          hasErrorName(error),
        )
        await assert.rejects(notes.remove(caller, { id }), hasErrorName(error))
      }
      assert.equal((await notes.get(subject, { id })).version, 1)
    })

    it('hide a record without _rperm', async () => {
      const documents = opened.db.collection<{ _id: string; ehrId: string; version: number }>('Note')
      await documents.insertOne({ _id: 'bare', ehrId: 'bare', version: 1 })
      await assert.rejects(notes.get(stranger, { id: 'bare' }), hasErrorName('NotFound'))
    })

    it('exclude unreadable records from lists and counts', async () => {
      await addEhr('seen', ['stranger'])
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

    it('hide an EHR that the caller may not read, with or without records', async () => {
      await add('hidden')
      for (const ehrId of ['hidden', 'unknown'])
        await assert.rejects(
          notes.list(stranger, 'newest', { where: { ehrId }, limit: 10 }),
          hasErrorName('NotFound'),
        )
    })
  })

  describe('update', () => {
    it('replaces the record, removes missing fields, and keeps fields outside the schema', async () => {
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
      await notes.update(subject, { id }, (note) => note, {
        permissions: { read: ['subject'], write: ['subject'] },
      })
      await assert.rejects(notes.get(nurse, { id }), hasErrorName('NotFound'))
    })

    it('refuses an unexpected version, and returns the current one', async () => {
      const { id } = await add('e')
      await notes.update(subject, { id }, (note) => note, { expected: [7, 1] })
      await assert.rejects(
        notes.update(subject, { id }, (note) => note, { expected: [1] }),
        (error: ServiceError) => {
          assert.deepEqual([error.error, error.version], ['PreconditionFailed', 2])
          return true
        },
      )
      await assert.rejects(
        notes.remove(subject, { id }, { expected: [] }),
        hasErrorName('PreconditionFailed'),
      )
      await notes.remove(subject, { id }, { expected: [2] })
    })

    it('lets exactly one of many concurrent updates of the same version succeed', async () => {
      const { id } = await add('race')
      const writers = Array.from({ length: 20 }, (_, i) =>
        notes.update(subject, { id }, (note) => ({ ...note, text: `${i}` }), { expected: [1] }),
      )
      const results = await Promise.allSettled(writers)
      const won = results.filter(({ status }) => status === 'fulfilled')
      assert.equal(won.length, 1)
      for (const result of results)
        assert.ok(result.status === 'fulfilled' || hasErrorName('PreconditionFailed')(result.reason))
      assert.equal((await notes.get(subject, { id })).version, 2)
    })

    it('applies all concurrent updates without a version, each to the result of the one before', async () => {
      const { id } = await add('race', '')
      const append = (i: number) =>
        notes.update(subject, { id }, (current) => ({ ...current, text: `${current.text}${i}` }))
      await Promise.all(Array.from({ length: 8 }, (_, i) => append(i)))
      const note = await notes.get(subject, { id })
      assert.deepEqual([note.version, [...note.text].sort().join('')], [9, '01234567'])
    })

    it('counts every write once when writes of all kinds conflict on the same records', async () => {
      const ids = (
        await notes.createAll(subject, Array(4).fill({ ehrId: 'mixed', text: '' }), permissions)
      ).map(({ id }) => id)
      const next = <T extends { text: string }>(note: T): T => ({ ...note, text: `${note.text}.` })
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
          runStoreTransaction(opened.context, async (tx) => {
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

    it('writes nothing when the change function throws', async () => {
      const { id } = await add('e')
      const refuse = () => {
        throw new ServiceError('RuleViolated', { violations: [] })
      }
      await assert.rejects(notes.update(subject, { id }, refuse), hasErrorName('RuleViolated'))
      assert.equal((await notes.get(subject, { id })).version, 1)
    })
  })

  describe('several writes in a transaction', () => {
    it('are committed together', async () => {
      const [firstRecord] = await runStoreTransaction(opened.context, async (tx) => {
        const note = await notes.create(subject, { ehrId: 'tx', text: '1' }, permissions, { tx })
        await notes.update(subject, { id: note.id }, (current) => ({ ...current, text: '2' }), { tx })
        return [await notes.get(subject, { id: note.id }, { tx })]
      })
      assert.deepEqual([firstRecord?.text, firstRecord?.version], ['2', 2])
    })

    it('are all rolled back when one fails', async () => {
      await addEhr('undone', ['subject'])
      const work = runStoreTransaction(opened.context, async (tx) => {
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
      await assert.rejects(work, hasErrorName('NotFound'))
      assert.equal(
        (await notes.list(subject, 'newest', { where: { ehrId: 'undone' }, limit: 1, count: true })).total,
        0,
      )
    })

    it('start the jobs of the attempt that is committed, and of no other one', async () => {
      const started: string[] = []
      const jobs = { ...opened.context.jobs, startJob: ({ _id }: Job) => started.push(_id) }
      let attempts = 0
      await runStoreTransaction({ ...opened.context, jobs } as StoreContext, async ({ queuedJobs }) => {
        attempts += 1
        queuedJobs.push({ _id: `job ${attempts}` } as Job)
        if (attempts === 1) throw new MongoServerError({ message: 'conflict', code: 112 })
      })
      assert.deepEqual(started, ['job 2'])
    })
  })

  describe('list', () => {
    const readPages = async (
      name: 'newest' | 'due' | 'byText',
      ehrId: string,
      limit: number,
      between?: () => Promise<unknown>,
    ) => {
      const items = []
      let cursor: string | undefined
      do {
        const page = await notes.list(subject, name, { where: { ehrId }, limit, cursor })
        assert.ok(page.items.length <= limit)
        items.push(...page.items)
        cursor = page.next ?? undefined
        await between?.()
      } while (cursor)
      return items
    }

    it('pages through equal and missing sort values without losing or repeating a record', async () => {
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
        const items = await readPages('due', 'paged', limit)
        assert.deepEqual(
          items.map(({ dueDate }) => dueDate ?? null),
          [null, null, null, null, '2025-12-31', '2026-01-01', '2026-01-01', '2026-01-02'],
        )
        assert.equal(new Set(items.map(({ id }) => id)).size, 8)
      }
    })

    it('pages backwards over the same pages, in both orders', async () => {
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

    it('repeats and loses no record when others write between two pages', async () => {
      const texts = Array.from({ length: 40 }, (_, i) => String(i).padStart(2, '0'))
      await notes.createAll(
        subject,
        texts.map((text) => ({ ehrId: 'moving', text })),
        permissions,
      )
      const write = () => add('moving', String(Math.floor(Math.random() * 40)).padStart(2, '0'))
      const items = await readPages('byText', 'moving', 7, write)
      assert.equal(new Set(items.map(({ id }) => id)).size, items.length)
      for (const text of texts) assert.ok(items.some((note) => note.text === text))
      assert.deepEqual(
        items.map(({ text }) => text),
        items.map(({ text }) => text).sort(),
      )
    })

    it('filters by conditions of each type', async () => {
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

    it('passes no operator of a caller to the database', async () => {
      for (const forged of [{ $gt: '' }, { $where: '1' }, { in: [{ $gt: '' }] }, { constructor: 1 }]) {
        const where = { ehrId: 'f', text: forged as never }
        await assert.rejects(notes.list(subject, 'byText', { where, limit: 1 }), TypeError)
      }
      await assert.rejects(notes.get(subject, { id: { $gt: '' } as never }), TypeError)
    })

    it('refuses a query without the fields of the list’s index', async () => {
      await assert.rejects(notes.list(subject, 'newest', { where: {}, limit: 1 }), TypeError)
    })

    it('refuses the cursor of another list', async () => {
      const page = await notes.list(subject, 'byText', { where: { ehrId: 'moving' }, limit: 1 })
      const query = { where: { ehrId: 'moving' }, limit: 1, cursor: page.next ?? '' }
      await assert.rejects(notes.list(subject, 'newest', query), hasErrorName('MalformedRequest'))
    })

    it('refuses a cursor with a position that is impossible in the list', async () => {
      for (const [name, value] of [
        ['newest', null],
        ['newest', 'text'],
        ['due', 5],
        ['byText', new Date()],
      ] as const) {
        const cursor = encodeCursor(qualifiedListName('Note', name), { value, id: 'x' })
        const query = { where: { ehrId: 'moving' }, limit: 1, cursor }
        await assert.rejects(notes.list(subject, name, query), hasErrorName('MalformedRequest'), name)
      }
    })
  })
})
