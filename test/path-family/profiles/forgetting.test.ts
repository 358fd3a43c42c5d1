import assert from 'node:assert/strict'
import type { Document } from 'mongodb'
import sharp from 'sharp'
import { Profiles } from '../../../records/profiles/profiles.ts'
import type { Records } from '../../../records/store/writing/transaction.ts'
import { connect, newOwner, type Owner } from '../../harness/care/owners.ts'
import { ok } from '../../harness/clients/path-client.ts'
import { password } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

/** What may go on naming somebody who is gone. */
const STAYS: Record<string, (document: Document) => boolean> = {
  // Who saw and changed what is not forgotten.
  'audit.entries': () => true,
  // What others have recorded about them.
  Ehr: () => true,
  // That something was made or removed, and by whom; not what was in it.
  'history.changes': ({ before, collection = '' }) => before === null || collection === 'Ehr',
}

describe('what is kept about a person', () => {
  let anna: Owner
  before(async () => {
    const bob = await newOwner({ name: 'Bob' })
    anna = await newOwner({ name: 'Anna' })
    await connect(anna, bob)
    for (const displayName of ['Anna', 'Ann']) ok(await anna.call('PUT', '', { name: { displayName } }))
    ok(await anna.call('POST', 'address', { usage: 'HOME', locality: 'Utrecht' }), 201)
    ok(await anna.call('POST', 'contact', { type: 'EMAIL', value: 'a@example.org', primary: true }), 201)
    ok(await anna.call('POST', 'relation', { name: { displayName: 'Bea' } }), 201)
    const picture = sharp({ create: { width: 60, height: 40, channels: 3, background: 'red' } }).png()
    ok(await anna.call('POST', 'picture', await picture.toBuffer(), { 'content-type': 'image/png' }), 201)
  })

  /** The collections in which something names Anna and may not stay. */
  async function naming(): Promise<string[]> {
    const found: string[] = []
    for (const { name } of await service.db.listCollections({}, { nameOnly: true }).toArray()) {
      const documents = service.db.collection(name).find()
      for await (const document of documents)
        if (!STAYS[name]?.(document) && JSON.stringify(document).includes(anna.mvUid)) {
          found.push(name)
          break
        }
    }
    return found.sort()
  }

  it('is gone with the account, in whichever store it was', async () => {
    const stores = new Profiles(service as unknown as Records).indexes().map(([collection]) => collection)
    const kept = await naming()
    assert.deepEqual(
      stores.filter((name) => !kept.includes(name)),
      [],
      'let Anna have something in these too',
    )
    ok(await anna.call('DELETE', `/auth/account/${anna.mvUid}`, { password }), 204)
    assert.deepEqual(await naming(), [], 'forgetPerson does not reach these')
  })
})
