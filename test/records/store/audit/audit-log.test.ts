import assert from 'node:assert/strict'
import { engineOfBlock } from '@health-record-service/embedded-mongo/testing'
import { listAccesses } from '../../../../records/store/audit/audit-log.ts'
import { removeEntriesBefore } from '../../../../records/store/audit/checkpoints.ts'
import { type VerificationProgress, verifyAudit } from '../../../../records/store/audit/verifier.ts'
import type { PendingWrites } from '../../../../records/store/batching/pending-writes.ts'
import { newId } from '../../../../records/store/documents/ids.ts'
import { recordAllCommands } from '../../../harness/service/database-commands.ts'
import {
  AUDIT_KEY,
  createCaller,
  createNoteStore,
  openTestStore,
  type TestStore,
} from '../../../harness/test-store.ts'

const subject = createCaller('subject')
const stranger = createCaller('stranger')
const permissions = { read: ['subject'], write: ['subject'] }
const listing = {
  requestId: 'r',
  userId: 'subject',
  application: 'tests',
  action: 'query' as const,
  type: 'Note',
  ids: [],
  outcome: 'done' as const,
}

interface StoredEntry {
  _id: string
  [field: string]: unknown
}

describe('the audit log', () => {
  const engine = engineOfBlock()
  let opened: TestStore

  beforeEach(async () => {
    opened = await openTestStore(engine)
  })
  afterEach(() => opened.close())

  const entries = () => opened.db.collection<StoredEntry>('audit.entries')
  const verify = () => verifyAudit(opened.db, AUDIT_KEY)
  const note = (ehrId = 'e') =>
    opened.notes.create({ ...subject, requestId: newId() }, { ehrId, text: 't' }, permissions)

  /** Writes and reads on several chains. */
  async function work(ehrId = 'e') {
    await Promise.all(Array.from({ length: 12 }, () => note(ehrId)))
    const { items } = await opened.notes.list(subject, 'newest', { where: { ehrId }, limit: 5 })
    await Promise.all(items.map(({ id }) => opened.notes.get(subject, { id })))
  }

  describe('the entries', () => {
    const listLines = async (ehrId: string) =>
      (await listAccesses(opened.db, { ehrId }, { limit: 100 })).items
        .map(({ userId, action, ids, outcome }) => `${userId} ${action} ${ids.join()} ${outcome}`)
        .reverse()

    it('include every access with user and application, also refused and empty ones', async () => {
      const { id } = await note()
      await opened.notes.get(subject, { id, ehrId: 'e' })
      await opened.notes.get(stranger, { id, ehrId: 'e' }).catch(() => {})
      await opened.notes.list(stranger, 'newest', { where: { ehrId: 'e' }, limit: 5 }).catch(() => {})
      await opened.notes.list(subject, 'newest', { where: { ehrId: 'e' }, limit: 5 })
      await opened.notes.update(subject, { id, ehrId: 'e' }, (current) => current)
      await opened.notes
        .update(subject, { id, ehrId: 'e' }, (current) => current, { expected: [1] })
        .catch(() => {})
      await opened.notes.remove(stranger, { id, ehrId: 'e' }).catch(() => {})
      await opened.notes.remove(subject, { id, ehrId: 'e' })
      assert.deepEqual((await listLines('e')).sort(), [
        `stranger delete ${id} denied`,
        'stranger query  denied',
        `stranger read ${id} denied`,
        `subject create ${id} done`,
        `subject delete ${id} done`,
        `subject query ${id} done`,
        `subject read ${id} done`,
        `subject update ${id} done`,
        `subject update ${id} refused`,
      ])
      const [entry] = (await listAccesses(opened.db, { ehrId: 'e' }, { limit: 1 })).items
      assert.equal(entry?.requestId, subject.requestId)
      assert.equal(entry?.application, 'tests')
      assert.equal(entry?.type, 'Note')
      assert.ok(entry?.at instanceof Date)
    })

    it('are listed by bounded queries, however many sets of EHRs there are', async () => {
      const now = Date.now()
      const HOUR_MS = 3_600_000
      const scopes = Array.from({ length: 1_200 }, (_, i) => ({
        _id: `ehrs-${i}`,
        ehrIds: ['e', `e${i}`],
        usedAt: new Date(now - i * HOUR_MS),
      }))
      await opened.db.collection<StoredEntry>('audit.scopes').insertMany(scopes)
      const query = { requestId: 'r', userId: 'u', application: 'a', action: 'query', type: 'Note', ids: [] }
      // Each set was used once in each of the hours before.
      const queries = scopes.flatMap(({ _id: ehrId, usedAt }) =>
        [0, 1].map((hour) => ({
          ...query,
          _id: `of ${ehrId} ${hour}`,
          ehrId,
          at: new Date(usedAt.getTime() - hour * HOUR_MS + 1),
          mac: 'x',
        })),
      )
      await entries().insertMany(queries)
      const ownEntry = { ...query, _id: 'own', ehrId: 'e', at: new Date(now), mac: 'x' }
      await entries().insertOne(ownEntry)
      const listed: string[] = []
      const commands = await recordAllCommands(async () => {
        let cursor: string | undefined
        do {
          const page = await listAccesses(opened.db, { ehrId: 'e' }, { limit: 400, cursor, count: !cursor })
          if (!cursor) assert.equal(page.total, queries.length + 1)
          listed.push(...page.items.map(({ _id }) => _id))
          cursor = page.next ?? undefined
        } while (cursor)
      }, /^audit\./)
      const inOrder = [...queries, ownEntry].sort(
        (a, b) => b.at.getTime() - a.at.getTime() || (a._id < b._id ? 1 : -1),
      )
      assert.deepEqual(
        listed,
        inOrder.map(({ _id }) => _id),
      )
      const longest = commands.map((command) => JSON.stringify(command).split('"ehrs-').length - 1)
      assert.ok(Math.max(...longest) <= 500, `${Math.max(...longest)} ids`)
    })

    it('keep the outcomes of one request apart', async () => {
      const outcomes = ['done', 'denied', 'refused', 'done'] as const
      await opened.audit.record(...outcomes.map((outcome) => ({ ...listing, ehrId: 'e', outcome })))
      const { items } = await listAccesses(opened.db, { ehrId: 'e' }, { limit: 5 })
      assert.deepEqual(items.map(({ outcome }) => outcome).sort(), ['denied', 'done', 'refused'])
    })

    it('contain the fields of a query without their values', async () => {
      const where = { ehrId: 'e', text: 'secret', dueDate: { from: '2026-01-01' } }
      await opened.notes.list(subject, 'newest', { where, limit: 5 }).catch(() => {})
      assert.equal((await entries().findOne({ action: 'query' }))?.asked, 'newest: ehrId text dueDate:from')
      assert.equal(JSON.stringify(await entries().find().toArray()).includes('secret'), false)
    })

    it('show the subject of each EHR which of their records a query returned', async () => {
      const one = await note('one')
      const two = await note('two')
      await opened.notes.list(subject, 'mine', { where: {}, limit: 5 })
      assert.ok((await listLines('one')).includes(`subject query ${one.id} done`))
      assert.ok((await listLines('two')).includes(`subject query ${two.id} done`))
    })

    it('are listed for the subject in pages, newest first', async () => {
      await work()
      const accesses = (await listAccesses(opened.db, { ehrId: 'e' }, { limit: 100 })).items
      const paged = []
      let cursor: string | undefined
      do {
        const page = await listAccesses(opened.db, { ehrId: 'e' }, { limit: 4, cursor })
        paged.push(...page.items)
        cursor = page.next ?? undefined
      } while (cursor)
      assert.deepEqual(paged, accesses)
      assert.equal(accesses.length, 18)
      assert.deepEqual(
        accesses.map(({ at }) => +at),
        accesses.map(({ at }) => +at).sort((a, b) => b - a),
      )
    })

    it('verify with text that the database would store differently', async () => {
      await opened.notes.get(subject, { id: `\ud800${'x'.repeat(5000)}`, ehrId: '\udc00' }).catch(() => {})
      assert.equal((await verify()).broken, null)
    })
  })

  describe('the chain', () => {
    it('verifies while several instances write, and reports progress', async () => {
      const first = opened.audit
      await work()
      await opened.reopen()
      const second = createNoteStore(opened.context)
      await Promise.all([work(), second.create(subject, { ehrId: 'e', text: 't' }, permissions)])
      await first.close()
      const progress: VerificationProgress[] = []
      const verdict = await verifyAudit(opened.db, AUDIT_KEY, (at) => progress.push(at))
      assert.equal(verdict.broken, null)
      assert.equal(verdict.instances, 2)
      assert.equal(verdict.entries, await entries().countDocuments())
    })

    it('is shared by no two transactions, also after one whose repetition has no accesses', async () => {
      const chains: string[] = []
      const note = (_: unknown, [entry]: StoredEntry[]) => chains.push(entry?._id.slice(0, -13) ?? '')
      const pending = { insert: note } as unknown as PendingWrites
      const repeated = opened.audit.joinTransaction()
      for (const accesses of [[{ ...listing, ehrId: 'e' }], []]) await repeated.write(accesses, pending)
      repeated.settle('written')
      const otherWrites = [opened.audit.joinTransaction(), opened.audit.joinTransaction()]
      for (const one of otherWrites) await one.write([{ ...listing, ehrId: 'e' }], pending)
      assert.notEqual(chains[1], chains[2])
      for (const one of otherWrites) one.settle('not written')
    })

    it('verifies while entries are written and old ones are removed', async () => {
      let busy = true
      const writing = (async () => {
        while (busy) await work()
      })()
      const removing = (async () => {
        while (busy) await removeEntriesBefore(opened.db, AUDIT_KEY, new Date(Date.now() - 30))
      })()
      const broken = []
      for (let i = 0; i < 10; i++) broken.push((await verify()).broken)
      busy = false
      await Promise.all([writing, removing])
      assert.deepEqual([...broken, (await verify()).broken], Array(11).fill(null))
    })

    /** Manipulations by an attacker who has the database but not the key, given a chain and its entry ids. */
    const tampering: Record<string, (chain: string, ids: string[]) => Promise<unknown>> = {
      'a changed entry': (_, [, _id = '']) => entries().updateOne({ _id }, { $set: { userId: 'nobody' } }),
      'an entry without its ids': (_, [, _id = '']) => entries().updateOne({ _id }, { $unset: { ids: 1 } }),
      'another id in an entry': (_, [_id = '']) => entries().updateOne({ _id }, { $set: { ids: ['other'] } }),
      'a removed entry': (_, [, _id = '']) => entries().deleteOne({ _id }),
      'a removed first entry': (_, [_id = '']) => entries().deleteOne({ _id }),
      'a removed last entry': (_, ids) => entries().deleteOne({ _id: ids.at(-1) ?? '' }),
      'a removed chain': (_, ids) => entries().deleteMany({ _id: { $in: ids } }),
      'an added entry': (chain, [id = '']) => copy(id, `${chain}-000000999999`),
      'an added entry before the first': (chain, [id = '']) => copy(id, `${chain}-000000000000`),
      'an entry with another kind of id': (chain, [id = '']) => copy(id, `${chain}-x`),
      'an added chain': (_, [id = '']) => copy(id, '7-0-000000000001'),
      'two exchanged entries': async (_, [one = '', two = '']) => {
        const first = await entries().findOne({ _id: one })
        const second = await entries().findOne({ _id: two })
        await entries().replaceOne({ _id: one }, { ...second, _id: one })
        await entries().replaceOne({ _id: two }, { ...first, _id: two })
      },
      'an entry without its mac': (_, [, _id = '']) => entries().updateOne({ _id }, { $unset: { mac: 1 } }),
      'an added field in an entry': (_, [_id = '']) => entries().updateOne({ _id }, { $set: { note: 'x' } }),
      'an entry with a non-text id': () => entries().insertOne({ _id: 5 as never }),
      'an instance without its seal': () => instances().updateOne({ _id: 1 }, { $unset: { seal: 1 } }),
      'an instance with malformed heads': () => instances().updateOne({ _id: 1 }, { $set: { heads: 5 } }),
      'a removed instance': () => instances().deleteOne({ _id: 1 }),
      'reset heads': () => instances().updateOne({ _id: 1 }, { $set: { heads: [] } }),
      'a changed set of EHRs': () => scopes().updateOne({}, { $set: { ehrIds: ['e'] } }),
      'a removed set of EHRs': () => scopes().deleteMany({}),
    }
    const instances = () => opened.db.collection<{ _id: number }>('audit.instances')
    const scopes = () => opened.db.collection('audit.scopes')
    const copy = async (from: string, _id: string) =>
      entries().insertOne({ ...(await entries().findOne({ _id: from })), _id })

    /**
     * Lets one instance write and end, and starts another one. @returns the longest chain of the first one
     */
    async function ended(): Promise<[chain: string, ids: string[]]> {
      await work()
      for (let i = 0; i < 4; i++) await note()
      await opened.audit.record({ ...listing, ehrId: await opened.audit.saveScope(['e', 'f']) })
      await opened.audit.close()
      await opened.reopen()
      const chains = new Map<string, string[]>()
      for (const { _id } of await entries().find().sort({ _id: 1 }).toArray()) {
        const chain = _id.slice(0, -13)
        chains.set(chain, [...(chains.get(chain) ?? []), _id])
      }
      const [longest] = [...chains].sort(([, a], [, b]) => b.length - a.length)
      assert.ok(longest && longest[1].length > 3)
      return longest
    }

    for (const [title, tamper] of Object.entries(tampering)) {
      it(`detects ${title}`, async () => {
        const [chain, ids] = await ended()
        assert.equal((await verify()).broken, null)
        await tamper(chain, ids)
        assert.notEqual((await verify()).broken, null)
      })
    }

    it('names the first broken link', async () => {
      const [, [, _id = '']] = await ended()
      await entries().updateOne({ _id }, { $set: { at: new Date(0) } })
      assert.deepEqual((await verify()).broken, { at: _id, reason: 'its content was changed' })
    })

    it('fails verification with another key', async () => {
      await work()
      assert.notEqual((await verifyAudit(opened.db, 'another key')).broken, null)
    })
  })

  describe('retention', () => {
    it('removes old entries and keeps the others verifiable', async () => {
      await work()
      await new Promise((resolve) => setTimeout(resolve, 5))
      const moment = new Date()
      await work()
      const [before, older] = await Promise.all([
        entries().countDocuments(),
        entries().countDocuments({ at: { $lt: moment } }),
      ])
      assert.equal(await removeEntriesBefore(opened.db, AUDIT_KEY, moment), older)
      assert.equal(await entries().countDocuments(), before - older)
      assert.equal((await verify()).broken, null)
      await work()
      assert.equal((await verify()).broken, null)
      assert.equal(await removeEntriesBefore(opened.db, AUDIT_KEY, moment), 0)
    })

    it('can remove all entries, and the chains continue', async () => {
      await work()
      await removeEntriesBefore(opened.db, AUDIT_KEY, new Date(Date.now() + 1000))
      assert.equal(await entries().countDocuments(), 0)
      await work()
      assert.equal((await verify()).broken, null)
    })

    it('can run twice at the same time', async () => {
      await work()
      const soon = new Date(Date.now() + 1000)
      await Promise.all([soon, new Date()].map((moment) => removeEntriesBefore(opened.db, AUDIT_KEY, moment)))
      assert.equal((await verify()).broken, null)
    })

    it('detects a removal that is covered by a forged checkpoint', async () => {
      await work()
      const firstEntry = await entries().findOne({}, { sort: { _id: 1 } })
      const chain = firstEntry?._id.slice(0, -13) ?? ''
      await entries().deleteOne({ _id: firstEntry?._id ?? '' })
      const forged = {
        _id: chain,
        sequence: 1,
        mac: firstEntry?.mac,
        removedBefore: new Date(),
        seal: firstEntry?.mac,
      }
      await opened.db.collection<StoredEntry>('audit.checkpoints').insertOne(forged)
      const reason = 'its checkpoint was not signed with this key'
      assert.deepEqual((await verify()).broken, { at: chain, reason })
    })
  })
})
