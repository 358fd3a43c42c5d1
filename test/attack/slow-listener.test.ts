import assert from 'node:assert/strict'
import { createPatient, createPlan } from '../harness/care/patients.ts'
import { createClassClient } from '../harness/clients/class-client.ts'
import { createConnectMessage, openRawSocket, subscribeBySdk } from '../harness/clients/live-client.ts'
import { waitUntil } from '../harness/wait.ts'

describe('attack: a socket that requests much and reads nothing', () => {
  it('is closed', async () => {
    const patient = await createPatient()
    const carePlanId = await createPlan(patient)
    const { socket, heard, send, answer, closedWith } = await openRawSocket()
    await answer(createConnectMessage({ sessionToken: patient.sessionToken }))
    const query = { className: 'Custom', where: {} }
    for (let requestId = 0; requestId < 90; requestId++) send({ op: 'subscribe', requestId, query })
    await waitUntil(() => heard.length === 91)
    const quick = await subscribeBySdk(patient, 'Custom')
    socket.pause()
    const payload = { text: 'x'.repeat(9_000) }
    const custom = { ehrId: patient.ehrId, carePlanId, modelClassName: 'Diary', payload }
    for (let i = 0; i < 16; i++) {
      assert.equal((await createClassClient(patient).post('Custom', custom)).status, 201)
      await quick.next()
    }
    quick.close()
    socket.resume()
    await waitUntil(() => closedWith() !== undefined)
    assert.equal(closedWith(), 1006)
  })
})
