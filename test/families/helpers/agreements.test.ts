import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { callFunction } from '../../harness/clients/class-client.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { mailsTo, waitForMailAbout } from '../../harness/mail/mail.ts'
import {
  actFor,
  createHelper,
  inDays,
  inviteHelper,
  termsOf,
} from '../../harness/people/helper-invitations.ts'
import { createAdmin, createPerson, logInAs, type Person } from '../../harness/people/people.ts'
import { startSecondInstance } from '../../harness/service/second-instance.ts'
import { config, request, service } from '../../harness/service/service.ts'
import { stopProcess } from '../../harness/service/service-process.ts'
import { bySize } from '../../harness/test-size.ts'
import { waitFor, waitUntil } from '../../harness/wait.ts'

/** The outcome of a call: its result, or the status of the path family for its refusal. */
type Outcome = Record<string, unknown> | number

interface Family {
  invite(person: Person, helper: Person, terms: object): Promise<Outcome>
  accept(person: Person, helper: Person): Promise<Outcome>
  act(person: Person, helper: Person): Promise<Outcome>
  end(by: 'person' | 'helper', person: Person, helper: Person): Promise<Outcome>
  list(by: 'person' | 'helper', who: Person): Promise<Outcome[]>
}

const STATUSES: Readonly<Record<number, number>> = { 101: 404, 119: 403, 141: 422, 142: 422 }

async function callPath(who: Person, method: string, path: string, body?: object): Promise<Outcome> {
  const answer = await who.call(method, `/profile/${who.mvUid}/${path}`, body)
  return answer.status < 300 ? answer.body || {} : answer.status
}

async function callClass(who: Person, name: string, params: object): Promise<Outcome> {
  const { body } = await callFunction(who, name, { ...params })
  return body.result ?? STATUSES[body.code] ?? body.code
}

const families: Record<'path' | 'class', Family> = {
  path: {
    invite: (person, { mvUid }, terms) => callPath(person, 'POST', 'helper', { mvUid, ...terms }),
    accept: ({ mvUid }, helper) => callPath(helper, 'POST', `helping/${mvUid}/accept`),
    act: ({ mvUid }, helper) => callPath(helper, 'POST', `helping/${mvUid}/act`),
    end: (by, person, helper) =>
      by === 'person'
        ? callPath(person, 'DELETE', `helper/${helper.mvUid}`)
        : callPath(helper, 'DELETE', `helping/${person.mvUid}`),
    list: async (by, who) =>
      ((await callPath(who, 'GET', by === 'person' ? 'helper' : 'helping')) as { items: Outcome[] }).items,
  },
  class: {
    invite: (person, { mvUid }, terms) => callClass(person, 'inviteHelper', { mvUid, ...terms }),
    accept: ({ mvUid }, helper) => callClass(helper, 'acceptHelping', { mvUid }),
    act: ({ mvUid }, helper) => callClass(helper, 'actForPerson', { mvUid }),
    end: (by, person, helper) =>
      by === 'person'
        ? callClass(person, 'endHelper', { mvUid: helper.mvUid })
        : callClass(helper, 'endHelping', { mvUid: person.mvUid }),
    list: async (by, who) => {
      const name = by === 'person' ? 'listHelpers' : 'listHelpedPersons'
      return ((await callClass(who, name, {})) as { items: Outcome[] }).items
    },
  },
}

const statesIn = (items: Outcome[]) =>
  (items as Record<string, unknown>[]).map(({ mvUid, state }) => [mvUid, state])

