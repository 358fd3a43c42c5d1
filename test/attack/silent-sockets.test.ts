import assert from 'node:assert/strict'
import { openRawSocket } from '../harness/clients/live-client.ts'
import { service } from '../harness/service/service.ts'
import { waitUntil } from '../harness/wait.ts'

describe('attack: sockets that never authenticate', () => {
  it('are limited for one address, and closed after 5 s', async () => {
    const sockets = await Promise.all(Array.from({ length: 120 }, () => openRawSocket()))
    const closedSockets = sockets.filter(({ closedWith }) => closedWith() !== undefined)
    assert.ok(closedSockets.length >= 20, String(closedSockets.length))
    await waitUntil(() => sockets.every(({ closedWith }) => closedWith() !== undefined))
    assert.equal((await fetch(`${service.url}/health/live`)).status, 200)
  })
})
