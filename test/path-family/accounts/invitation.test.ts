import assert from 'node:assert/strict'
import { assertProblem, call } from '../../harness/clients/path-client.ts'
import { followLink, waitForMail } from '../../harness/mail/mail.ts'
import { tokenInLink } from '../../harness/mail/outbox.ts'
import {
  createAddress,
  createAdmin,
  createPerson,
  logIn,
  logInAs,
  type Person,
  password,
} from '../../harness/people/people.ts'

const pathOf = (mvUid: string) => `/auth/account/${mvUid}`

describe('accounts that an administrator creates', () => {
  let admin: Person
  before(async () => {
    admin = await createAdmin()
  })

  it('are activated by choosing a password and agreeing to the terms', async () => {
    const email = createAddress()
    const answer = await admin.call('POST', '/auth/manage/account', { email, name: 'Nora', roles: ['admin'] })
    assert.equal(answer.status, 201)
    assert.equal(answer.headers.get('location'), pathOf(answer.body.mvUid))
    assert.equal(answer.body.state, 'ACTIVATION_PENDING')
    assert.deepEqual(answer.body.roles, ['admin'])
    assert.equal(answer.body.termsVersion, null)

    const mail = await waitForMail(email)
    assert.match(mail.subject ?? '', /invited/)
    const choose = (more: object) =>
      call('POST', '/auth/account/password/update', {
        token: tokenInLink(mail),
        newPassword: password,
        ...more,
      })
    assert.deepEqual(assertProblem(await choose({}), 422, 'rule-violated'), ['terms-not-accepted'])
    assert.equal((await choose({ termsAccepted: true })).status, 204)
    const nora = await logInAs(email)
    const { body } = await nora.call('GET', pathOf(nora.mvUid))
    assert.equal(body.state, 'ACTIVE')
    assert.equal(body.termsVersion, '1')
    assertProblem(await choose({ termsAccepted: true }), 410, 'link-expired')
  })

  it('choose the password on a page', async () => {
    const email = createAddress()
    await admin.call('POST', '/auth/manage/account', { email, name: 'Nora' })
    const { link } = await waitForMail(email)
    assert.match(
      await followLink(link, { newPassword: 'short', termsAccepted: 'true' }),
      /at least 10 characters/,
    )
    assert.match(await followLink(link, { newPassword: password }), /Please agree to the terms/)
    assert.match(await followLink(link, { newPassword: password, termsAccepted: 'true' }), /is saved/)
    assert.match(await followLink(link, { newPassword: password, termsAccepted: 'true' }), /no longer works/)
    assert.equal((await logIn(email)).status, 200)
  })

  it('are invited again with a message of the administrator until they are activated', async () => {
    const email = createAddress()
    const answer = await admin.call('POST', '/auth/manage/account', { email, name: 'Nora', invite: false })
    const message = 'Welcome <b>Nora</b>\r\nBcc: everyone@example.org'
    const invite = () => admin.call('POST', `${pathOf(answer.body.mvUid)}/invite`, { message })
    assert.equal((await invite()).status, 202)
    const mail = await waitForMail(email)
    assert.ok(mail.text?.includes('Bcc: everyone'))
    assert.deepEqual(mail.bcc ?? [], [])
    assert.deepEqual(
      mail.to?.map(({ address }) => address),
      [email],
    )
    assert.doesNotMatch(mail.html ?? '', /<b>Nora/)
    await call('POST', '/auth/account/password/update', {
      token: tokenInLink(mail),
      newPassword: password,
      termsAccepted: true,
    })
    assertProblem(await invite(), 409, 'conflict')
    assertProblem(
      await (await logInAs(email)).call('POST', `${pathOf(answer.body.mvUid)}/invite`, {}),
      403,
      'forbidden',
    )
  })

  it('are created once for each address, by administrators only', async () => {
    const email = createAddress()
    const body = { email, name: 'Nora' }
    assertProblem(await (await createPerson()).call('POST', '/auth/manage/account', body), 403, 'forbidden')
    assert.equal((await admin.call('POST', '/auth/manage/account', body)).status, 201)
    assertProblem(await admin.call('POST', '/auth/manage/account', body), 409, 'conflict')
  })
})
