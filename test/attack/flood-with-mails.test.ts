import assert from 'node:assert/strict'
import { call } from '../harness/clients/path-client.ts'
import { followLink, mailsTo, waitForMail, waitForMailAbout } from '../harness/mail/mail.ts'
import {
  createAddress,
  createAdmin,
  createPerson,
  logInAs,
  password,
  register,
} from '../harness/people/people.ts'
import { startSecondInstance } from '../harness/service/second-instance.ts'
import { service } from '../harness/service/service.ts'
import { type ServiceProcess, stopProcess } from '../harness/service/service-process.ts'
import { waitUntil } from '../harness/wait.ts'

const ask = (path: string, email: string) => call('POST', `/auth/account/${path}`, { email })

/** Waits until the mails that were asked for before have been sent or dropped. */
async function waitForLaterMail(): Promise<void> {
  const somebody = createAddress()
  await register(somebody)
  await waitForMail(somebody)
}

/** The limits by client address do not apply, as if there were many clients. */
describe('attack: having mails sent to somebody', () => {
  it('sends at most five an hour', async () => {
    const flooded = createAddress()
    // Of registrations at the same time, only the last one gets a mail.
    for (let sent = 1; sent <= 5; sent++) {
      assert.equal((await register(flooded)).status, 202)
      await waitUntil(() => mailsTo(flooded).length === sent)
    }
    for (let i = 0; i < 5; i++) assert.equal((await register(flooded)).status, 202)
    await waitForLaterMail()
    assert.equal(mailsTo(flooded).length, 5)
  })

  it('does not void the links for a new password that the owner has got', async () => {
    const { email } = await createPerson()
    await ask('password/reset', email)
    const { link } = await waitForMailAbout(email, /new password/)
    for (let i = 0; i < 8; i++) assert.equal((await ask('password/reset', email)).status, 202)
    await waitForLaterMail()
    const users = service.db.collection('_User')
    const soon = new Date(Date.now() + 60_000)
    await users.updateOne({ email }, { $set: { _perishable_token_expires_at: soon } })
    await ask('password/reset', email)
    // Every mail says that its link works for an hour.
    const inAnHour = { email, _perishable_token_expires_at: { $gt: new Date(Date.now() + 3_500_000) } }
    await waitUntil(async () => (await users.findOne(inAnHour)) !== null)
    assert.match(await followLink(link, { newPassword: 'another long password' }), /is saved/)
    await logInAs(email, 'another long password')
  })

  it('mails the owner a link for a new password, after many registrations of the address', async () => {
    const { email } = await createPerson()
    for (let sent = 1; sent <= 5; sent++) {
      assert.equal((await register(email)).status, 202)
      await waitUntil(() => mailsTo(email).length === sent)
    }
    await ask('password/reset', email)
    const { link } = await waitForMailAbout(email, /new password/)
    assert.match(await followLink(link, { newPassword: 'another long password' }), /is saved/)
  })

  for (const [what, again] of Object.entries({
    'requests for a new link': (email: string) => ask('register/resend', email),
    registrations: (email: string) => register(email),
  }))
    it(`leaves the owner a link that activates the account, after many ${what}`, async () => {
      const email = createAddress()
      await register(email)
      await waitForMail(email)
      for (let sent = 2; sent < 10; sent++) {
        assert.equal((await again(email)).status, 202)
        await waitUntil(() => mailsTo(email).length === Math.min(sent, 5))
      }
      await waitForLaterMail()
      const { link } = await waitForMail(email)
      assert.match(await followLink(link, { password }), /is confirmed/)
      await logInAs(email)
    })

  it('leaves an invited person a link that works', async () => {
    const email = createAddress()
    const admin = await createAdmin()
    assert.equal((await admin.call('POST', '/auth/manage/account', { email, name: 'Nora' })).status, 201)
    const invitation = await waitForMail(email)
    await ask('password/reset', email)
    assert.equal((await waitForMailAbout(email, /new password/)).link, invitation.link)
    // The invitation and the mail for a new password count by themselves.
    for (let sent = 3; sent < 10; sent++) {
      assert.equal((await ask('register/resend', email)).status, 202)
      await waitUntil(() => mailsTo(email).length === Math.min(sent, 7))
    }
    await waitForLaterMail()
    const { link } = await waitForMail(email)
    assert.match(await followLink(link, { newPassword: password, termsAccepted: 'true' }), /is saved/)
    await logInAs(email)
  })
})

describe('attack: having mails sent to strangers by changes of the address', function suite() {
  this.timeout(60_000)
  /** The number of new addresses of one account, as this instance is configured. */
  const allowed = 3
  let instance: ServiceProcess
  before(async () => {
    instance = await startSecondInstance({ ACCOUNT_LOGIN_ATTEMPTS: String(allowed) })
  })
  after(() => stopProcess(instance))

  it('counts them as registrations of the account, in both families', async () => {
    const { mvUid, authToken, headers, email } = await createPerson()
    const put = async (path: string, credentials: Record<string, string>, change: object) => {
      const type = { 'content-type': 'application/json' }
      const body = JSON.stringify(change)
      const answer = await fetch(`${instance.url}${path}`, {
        method: 'PUT',
        headers: { ...type, ...credentials },
        body,
      })
      return answer.status
    }
    const byPath = (change: object) =>
      put(`/auth/account/${mvUid}`, { authorization: `Bearer ${authToken}` }, change)
    const byClass = (change: object) => put(`/1/users/${mvUid}`, headers, change)
    const statuses: number[] = []
    const addresses: string[] = []
    for (let i = 0; i < 4 * allowed; i++) {
      addresses.push(createAddress())
      statuses.push(await (i % 2 ? byPath : byClass)({ email: addresses.at(-1) }))
    }
    const accepted = statuses.filter((status) => status === 200)
    assert.equal(accepted.length, allowed, String(statuses))
    assert.ok(statuses.slice(allowed).every((status) => status === 429))
    const change = await service.db.collection('auth.email_changes').findOne({ _id: mvUid as never })
    assert.equal(change?.email, addresses[allowed - 1])
    // Other changes, and the address as it is, cost nothing.
    assert.equal(await byPath({ email, name: 'Anna' }), 200)
  })
})
