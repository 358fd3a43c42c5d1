import assert from 'node:assert/strict'
import type ParseSdk from 'parse/node'
import { createPlanInOwnEhr, ehrOf } from '../../harness/care/by-class-family.ts'
import { loadSdk } from '../../harness/clients/class-client.ts'
import { followLink, waitForMail } from '../../harness/mail/mail.ts'
import { createAddress, createPerson, type Person } from '../../harness/people/people.ts'

describe('the class family by the JavaScript SDK', () => {
  let user: Person
  let Parse: typeof ParseSdk
  let session: { sessionToken: string }

  const newObject = (className: string, values: Record<string, unknown>) =>
    new Parse.Object(className, values)

  before(async () => {
    user = await createPerson()
    Parse = loadSdk()
    session = { sessionToken: user.sessionToken }
  })

  it('leaves a saved object without dirty fields, and complete', async () => {
    const plan = newObject('CarePlan', {
      ehrId: await ehrOf(user),
      name: 'Plan',
      dueDate: new Date('2027-01-01'),
    })
    await plan.save(null, session)
    assert.equal(plan.dirty(), false)
    assert.deepEqual([plan.get('status'), plan.get('version'), plan.get('anonymous')], ['ACTIVE', 1, false])
    await plan.save({ notes: 'Some', status: 'COMPLETED' }, session)
    assert.equal(plan.dirty(), false)
    assert.deepEqual([plan.get('notes'), plan.get('version')], ['Some', 2])
    await plan.save(null, session)
    assert.equal(plan.get('version'), 2, 'a save without a change makes no version')
    plan.unset('notes')
    await plan.save(null, session)
    assert.equal(plan.dirty(), false)
    const read = await new Parse.Query('CarePlan').get(plan.id!, session)
    assert.deepEqual(read.toJSON(), plan.toJSON())
  })

  it('saves several at once', async () => {
    const { carePlanId } = await createPlanInOwnEhr(user)
    const pressures = [110, 120, 130].map((systolic) =>
      newObject('BloodPressure', { carePlanId, systolic, systolicUnit: 'mm[Hg]', timestamp: new Date() }),
    )
    await Parse.Object.saveAll(pressures, session)
    const query = new Parse.Query('BloodPressure')
      .equalTo('carePlanId', carePlanId)
      .greaterThan('systolic', 115)
    assert.equal((await query.find(session)).length, 2)
    assert.equal(await query.count(session), 2)
    await Parse.Object.destroyAll(pressures, session)
    assert.equal(await query.count(session), 0)
  })

  it('queries by fields of a payload', async () => {
    const context = await createPlanInOwnEhr(user)
    const custom = newObject('Custom', { ...context, modelClassName: 'Diary', payload: { mood: 'good' } })
    await custom.save(null, session)
    custom.set('payload.mood', 'better')
    await custom.save(null, session)
    assert.equal(custom.dirty(), false)
    const diaries = await new Parse.Query('Custom').equalTo('payload.mood', 'better').find(session)
    assert.deepEqual(
      diaries.map(({ id }) => id),
      [custom.id],
    )
  })

  it('reports errors as Parse errors', async () => {
    const { carePlanId } = await createPlanInOwnEhr(user)
    const faulty = newObject('BloodPressure', { carePlanId, systolic: 120 })
    await assert.rejects(faulty.save(null, session), (error: ParseSdk.Error) => {
      assert.deepEqual(
        [error.code, error.message],
        [141, 'Missing required properties: systolicUnit, timestamp'],
      )
      return true
    })
  })

  it('tells which properties of a clone to leave out, and saves it without them', async () => {
    const context = await createPlanInOwnEhr(user)
    const goal = newObject('Goal', { ...context, name: 'Walk', dueDate: new Date('2027-01-01') })
    await goal.save(null, session)
    const clone = goal.clone()
    await assert.rejects(clone.save(null, session), {
      code: 142,
      message:
        'ACL must not be set by clients: permissions follow from the EHR and from the participants of the care plan; status must not be set by clients; version must not be set by clients',
    })
    for (const name of ['ACL', 'status', 'version']) clone.revert(name)
    await clone.save(null, session)
    assert.notEqual(clone.id, goal.id)
    assert.deepEqual(
      [clone.get('name'), clone.get('dueDate'), clone.get('status'), clone.get('version')],
      ['Walk', goal.get('dueDate'), 'ACTIVE', 1],
    )
  })

  it('shows the address that holds until a new one is confirmed', async () => {
    const { email, password, mvUid } = await createPerson()
    const account = await Parse.User.logIn(email, password)
    const ownSession = { sessionToken: String(account.getSessionToken()) }
    const newAddress = createAddress()
    await account.save({ email: newAddress, username: newAddress, name: 'Anna' }, ownSession)
    assert.deepEqual(
      [account.get('email'), account.get('username'), account.get('name'), account.dirty()],
      [email, email, 'Anna', false],
    )
    await followLink((await waitForMail(newAddress)).link)
    const read = await new Parse.Query(Parse.User).get(mvUid, ownSession)
    assert.deepEqual([read.get('email'), read.get('username')], [newAddress, newAddress])
    await read.save({ name: 'Anna de Vries' }, ownSession)
    assert.deepEqual([read.get('email'), read.get('username')], [newAddress, newAddress])
  })

  it('runs functions', async () => {
    const params = { weight: 70, weightUnit: 'kg', height: 1.75, heightUnit: 'm' }
    assert.equal((await Parse.Cloud.run('bmi', params, session)).bmi, 22.9)
  })

  it('deletes an EHR with all its records', async () => {
    const ehr = newObject('Ehr', { subjectId: user.mvUid })
    await ehr.save(null, session)
    const plan = newObject('CarePlan', { ehrId: ehr.id, name: 'Plan' })
    await plan.save(null, session)
    await ehr.destroy(session)
    await assert.rejects(new Parse.Query('CarePlan').get(plan.id!, session), { code: 101 })
  })
})
