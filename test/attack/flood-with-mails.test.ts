import assert from 'node:assert/strict'
import { mailsTo, waitForMail } from '../harness/people/mail.ts'
import { createAddress, createPerson, register } from '../harness/people/people.ts'
import { startSecondInstance } from '../harness/service/second-instance.ts'
import { service } from '../harness/service/service.ts'
import { type ServiceProcess, stopProcess } from '../harness/service/service-process.ts'
import { waitUntil } from '../harness/wait.ts'

/** The limits by client address do not apply, as if there were many clients. */
describe('attack: having mails sent to somebody', () => {
  it('sends at most five an hour', async () => {
    const flooded = createAddress()
    const somebody = createAddress()
    for (let i = 0; i < 10; i++) assert.equal((await register(flooded)).status, 202)
    await waitUntil(() => mailsTo(flooded).length >= 5)
    // A later mail has arrived, so no earlier one is still on its way.
    await register(somebody)
    await waitForMail(somebody)
    assert.equal(mailsTo(flooded).length, 5)
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
