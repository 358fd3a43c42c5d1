import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { service } from '../harness/service/service.ts'

/** Sends requests at once on one connection. @returns the number of responses, and the status of the last one */
async function pipeline(count: number): Promise<number[]> {
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  const ask = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n${more}\r\n`
  socket.write(ask('/health/live').repeat(count - 1) + ask('/nothing', 'Connection: close\r\n'))
  const responses = await text(socket)
  return [...responses.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status))
}

describe('attack: pipelined requests', () => {
  it('are answered in order as long as they are few', async () => {
    assert.deepEqual(await pipeline(20), [...Array(19).fill(200), 404])
  })

  it('are not all started when there are thousands of them, and the connection ends', async () => {
    assert.deepEqual(await pipeline(3_000), Array(50).fill(200))
    assert.equal((await fetch(`${service.url}/health/live`)).status, 200)
  })
})