for (const [name, family] of Object.entries(families))
  describe(`agreements with helpers, by the ${name} family`, () => {
    let person: Person
    let helper: Person
    beforeEach(async () => {
      ;[person, helper] = await Promise.all([createPerson(), createPerson()])
    })

    it('let the helper act from the acceptance until either of both ends it', async () => {
      const { state, acts } = (await family.invite(person, helper, termsOf(['RECORD']))) as never
      assert.deepEqual([state, acts], ['INVITED', ['READ', 'RECORD']])
      assert.deepEqual(statesIn(await family.list('helper', helper)), [[person.mvUid, 'INVITED']])
      assert.equal(await family.act(person, helper), 404)
      assert.equal(((await family.accept(person, helper)) as { state: string }).state, 'ACTIVE')
      const granted = (await family.act(person, helper)) as { mvUid: string; acts: string[] }
      assert.deepEqual([granted.mvUid, granted.acts], [person.mvUid, ['READ', 'RECORD']])
      for (const party of ['person', 'helper'] as const) {
        assert.equal(typeof (await family.end(party, person, helper)), 'object')
        assert.deepEqual(statesIn(await family.list('person', person)), [[helper.mvUid, 'ENDED']])
        assert.equal(await family.act(person, helper), 404)
        await family.invite(person, helper, termsOf(['READ']))
        await family.accept(person, helper)
      }
    })

    it('are made with other users only, from now or later until later', async () => {
      for (const mvUid of [person.mvUid, 'nobody'])
        assert.equal(await family.invite(person, { ...helper, mvUid }, termsOf(['READ'])), 422)
      for (const terms of [
        { until: inDays(-1) },
        { from: inDays(3), until: inDays(2) },
        { acts: ['PASSWORD'] },
        { acts: [] },
        { relation: 'STRANGER' },
      ]) {
        const outcome = await family.invite(person, helper, { ...termsOf(['READ']), ...terms })
        assert.ok(outcome === 422 || outcome === 400, JSON.stringify([terms, outcome]))
      }
      assert.deepEqual(await family.list('person', person), [])
    })

    it('are not there for strangers, nor for administrators', async () => {
      await createHelper(person, helper, ['READ'])
      for (const other of [await createPerson(), await createAdmin()]) {
        assert.deepEqual(await family.list('person', other), [])
        assert.equal(await family.act(person, other), 404)
        assert.equal(await family.accept(person, other), 404)
        assert.equal(await family.end('helper', person, other), 404)
      }
      assert.deepEqual(statesIn(await family.list('helper', helper)), [[person.mvUid, 'ACTIVE']])
    })

    it('allow less or more at once, without another acceptance', async () => {
      await createHelper(person, helper, ['READ', 'PLAN'])
      const acting = await actFor(person, helper)
      await family.invite(person, helper, termsOf(['READ']))
      const { acts, state } = (await family.list('helper', helper))[0] as never
      assert.deepEqual([acts, state], [['READ'], 'ACTIVE'])
      const { items } = assertStatus(await acting.call('GET', '/ehr'))
      const plan = { name: 'Walk more' }
      assert.equal((await acting.call('POST', `/ehr/${items[0].id}/careplan`, plan)).status, 403)
    })

    it('begin at their time', async () => {
      await createHelper(person, helper, ['READ'], { from: inDays(1) })
      assert.equal(await family.act(person, helper), 404)
    })
  })

const statusesOf = async (acting: Person) => [
  (await acting.call('GET', '/ehr')).status,
  (await callFunction(acting, 'bmi', { weight: 70, weightUnit: 'kg', height: 170, heightUnit: 'cm' })).status,
]

const deleteAccount = (who: Person) =>
  who.call('DELETE', `/auth/account/${who.mvUid}`, { currentPassword: who.password })

