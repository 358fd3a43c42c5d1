import assert from 'node:assert/strict'
import { mailsTo, waitForMail } from '../harness/people/mail.ts'
import { createAddress, register } from '../harness/people/people.ts'
import { waitUntil } from '../harness/wait.ts'

/** The limits by client address do not apply, as if there were many clients. */
describe('attack: having mails sent to somebody', () => {
  it('sends at most five an hour', async () => {
    const [flooded, somebody] = [createAddress(), createAddress()]
    for (let i = 0; i < 10; i++) assert.equal((await register(flooded)).status, 202)
    await waitUntil(() => mailsTo(flooded).length >= 5)
    // A later mail has arrived, so no earlier one is still on its way.
    await register(somebody)
    await waitForMail(somebody)
    assert.equal(mailsTo(flooded).length, 5)
  })
})
