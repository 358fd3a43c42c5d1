import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { copyDocument } from '../harness/care/copied-documents.ts'
import { createPatient, createPlan, type Patient } from '../harness/care/patients.ts'
import { createClassClient } from '../harness/clients/class-client.ts'
import { createPerson, logInAs } from '../harness/people/people.ts'
import { service } from '../harness/service/service.ts'
import { waitUntil } from '../harness/wait.ts'

describe('attack: downloads that nobody reads', function suite() {
  this.timeout(60_000)
  let patient: Patient

  /** Begins an export, and reads only its head. */
  async function beginExport(token = patient.authToken): Promise<IncomingMessage> {
    const headers = { authorization: `Bearer ${token}` }
    const [response] = await once(
      get(`${service.url}/profile/${patient.mvUid}/export`, { headers, agent: false }),
      'response',
    )
    return response
  }

  before(async () => {
    patient = await createPatient()
    const custom = {
      ehrId: patient.ehrId,
      carePlanId: await createPlan(patient),
      modelClassName: 'Large',
      payload: {},
    }
    const { body } = await createClassClient(patient).post('Custom', custom).expect(201)
    await copyDocument('Custom', body.objectId, 120, () => ({ payload: { text: 'x'.repeat(100_000) } }))
  })

  it('are limited for an account, and go on when one ends', async () => {
    const unread = await Promise.all(Array.from({ length: 4 }, () => beginExport()))
    assert.deepEqual(
      unread.map(({ statusCode }) => statusCode),
      [200, 200, 200, 200],
    )
    const refused = await beginExport()
    assert.equal(refused.statusCode, 429)
    assert.ok(Number(refused.headers['retry-after']) > 0)
    assert.match(await text(refused), /At most 4 downloads/)
    assert.equal((await patient.call('GET', `/profile/${patient.mvUid}`)).status, 200)
    const other = await createPerson()
    assert.equal((await other.call('GET', `/profile/${other.mvUid}/export`)).status, 200)

    unread[0]?.destroy()
    await waitUntil(async () => {
      const next = await beginExport()
      next.resume()
      if (next.statusCode === 429) return false
      await once(next, 'end')
      return true
    })
    const [, second] = unread
    assert.ok(second)
    assert.equal((await text(second)).match(/"modelClassName":"Large"/g)?.length, 121)
    for (const one of unread) one.destroy()
  })

  it('end with their session', async () => {
    const again = await logInAs(patient.email)
    const download = await beginExport(again.authToken)
    assert.equal(download.statusCode, 200)
    assert.equal((await again.call('POST', '/auth/logout')).status, 204)
    // It takes one of the places until then.
    await waitUntil(async () => {
      const downloads = await Promise.all(Array.from({ length: 4 }, () => beginExport()))
      for (const one of downloads) one.destroy()
      return downloads.every(({ statusCode }) => statusCode === 200)
    })
    await assert.rejects(text(download))
  })
})