describe('the tokens of a helper', () => {
  let person: Person
  let helper: Person
  let acting: Person
  beforeEach(async () => {
    ;[person, helper] = await Promise.all([createPerson(), createPerson()])
    await createHelper(person, helper, ['READ'])
    acting = await actFor(person, helper)
    assert.deepEqual(await statusesOf(acting), [200, 200])
  })

  const endings: Record<string, () => Promise<unknown>> = {
    'when the person ends the agreement': () =>
      person.call('DELETE', `/profile/${person.mvUid}/helper/${helper.mvUid}`),
    'when the helper ends the agreement': () =>
      helper.call('DELETE', `/profile/${helper.mvUid}/helping/${person.mvUid}`),
    'when the helper logs out': () => helper.call('POST', '/auth/logout'),
    'when the helper’s account is disabled': async () =>
      (await createAdmin()).call('PUT', `/auth/account/${helper.mvUid}`, { disabled: true }),
    'when the person’s account is disabled': async () =>
      (await createAdmin()).call('PUT', `/auth/account/${person.mvUid}`, { disabled: true }),
    'when the person’s account is deleted': () => deleteAccount(person),
    'when the helper’s account is deleted': () => deleteAccount(helper),
    'when the person’s profile is erased': () => person.call('DELETE', `/profile/${person.mvUid}`),
    'when the person chooses a new password': () =>
      person.call('POST', '/auth/account/password/update', {
        currentPassword: person.password,
        newPassword: 'another correct horse',
      }),
    'when they log out themselves': async () => {
      await acting.call('POST', '/auth/logout')
    },
  }
  for (const [when, end] of Object.entries(endings))
    it(`end ${when}`, async () => {
      const answer = (await end()) as { status?: number; body?: unknown } | undefined
      assert.ok((answer?.status ?? 200) < 300, JSON.stringify(answer?.body))
      assert.deepEqual(await statusesOf(acting), [401, 401])
      const storedCount = await service.db.collection('auth.helpers').countDocuments({ mvUid: person.mvUid })
      assert.equal(storedCount, /deleted|erased/.test(when) ? 0 : 1)
    })

  for (const when of [
    'when they log out themselves',
    'when the person ends the agreement',
    'when the helper ends the agreement',
    'when the person’s profile is erased',
  ])
    it(`stay ended ${when}, although the helper acts again`, async () => {
      await endings[when]?.()
      const isAgreed = when === 'when they log out themselves'
      if (!isAgreed) await createHelper(person, helper, ['READ'])
      assert.deepEqual(await statusesOf(acting), [401, 401])
      assert.deepEqual(await statusesOf(await actFor(person, helper)), [200, 200])
      assert.deepEqual(await statusesOf(acting), [401, 401])
    })

  it('stay ended after a shortened agreement has ended, although a new one follows', async () => {
    await inviteHelper(person, helper, ['READ'], { until: inDays(1) })
    const agreements = service.db.collection('auth.helpers')
    await agreements.updateOne({ mvUid: person.mvUid }, { $set: { until: new Date(0) } })
    await waitUntil(async () => isDeepStrictEqual(await statusesOf(acting), [401, 401]))
    await createHelper(person, helper, ['READ'])
    assert.deepEqual(await statusesOf(acting), [401, 401])
    assert.deepEqual(await statusesOf(await actFor(person, helper)), [200, 200])
    assert.deepEqual(await statusesOf(acting), [401, 401])
  })

  it('end when the agreement is to begin later, and stay ended when it begins', async () => {
    await inviteHelper(person, helper, ['READ'], { from: inDays(1) })
    assert.deepEqual(await statusesOf(acting), [401, 401])
    await inviteHelper(person, helper, ['READ'])
    assert.deepEqual(await statusesOf(acting), [401, 401])
    assert.deepEqual(await statusesOf(await actFor(person, helper)), [200, 200])
  })

  it('end when the helper logs out, also at an instance that has just read the helper’s own session', async () => {
    const instance = await startSecondInstance({ INSTANCES: 'several' })
    try {
      const statusOf = async ({ authToken, mvUid }: Person) => {
        const headers = { authorization: `Bearer ${authToken}` }
        return (await fetch(`${instance.url}/profile/${mvUid}`, { headers })).status
      }
      assert.equal(await statusOf(helper), 200)
      await request().post('/1/logout').set(helper.headers).send({}).expect(200)
      assert.equal(await statusOf({ ...acting, mvUid: person.mvUid }), 401)
    } finally {
      await stopProcess(instance)
    }
  })

  it('outlive a refresh of the helper’s own session', async () => {
    const { refreshToken } = helper
    assertStatus(await helper.call('POST', '/auth/login/token', { refreshToken }))
    assert.deepEqual(await statusesOf(acting), [200, 200])
  })

  it('belong to one login of the helper, and another one has its own', async () => {
    const other = await actFor(person, await logInAs(helper.email))
    await helper.call('POST', '/auth/logout')
    assert.deepEqual(await statusesOf(other), [200, 200])
  })
})

