import assert from 'node:assert/strict'
import { connectUsers } from '../harness/care/owners.ts'
import { addParticipant, createPatient, createPlan } from '../harness/care/patients.ts'
import { createPerson } from '../harness/people/people.ts'
import { request, service } from '../harness/service/service.ts'

describe('attack: searching for data of a deleted account', () => {
  it('finds nothing personal after a deletion in the class family; EHRs stay', async () => {
    const patient = await createPatient()
    const leaver = await createPerson()
    const { mvUid } = leaver
    await leaver.call('PUT', `/profile/${mvUid}`, { name: { displayName: 'Anna' }, language: 'nl' })
    await connectUsers(leaver, patient)
    await addParticipant(await createPlan(patient), leaver, 'write')
    await leaver.call('PUT', `/auth/account/${mvUid}`, { email: 'elsewhere@example.org' })
    const sids = await service.db
      .collection('_Session')
      .find({ _p_user: `_User$${mvUid}` })
      .toArray()
    assert.equal(sids.length, 1)

    await request().delete(`/1/classes/_User/${mvUid}`).set(leaver.headers).expect(200)
    const left: [collection: string, filter: object][] = [
      ['_User', { _id: mvUid }],
      ['_Session', { _p_user: `_User$${mvUid}` }],
      ['auth.refresh_tokens', { sid: { $in: sids.map(({ _id }) => _id) } }],
      ['auth.email_changes', { _id: mvUid }],
      ['auth.identities', { mvUid }],
      ['_Join:users:_Role', { relatedId: mvUid }],
      ['plan.participants', { mvUid, status: 'ACTIVE' }],
      ['profile.persons', { _id: { $regex: mvUid } }],
      ['profile.connections', { _id: { $regex: mvUid } }],
    ]
    for (const [collection, filter] of left)
      assert.equal(await service.db.collection(collection).countDocuments(filter), 0, collection)
    assert.equal(await service.db.collection('Ehr').countDocuments({ subjectId: mvUid }), 1)
  })
})
