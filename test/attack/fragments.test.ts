import assert from 'node:assert/strict'
import type { WebSocket } from 'ws'
import { createPatient, createPlan, type Patient } from '../harness/care/patients.ts'
import { createConnectMessage, openRawSocket } from '../harness/clients/live-client.ts'
import { waitUntil } from '../harness/wait.ts'

/** Sends a text in fragments of this size, and stops when the service ends the connection. */
async function sendFragments(socket: WebSocket, text: string, size: number): Promise<void> {
  for (let start = 0; start < text.length && socket.readyState === socket.OPEN; start += size) {
    socket.send(text.slice(start, start + size), { fin: start + size >= text.length })
    if (socket.bufferedAmount > 50_000)
      await waitUntil(() => socket.bufferedAmount === 0 || socket.readyState !== socket.OPEN)
  }
}

describe('attack: many frames at the socket of live queries', () => {
  let patient: Patient

  before(async () => {
    patient = await createPatient()
  })

  async function openConnected() {
    const { sessionToken } = patient
    const opened = await openRawSocket()
    assert.equal((await opened.answer(createConnectMessage({ sessionToken }))).op, 'connected')
    return opened
  }

  it('ends a connection that sends a message in tiny fragments', async () => {
    const known = await openConnected()
    const unknown = await openRawSocket()
    for (const [{ socket, closedWith }, most] of [
      [known, 80_000],
      [unknown, 30_000],
    ] as const) {
      await sendFragments(socket, ' '.repeat(most), 1)
      await waitUntil(() => closedWith() !== undefined)
    }
  })

  it('ends a connection that floods it with pings, also within a message', async () => {
    const { socket, closedWith } = await openConnected()
    socket.send('{', { fin: false })
    for (let i = 0; i < 400; i++) socket.ping()
    await waitUntil(() => closedWith() !== undefined)
  })

  it('reads large messages in fragments, with pings between them, one after the other', async () => {
    const { socket, heard } = await openConnected()
    const where = { carePlanId: await createPlan(patient) }
    const query = { className: 'BloodPressure', where }
    for (const requestId of [1, 2, 3]) {
      const text = JSON.stringify({ op: 'subscribe', requestId, query })
      await sendFragments(socket, text.padEnd(250_000), 16_000)
      socket.ping()
      await waitUntil(() => heard.some((one) => one.op === 'subscribed' && one.requestId === requestId))
    }
    for (const one of [1, 2, 3]) socket.ping(String(one))
    socket.send(JSON.stringify({ op: 'unsubscribe', requestId: 3 }))
    await waitUntil(() => heard.some(({ op }) => op === 'unsubscribed'))
    socket.close()
  })
})
