import assert from 'node:assert/strict'
import { assertProblem, call } from '../harness/clients/path-client.ts'
import { followLink, waitForMail, waitForMailAbout } from '../harness/mail/mail.ts'
import { tokenInLink } from '../harness/mail/outbox.ts'
import {
  createAddress,
  createAdmin,
  createPerson,
  logIn,
  logInAs,
  type Person,
  password,
} from '../harness/people/people.ts'
import {
  authorizationOf,
  createSmartApp,
  decide,
  newVerifier,
  openRequest,
} from '../harness/people/smart-apps.ts'
import { beforeFirstCommand } from '../harness/service/database-commands.ts'
import { request, service } from '../harness/service/service.ts'

const next = 'another long password'

describe('attack: staying logged in after a password change', () => {
  const ways: [how: string, change: (owner: Person) => Promise<void>, ownSession: number][] = [
    [
      'in the path family',
      async (owner) => {
        const body = { currentPassword: password, newPassword: next }
        assert.equal((await owner.call('POST', '/auth/account/password/update', body)).status, 204)
      },
      200,
    ],
    [
      'in the class family',
      async (owner) => {
        const path = `/1/classes/_User/${owner.mvUid}`
        await request().put(path).set(owner.headers).send({ password: next }).expect(200)
      },
      200,
    ],
    [
      'by a reset',
      async (owner) => {
        await call('POST', '/auth/account/password/reset', { email: owner.email })
        const { link } = await waitForMailAbout(owner.email, /new password/)
        assert.match(await followLink(link, { newPassword: next }), /is saved/)
      },
      401,
    ],
  ]
  for (const [how, change, ownSession] of ways)
    it(`ends the other sessions, and drops pending addresses and requests of apps, with a change ${how}`, async () => {
      const owner = await createPerson()
      const attacker = await logInAs(owner.email)
      const newAddress = createAddress()
      await attacker.call('PUT', `/auth/account/${owner.mvUid}`, { email: newAddress })
      const token = tokenInLink(await waitForMail(newAddress))
      const scope = 'openid offline_access'
      const app = await createSmartApp(scope.split(' '))
      const openDecision = await openRequest(owner, authorizationOf(app, scope, newVerifier()))

      await change(owner)
      assert.equal((await decide(openDecision, 'admit')).get('error'), 'access_denied')
      assertProblem(await call('POST', '/auth/account/register/activate', { token }), 410, 'link-expired')
      assertProblem(await attacker.call('GET', `/auth/account/${owner.mvUid}`), 401, 'unauthenticated')
      assertProblem(
        await call('POST', '/auth/login/token', { refreshToken: attacker.refreshToken }),
        401,
        'unauthenticated',
      )
      await request().get('/1/users/me').set(attacker.headers).expect(401)
      assert.equal((await owner.call('GET', `/auth/account/${owner.mvUid}`)).status, ownSession)
      await request().get('/1/users/me').set(owner.headers).expect(ownSession)
      assert.equal((await logInAs(owner.email, next)).mvUid, owner.mvUid)
    })

  const endings = [
    ...ways.map(([how, change]) => [`a change ${how}`, change] as const),
    [
      'the end of the account',
      async ({ mvUid }: Person) => {
        const { status } = await (await createAdmin()).call('PUT', `/auth/account/${mvUid}`, {
          disabled: true,
        })
        assert.equal(status, 200)
      },
    ],
  ] as const
  for (const [what, change] of endings)
    it(`gets no session by a login that was under way during ${what}`, async () => {
      const owner = await createPerson()
      await beforeFirstCommand(
        ({ insert }) => insert === '_Session',
        () => change(owner),
        async () => assertProblem(await logIn(owner.email), 401, 'invalid-credentials'),
      )
      const otherSessions = { _p_user: `_User$${owner.mvUid}`, _session_token: { $ne: owner.sessionToken } }
      assert.equal(await service.db.collection('_Session').countDocuments(otherSessions), 0)
    })

  it('does not return to a session by a change of its own at the same time', async () => {
    const owner = await createPerson()
    const attacker = await logInAs(owner.email)
    await beforeFirstCommand(
      ({ update, updates }) => update === '_Session' && updates[0].upsert === true,
      async () => {
        await call('POST', '/auth/account/password/reset', { email: owner.email })
        const { link } = await waitForMailAbout(owner.email, /new password/)
        assert.match(await followLink(link, { newPassword: next }), /is saved/)
      },
      () =>
        attacker.call('POST', '/auth/account/password/update', {
          currentPassword: password,
          newPassword: 'the password of the attacker',
        }),
    )
    await request().get('/1/users/me').set(attacker.headers).expect(401)
    assert.equal((await logInAs(owner.email, next)).mvUid, owner.mvUid)
  })

  it('cannot use a reset link that was mailed to the former address', async () => {
    const owner = await createPerson()
    await call('POST', '/auth/account/password/reset', { email: owner.email })
    const { link } = await waitForMailAbout(owner.email, /new password/)
    const email = createAddress()
    await owner.call('PUT', `/auth/account/${owner.mvUid}`, { email })
    await followLink((await waitForMail(email)).link)
    assert.match(await followLink(link, { newPassword: next }), /no longer works/)
  })
})
