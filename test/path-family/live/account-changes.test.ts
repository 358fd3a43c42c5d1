import assert from 'node:assert/strict'
import { connectUsers } from '../../harness/care/owners.ts'
import { createPatient, createPlan, letTakePart, type Patient } from '../../harness/care/patients.ts'
import { type EventSource, openEventSource } from '../../harness/clients/event-source.ts'
import { subscribeBySdk } from '../../harness/clients/live-client.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'
import { actFor, createHelper, inviteHelper, termsOf } from '../../harness/people/helper-invitations.ts'
import { createAdmin, createPerson, logInAs, type Person, password } from '../../harness/people/people.ts'
import { waitUntil } from '../../harness/wait.ts'

const pathOf = ({ mvUid }: Person) => `/auth/account/${mvUid}/changes`

describe('the changes that concern an account', () => {
  let anna: Patient
  let piet: Person
  const open: EventSource[] = []
  beforeEach(async () => {
    ;[anna, piet] = await Promise.all([createPatient(), createPerson()])
  })
  afterEach(() => {
    for (const one of open.splice(0)) one.close()
  })

  const follow = async (who: Person) => {
    const source = await openEventSource(who, pathOf(who))
    open.push(source)
    return source
  }
  const dataOf = async (source: EventSource) => {
    const { name, data } = await source.next()
    assert.equal(name, 'change')
    return data
  }

  it('tell both sides within a second of an invitation, its acceptance, new terms and the end', async () => {
    const ofPerson = await follow(anna)
    const ofHelper = await follow(piet)
    const agreement = `/profile/${anna.mvUid}/helper`
    const accept = `/profile/${piet.mvUid}/helping/${anna.mvUid}/accept`
    const invite = (acts: ['READ'] | ['PLAN']) =>
      anna.call('POST', agreement, { mvUid: piet.mvUid, ...termsOf(acts) })
    const steps = [
      { by: anna, operation: 'create', take: () => invite(['READ']) },
      { by: piet, operation: 'update', take: () => piet.call('POST', accept) },
      { by: anna, operation: 'update', take: () => invite(['PLAN']) },
      { by: anna, operation: 'update', take: () => anna.call('DELETE', `${agreement}/${piet.mvUid}`) },
    ]
    for (const [i, { by, operation, take }] of steps.entries()) {
      assert.ok((await take()).status < 300)
      for (const [source, href] of [
        [ofPerson, `${agreement}/${piet.mvUid}`],
        [ofHelper, `/profile/${piet.mvUid}/helping/${anna.mvUid}`],
      ] as const) {
        const { id: _, at: __, ...change } = await dataOf(source)
        const helperChange = { type: 'Helper', operation, version: i + 1, href }
        assert.deepEqual(change, { ...helperChange, userId: by.mvUid, onBehalfOf: null })
      }
    }
  })

  it('tell both sides of their conversation, and the other one when an account is deleted', async () => {
    await connectUsers(anna, piet)
    const sources = [await follow(anna), await follow(piet)] as const
    const newTopic = { title: 'Tomorrow', text: 'At nine?' }
    const { id } = assertStatus(await anna.call('POST', `/chat/network/${piet.mvUid}`, newTopic), 201)
    for (const [source, other] of [
      [sources[0], piet],
      [sources[1], anna],
    ] as const) {
      const { type, operation, href } = await dataOf(source)
      assert.deepEqual([type, operation, href], ['ChatTopic', 'create', `/chat/network/${other.mvUid}/${id}`])
    }
    const topicSource = await openEventSource(piet, `/chat/network/${anna.mvUid}/${id}/changes`)
    open.push(topicSource)
    const bySdk = await subscribeBySdk(piet, 'ChatTopic', (query) => query.equalTo('about', 'network'))
    const deletion = { currentPassword: password }
    assertStatus(await anna.call('DELETE', `/auth/account/${anna.mvUid}`, deletion), 204)
    const { type, operation, id: erasedId, userId } = await dataOf(sources[1])
    assert.deepEqual([type, operation, erasedId, userId], ['ChatTopic', 'delete', id, 'service'])
    // Without the connection the stream of the topic ends, perhaps before the topic is erased.
    await waitUntil(() => topicSource.hasEnded())
    const [op, object] = await bySdk.next()
    assert.deepEqual([op, object.id], ['delete', id])
    bySdk.close()
  })

  it('tell the person of a refusal', async () => {
    await inviteHelper(anna, piet, ['READ'])
    const source = await follow(anna)
    assertStatus(await piet.call('DELETE', `/profile/${piet.mvUid}/helping/${anna.mvUid}`), 204)
    const { type, userId, href } = await dataOf(source)
    const expected = ['Helper', piet.mvUid, `/profile/${anna.mvUid}/helper/${piet.mvUid}`]
    assert.deepEqual([type, userId, href], expected)
  })

  it('tell neither a stranger nor another helper of the agreement of somebody else', async () => {
    const [otherHelper, stranger] = await Promise.all([createPerson(), createPerson()])
    await createHelper(anna, otherHelper, ['READ'])
    const sources = [await follow(otherHelper), await follow(stranger)]
    await createHelper(anna, piet, ['READ'])
    // The next event of each is about their own agreement.
    await inviteHelper(stranger, otherHelper, ['READ'])
    const paths = [
      `/profile/${otherHelper.mvUid}/helping/${stranger.mvUid}`,
      `/profile/${stranger.mvUid}/helper/${otherHelper.mvUid}`,
    ]
    for (const [i, source] of sources.entries()) assert.equal((await dataOf(source)).href, paths[i])
  })

  it('belong to the user alone: others get a 404, and a helper who acts for them a 403', async () => {
    const [stranger, admin] = await Promise.all([createPerson(), createAdmin()])
    await createHelper(anna, piet, ['READ', 'RECORD', 'MESSAGES', 'PLAN'])
    for (const other of [stranger, admin, piet])
      assertProblem(await other.call('GET', pathOf(anna)), 404, 'not-found')
    const acting = await actFor(anna, piet)
    assertProblem(await acting.call('GET', pathOf(anna)), 403, 'forbidden')
    assertProblem(await acting.call('GET', pathOf(piet)), 403, 'forbidden')
  })

  it('end with the session', async () => {
    const source = await follow(await logInAs(anna.email))
    const { items } = assertStatus(await anna.call('GET', '/auth/sessions'))
    const other = items.find(({ current }: { current: boolean }) => !current)
    assertStatus(await anna.call('DELETE', `/auth/sessions/${other.sid}`), 204)
    await source.ended()
  })

  it('tell a user of the plans of others in which they take part, and of no other participant', async () => {
    const colleague = await createPerson()
    const planId = await createPlan(anna)
    await letTakePart(anna, planId, colleague, { access: 'WRITE' })
    const ofNurse = await follow(piet)
    const ofColleague = await follow(colleague)
    const added = await letTakePart(anna, planId, piet, { access: 'READ' })
    const path = `/ehr/${anna.ehrId}/careplan/${planId}/participant/${added.participationId}`
    const { type, operation, href } = await dataOf(ofNurse)
    assert.deepEqual([type, operation, href], ['Participation', 'create', path])
    assert.equal(assertStatus(await piet.call('GET', path)).mvUid, piet.mvUid)
    assertStatus(await anna.call('DELETE', `careplan/${planId}/participant/${added.participationId}`), 204)
    const end = await dataOf(ofNurse)
    assert.deepEqual([end.type, end.version, end.href], ['Participation', 2, null])
    await inviteHelper(colleague, piet, ['READ'])
    assert.equal((await dataOf(ofColleague)).type, 'Helper')
  })

  it('tell participants that a care plan was deleted and that it has returned, as do other streams', async () => {
    const planId = await createPlan(anna)
    await letTakePart(anna, await createPlan(anna), piet, { access: 'READ' })
    await letTakePart(anna, planId, piet, { access: 'READ' })
    const [former, stranger] = await Promise.all([createPerson(), createPerson()])
    const { participationId } = await letTakePart(anna, planId, former, { access: 'READ' })
    assertStatus(await anna.call('DELETE', `careplan/${planId}/participant/${participationId}`), 204)
    const followPath = async (path: string) => {
      const source = await openEventSource(piet, path)
      open.push(source)
      return source
    }
    const sources = [
      await follow(piet),
      await followPath(`/ehr/${anna.ehrId}/changes`),
      await followPath('/worklist/changes'),
    ]
    const ofOthers = [await follow(former), await follow(stranger), await follow(anna)]
    const bySdk = await subscribeBySdk(piet, 'CarePlan', (query) => query.equalTo('ehrId', anna.ehrId))
    const path = `/ehr/${anna.ehrId}/careplan/${planId}`
    for (const [operation, change] of [
      ['delete', () => anna.call('DELETE', path)],
      ['create', () => anna.call('POST', `${path}/restore`, { version: 1 })],
    ] as const) {
      assert.ok((await change()).status < 300)
      for (const source of sources) {
        const { type, id, operation: told } = await dataOf(source)
        assert.deepEqual([type, id, told], ['CarePlan', planId, operation])
      }
      const [op, object] = await bySdk.next()
      assert.deepEqual([op, object.id], [operation, planId])
    }
    bySdk.close()
    for (const who of [former, stranger, anna]) await inviteHelper(who, piet, ['READ'])
    for (const source of ofOthers) assert.equal((await dataOf(source)).type, 'Helper')
  })

  it('tell a user of their account and saved views, whatever the others save', async () => {
    const admin = await createAdmin()
    const source = await follow(piet)
    const ofAdmin = await follow(admin)
    const account = `/auth/account/${piet.mvUid}`
    assertStatus(await admin.call('PUT', account, { roles: ['analyst'] }))
    const views = { views: [{ name: 'Mine', mine: true }] }
    assertStatus(await piet.call('PUT', '/worklist/views', views))
    assertStatus(await admin.call('PUT', '/worklist/views', views))
    const changes = [await dataOf(source), await dataOf(source)]
    assert.deepEqual(
      changes.map(({ type, href, userId }) => [type, href, userId]),
      [
        ['Account', account, admin.mvUid],
        ['WorklistViews', '/worklist/views', piet.mvUid],
      ],
    )
    const { type, userId } = await dataOf(ofAdmin)
    assert.deepEqual([type, userId], ['WorklistViews', admin.mvUid])
  })
})
