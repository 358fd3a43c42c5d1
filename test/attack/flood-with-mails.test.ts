import assert from 'node:assert/strict'
import { mailTo, outboxOf } from '../harness/people/mail.ts'
import { newAddress, register } from '../harness/people/people.ts'
import { until } from '../harness/until.ts'

/** Past the limits of an address: as if many asked. */
describe('attack: whoever has mails sent to somebody', () => {
  it('has five sent in an hour at most', async () => {
    const [flooded, somebody] = [newAddress(), newAddress()]
    for (let i = 0; i < 10; i++) assert.equal((await register(flooded)).status, 202)
    await until(() => outboxOf(flooded).length >= 5)
    // What was asked for later comes later.
    await register(somebody)
    await mailTo(somebody)
    assert.equal(outboxOf(flooded).length, 5)
  })
})
