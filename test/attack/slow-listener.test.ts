import assert from 'node:assert/strict'
import { newPatient, newPlan } from '../harness/care/patients.ts'
import { classesOf } from '../harness/clients/class-client.ts'
import { connecting, rawSocket } from '../harness/clients/live-client.ts'
import { until } from '../harness/until.ts'

describe('attack: a socket that asks for much and takes nothing', () => {
  it('is cut off', async () => {
    const patient = await newPatient()
    const carePlanId = await newPlan(patient)
    const { socket, heard, send, answer, closedWith } = await rawSocket()
    await answer(connecting({ sessionToken: patient.sessionToken }))
    const query = { className: 'Custom', where: {} }
    for (let requestId = 0; requestId < 90; requestId++) send({ op: 'subscribe', requestId, query })
    await until(() => heard.length === 91)
    socket.pause()
    const payload = { text: 'x'.repeat(9_000) }
    const custom = { ehrId: patient.ehrId, carePlanId, modelClassName: 'Diary', payload }
    for (let i = 0; i < 16; i++) assert.equal((await classesOf(patient).post('Custom', custom)).status, 201)
    socket.resume()
    await until(() => closedWith() !== undefined)
    assert.equal(closedWith(), 1006)
  })
})
