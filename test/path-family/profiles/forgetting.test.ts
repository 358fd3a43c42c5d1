import assert from 'node:assert/strict'
import type { Document } from 'mongodb'
import sharp from 'sharp'
import { Profiles } from '../../../records/profiles/profiles.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import { connectUsers, createOwner, type Owner } from '../../harness/care/owners.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { password } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

/** Documents that may still contain the id of a deleted user. */
const STAYS: Record<string, (document: Document) => boolean> = {
  // The audit keeps who saw and changed data.
  'audit.entries': () => true,
  // Data that others have recorded about the user.
  Ehr: () => true,
  // The history keeps that a record was created or removed, and by whom, but not its content.
  'history.changes': ({ before, collection = '' }) => before === null || collection === 'Ehr',
  // It names entries of the history, for an hour, and only while somebody follows changes.
  'changes.log': () => true,
  // Two minutes later the service erases what requests under way have stored since.
  'auth.deleted_accounts': () => true,
}

describe('data about a person', () => {
  let anna: Owner
  before(async () => {
    const bob = await createOwner({ name: 'Bob' })
    anna = await createOwner({ name: 'Anna' })
    await connectUsers(anna, bob)
    for (const displayName of ['Anna', 'Ann'])
      assertStatus(await anna.call('PUT', '', { name: { displayName } }))
    assertStatus(await anna.call('POST', 'address', { usage: 'HOME', locality: 'Utrecht' }), 201)
    assertStatus(
      await anna.call('POST', 'contact', { type: 'EMAIL', value: 'a@example.org', primary: true }),
      201,
    )
    assertStatus(await anna.call('POST', 'relation', { name: { displayName: 'Bea' } }), 201)
    const picture = sharp({ create: { width: 60, height: 40, channels: 3, background: 'red' } }).png()
    assertStatus(
      await anna.call('POST', 'picture', await picture.toBuffer(), { 'content-type': 'image/png' }),
      201,
    )
  })

  /** The collections with documents that contain Anna's id without permission. */
  async function naming(): Promise<string[]> {
    const traces: string[] = []
    for (const { name } of await service.db.listCollections({}, { nameOnly: true }).toArray()) {
      const documents = service.db.collection(name).find()
      for await (const document of documents)
        if (!STAYS[name]?.(document) && JSON.stringify(document).includes(anna.mvUid)) {
          traces.push(name)
          break
        }
    }
    return traces.sort()
  }

  it('are deleted with the account in every store', async () => {
    const stores = new Profiles(service as unknown as StoreContext)
      .indexes()
      .map(([collection]) => collection)
    const collections = await naming()
    assert.deepEqual(
      stores.filter((name) => !collections.includes(name)),
      [],
      'let Anna have something in these too',
    )
    assertStatus(await anna.call('DELETE', `/auth/account/${anna.mvUid}`, { currentPassword: password }), 204)
    assert.deepEqual(await naming(), [], 'forgetPerson does not reach these')
  })
})
