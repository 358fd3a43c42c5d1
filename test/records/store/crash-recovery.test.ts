import assert from 'node:assert/strict'
import { verifyAudit } from '../../../records/store/audit/verifier.ts'
import { AUDIT_KEY, createCaller, useTestStore } from '../../harness/test-store.ts'
import { waitUntil } from '../../harness/wait.ts'

const subject = createCaller('subject')
const permissions = { read: ['subject'], write: ['subject'] }

/** For crashes of the service itself see test/crash-recovery. */
describe('records after a crash', function () {
  this.timeout(60_000)
  const opened = useTestStore()

  it('contain every acknowledged write with its history and audit when the engine was killed', async () => {
    const ended: Promise<unknown>[] = []
    for (let round = 0; round < 3; round++) {
      const acknowledged = new Map<string, number>()
      const { notes } = opened
      const writers = Array.from({ length: 16 }, async () => {
        for (;;) {
          const { id } = await notes.create(subject, { ehrId: 'e', text: '' }, permissions)
          acknowledged.set(id, 1)
          const { version } = await notes.update(subject, { id }, (note) => ({ ...note, text: 'x' }))
          acknowledged.set(id, version)
          await notes.get(subject, { id, ehrId: 'e' })
        }
      })
      // Pending requests give up after a while, because the connections of the round are closed.
      ended.push(Promise.allSettled(writers))
      // Random, so that each crash interrupts another step.
      const enough = 50 + Math.random() * 50
      await waitUntil(() => acknowledged.size > enough)
      await opened.engine.kill()
      await opened.engine.restart()
      await opened.reopen()
      await holdTogether(acknowledged)
    }
    await Promise.all(ended)
  })

  async function holdTogether(acknowledged: Map<string, number>): Promise<void> {
    const documents = await opened.db.collection<{ _id: string; version: number }>('Note').find().toArray()
    const versions = new Map(documents.map(({ _id, version }) => [_id, version]))
    assert.ok(acknowledged.size > 0)
    for (const [id, version] of acknowledged) assert.ok((versions.get(id) ?? 0) >= version)
    const changes = await opened.db.collection<{ _id: string }>('history.changes').find().toArray()
    const writes = { action: { $in: ['create', 'update'] } }
    const entries = await opened.db.collection<{ ids: string[] }>('audit.entries').find(writes).toArray()
    assert.deepEqual(countOccurrences(changes.map(({ _id }) => _id.split('/')[2])), versions)
    assert.deepEqual(countOccurrences(entries.flatMap(({ ids }) => ids)), versions)
    assert.equal((await verifyAudit(opened.db, AUDIT_KEY)).broken, null)
  }
})

function countOccurrences(ids: Array<string | undefined>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const id of ids) counts.set(id ?? '', (counts.get(id ?? '') ?? 0) + 1)
  return counts
}
