import assert from 'node:assert/strict'
import { call, refused } from '../harness/clients/path-client.ts'
import { followLink, mailAbout, mailTo, tokenIn } from '../harness/people/mail.ts'
import { logInAs, newAddress, newPerson, type Person, password } from '../harness/people/people.ts'
import { request } from '../harness/service/service.ts'

const next = 'another long password'

describe('attack: whoever was in does not stay in when the password changes', () => {
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
        const { link } = await mailAbout(owner.email, /new password/)
        assert.match(await followLink(link, { newPassword: next }), /is saved/)
      },
      401,
    ],
  ]
  for (const [how, change, ownSession] of ways)
    it(`${how}: pending addresses are off, the other sessions end`, async () => {
      const owner = await newPerson()
      const attacker = await logInAs(owner.email)
      const wanted = newAddress()
      await attacker.call('PUT', `/auth/account/${owner.mvUid}`, { email: wanted })
      const token = tokenIn(await mailTo(wanted))

      await change(owner)
      refused(await call('POST', '/auth/account/register/activate', { token }), 410, 'link-expired')
      refused(await attacker.call('GET', `/auth/account/${owner.mvUid}`), 401, 'unauthenticated')
      refused(
        await call('POST', '/auth/login/token', { refreshToken: attacker.refreshToken }),
        401,
        'unauthenticated',
      )
      await request().get('/1/users/me').set(attacker.headers).expect(401)
      assert.equal((await owner.call('GET', `/auth/account/${owner.mvUid}`)).status, ownSession)
      await request().get('/1/users/me').set(owner.headers).expect(ownSession)
      assert.equal((await logInAs(owner.email, next)).mvUid, owner.mvUid)
    })

  it('by a link to choose a password that was mailed to the former address', async () => {
    const owner = await newPerson()
    await call('POST', '/auth/account/password/reset', { email: owner.email })
    const { link } = await mailAbout(owner.email, /new password/)
    const email = newAddress()
    await owner.call('PUT', `/auth/account/${owner.mvUid}`, { email })
    await followLink((await mailTo(email)).link)
    assert.match(await followLink(link, { newPassword: next }), /no longer works/)
  })
})
