import assert from 'node:assert/strict'
import { letIn, newPatient, newPlan } from '../harness/care/patients.ts'
import { newPerson } from '../harness/people/people.ts'
import { request, service } from '../harness/service/service.ts'

describe('attack: whoever looks for what a deleted account has left', () => {
  it('finds nothing personal when it was deleted in the class family; EHRs stay', async () => {
    const patient = await newPatient()
    const leaver = await newPerson()
    const { mvUid } = leaver
    await leaver.call('PUT', `/profile/${mvUid}`, { name: { displayName: 'Anna' }, language: 'nl' })
    for (const [one, two] of [
      [leaver, patient],
      [patient, leaver],
    ] as const)
      await one.call('POST', `/profile/${one.mvUid}/network`, { mvUid: two.mvUid })
    await letIn(await newPlan(patient), leaver, 'write')
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
