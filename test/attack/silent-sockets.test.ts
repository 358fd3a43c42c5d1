import assert from 'node:assert/strict'
import { rawSocket } from '../harness/clients/live-client.ts'
import { service } from '../harness/service/service.ts'
import { until } from '../harness/until.ts'

describe('attack: sockets that never say whose they are', () => {
  it('are so many for one address, and closed after 5 s', async () => {
    const sockets = await Promise.all(Array.from({ length: 120 }, () => rawSocket()))
    const refused = sockets.filter(({ closedWith }) => closedWith() !== undefined)
    assert.ok(refused.length >= 20, String(refused.length))
    await until(() => sockets.every(({ closedWith }) => closedWith() !== undefined))
    assert.equal((await fetch(`${service.url}/health/live`)).status, 200)
  })
})
