import assert from 'node:assert/strict'
import { Identities, identityLinksOf } from '../../../records/accounts/login/identities.ts'
import {
  IDENTITY_LOGIN,
  Sessions,
  sessionsOf,
  userPointer,
} from '../../../records/accounts/login/sessions.ts'
import { usersOf } from '../../../records/accounts/user/user.ts'
import { useTestStore } from '../../harness/test-store.ts'

const issuer = 'https://id.example'
const clock = () => new Date()

describe('the sessions that external identities began', () => {
  const opened = useTestStore()

  it('end with the links, even if the service is killed right after that', async () => {
    const { context, db } = opened
    const sessions = new Sessions(context, { forgetSessions: async () => {} }, clock)
    const killed: Pick<Sessions, 'endOfIdentities'> = {
      endOfIdentities: async (mvUid, keptSid, session) => {
        if (!session) throw new Error('killed')
        await sessions.endOfIdentities(mvUid, keptSid, session)
      },
    }
    const identities = new Identities(context, killed, async () => {}, clock)
    await usersOf(db).insertOne({ _id: 'ann' } as never)
    await identityLinksOf(db).insertOne({ _id: `${issuer} 1`, mvUid: 'ann', issuer, linkedAt: clock() })
    for (const [_id, authProvider] of [
      ['identity', IDENTITY_LOGIN],
      ['password', 'password'],
    ] as const)
      await sessionsOf(db).insertOne({
        _id,
        _p_user: userPointer('ann'),
        createdWith: { authProvider },
      } as never)
    await assert.rejects(identities.unlinkAll('ann'), /killed/)
    const left = await sessionsOf(db).find().toArray()
    assert.deepEqual(
      left.map(({ _id }) => _id),
      ['password'],
    )
  })
})