describe('random sequences of invitations, acceptances and ends', () => {
  const steps = ['invite', 'accept', 'endByPerson', 'endByHelper'] as const
  type Step = (typeof steps)[number]

  const NEXT: Record<Step, (state: string | undefined) => string | undefined> = {
    invite: (state) => (state === 'ACTIVE' ? state : 'INVITED'),
    accept: (state) => (state === 'INVITED' ? 'ACTIVE' : state),
    endByPerson: (state) => state && 'ENDED',
    endByHelper: (state) => state && 'ENDED',
  }

  it('let a helper act if and only if the last agreement is accepted', async function () {
    this.timeout(120_000)
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...steps), { maxLength: 8 }), async (takenSteps) => {
        const [person, helper] = await Promise.all([createPerson(), createPerson()])
        let state: string | undefined
        const { path, class: byClass } = families
        for (const [at, step] of takenSteps.entries()) {
          const { invite, accept, end } = at % 2 ? path : byClass
          if (step === 'invite') await invite(person, helper, termsOf(['READ']))
          else if (step === 'accept') await accept(person, helper)
          else if (step === 'endByPerson') await end('person', person, helper)
          else await end('helper', person, helper)
          state = NEXT[step](state)
        }
        const expected = state === undefined ? [] : [[helper.mvUid, state]]
        assert.deepEqual(statesIn(await path.list('person', person)), expected)
        assert.equal(typeof (await path.act(person, helper)) === 'object', state === 'ACTIVE')
      }),
      { numRuns: bySize(15, 100) },
    )
  })
})

describe('an invitation', () => {
  it('does not show the name of the invited user before they accept', async () => {
    const [person, helper] = await Promise.all([createPerson(), createPerson()])
    const profile = { name: { displayName: 'Piet de Vries' } }
    assertStatus(await helper.call('PUT', `/profile/${helper.mvUid}`, profile))
    await inviteHelper(person, helper, ['READ'])
    const path = `/profile/${person.mvUid}/helper/${helper.mvUid}`
    assert.equal(assertStatus(await person.call('GET', path)).name, null)
    assertStatus(await helper.call('POST', `/profile/${helper.mvUid}/helping/${person.mvUid}/accept`))
    assert.equal(assertStatus(await person.call('GET', path)).name, 'Piet de Vries')
  })

  it('is mailed once to the helper, in their language and without a name', async () => {
    const [person, helper] = await Promise.all([createPerson(), createPerson({ language: 'nl' })])
    const name = 'Zebedee Quillfeather'
    assertStatus(await person.call('PUT', `/profile/${person.mvUid}`, { name: { displayName: name } }))
    await createHelper(person, helper, ['READ'])
    const mail = await waitForMailAbout(helper.email, /^Iemand vraagt u om hulp/)
    assert.equal(mail.link, config.appUrl)
    assert.ok(!`${mail.subject} ${mail.text} ${mail.html}`.includes('Quillfeather'))
    const count = () => mailsTo(helper.email).filter((one) => String(one).includes('vraagt u om hulp')).length
    const former = count()
    await inviteHelper(person, helper, ['READ', 'PLAN'])
    assertStatus(await person.call('DELETE', `/profile/${person.mvUid}/helper/${helper.mvUid}`), 204)
    await inviteHelper(person, helper, ['READ'])
    await waitFor(() => count() > former || undefined, 'a mail about the second invitation')
    const waiting = () => service.db.collection('mails').countDocuments({ 'to.mvUid': helper.mvUid })
    await waitFor(async () => (await waiting()) === 0 || undefined, 'an empty queue')
    assert.equal(count(), former * 2, 'new terms cause no mail')
  })

  it('shows its terms and the name of the person to the helper, and no name once it has ended', async () => {
    const [person, helper] = await Promise.all([createPerson(), createPerson()])
    const profile = { name: { displayName: 'Anna de Vries' } }
    assertStatus(await person.call('PUT', `/profile/${person.mvUid}`, profile))
    await inviteHelper(person, helper, ['READ'])
    const path = `/profile/${helper.mvUid}/helping/${person.mvUid}`
    const agreement = assertStatus(await helper.call('GET', path))
    assert.deepEqual(
      [agreement.name, agreement.relation, agreement.state],
      ['Anna de Vries', 'PARENT', 'INVITED'],
    )
    const answer = await helper.call('GET', path)
    assertStatus(await helper.call('DELETE', path, undefined, { 'if-match': answer.etag }), 204)
    assert.equal(assertStatus(await helper.call('GET', path)).name, null)
    assert.equal((await helper.call('POST', `${path}/accept`)).status, 409)
  })
})
