import assert from 'node:assert/strict'
import { call, refused } from '../../harness/clients/path-client.ts'
import { followLink, mailTo, tokenIn } from '../../harness/people/mail.ts'
import {
  logIn,
  logInAs,
  newAddress,
  newAdmin,
  newPerson,
  type Person,
  password,
} from '../../harness/people/people.ts'

const at = (mvUid: string) => `/auth/account/${mvUid}`

describe('accounts that an administrator makes', () => {
  let admin: Person
  before(async () => {
    admin = await newAdmin()
  })

  it('are activated by choosing a password, with agreement to the terms', async () => {
    const email = newAddress()
    const made = await admin.call('POST', '/auth/manage/account', { email, name: 'Nora', roles: ['admin'] })
    assert.equal(made.status, 201)
    assert.equal(made.headers.get('location'), at(made.body.mvUid))
    assert.equal(made.body.state, 'ACTIVATION_PENDING')
    assert.deepEqual(made.body.roles, ['admin'])
    assert.equal(made.body.termsVersion, null)

    const mail = await mailTo(email)
    assert.match(mail.subject ?? '', /invited/)
    const choose = (more: object) =>
      call('POST', '/auth/account/password/update', { token: tokenIn(mail), newPassword: password, ...more })
    assert.deepEqual(refused(await choose({}), 422, 'rule-violated'), ['terms-not-accepted'])
    assert.equal((await choose({ termsAccepted: true })).status, 204)
    const nora = await logInAs(email)
    const { body } = await nora.call('GET', at(nora.mvUid))
    assert.equal(body.state, 'ACTIVE')
    assert.equal(body.termsVersion, '1')
    refused(await choose({ termsAccepted: true }), 410, 'link-expired')
  })

  it('choose the password on a page', async () => {
    const email = newAddress()
    await admin.call('POST', '/auth/manage/account', { email, name: 'Nora' })
    const { link } = await mailTo(email)
    assert.match(
      await followLink(link, { newPassword: 'short', termsAccepted: 'true' }),
      /at least 10 characters/,
    )
    assert.match(await followLink(link, { newPassword: password }), /agree to the terms/)
    assert.match(await followLink(link, { newPassword: password, termsAccepted: 'true' }), /is saved/)
    assert.match(await followLink(link, { newPassword: password, termsAccepted: 'true' }), /no longer works/)
    assert.equal((await logIn(email)).status, 200)
  })

  it('are invited again with words of the administrator, as long as they are not activated', async () => {
    const email = newAddress()
    const made = await admin.call('POST', '/auth/manage/account', { email, name: 'Nora', invite: false })
    const message = 'Welcome <b>Nora</b>\r\nBcc: everyone@example.org'
    const invite = () => admin.call('POST', `${at(made.body.mvUid)}/invite`, { message })
    assert.equal((await invite()).status, 202)
    const mail = await mailTo(email)
    assert.ok(mail.text?.includes('Bcc: everyone'))
    assert.deepEqual(mail.bcc ?? [], [])
    assert.deepEqual(
      mail.to?.map(({ address }) => address),
      [email],
    )
    assert.doesNotMatch(mail.html ?? '', /<b>Nora/)
    await call('POST', '/auth/account/password/update', {
      token: tokenIn(mail),
      newPassword: password,
      termsAccepted: true,
    })
    refused(await invite(), 409, 'conflict')
    refused(await (await logInAs(email)).call('POST', `${at(made.body.mvUid)}/invite`, {}), 403, 'forbidden')
  })

  it('are made once for each address, by administrators only', async () => {
    const email = newAddress()
    const body = { email, name: 'Nora' }
    refused(await (await newPerson()).call('POST', '/auth/manage/account', body), 403, 'forbidden')
    assert.equal((await admin.call('POST', '/auth/manage/account', body)).status, 201)
    refused(await admin.call('POST', '/auth/manage/account', body), 409, 'conflict')
  })
})
