import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import express from 'express'
import { createHttpServer, REQUEST_ARRIVAL_TIMEOUT_MS } from '../../../server/http/http-server.ts'
import { service } from '../../harness/service/service.ts'
import { waitUntil } from '../../harness/wait.ts'

/** Malformed or too large HTTP never becomes a request, and is still refused in the same form. */
describe('bytes that are not a valid request', () => {
  async function answerTo(raw: string): Promise<{ status: number; body: Record<string, unknown> }> {
    const { port, hostname } = new URL(service.url)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    socket.write(raw)
    const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
    assert.match(head, /content-type: application\/problem\+json/i)
    return { status: Number(head.split(' ')[1]), body: JSON.parse(body) }
  }

  it('are refused as malformed', async () => {
    for (const raw of ['no http\r\n\r\n', 'GET / HTTP/1.1\r\nno header\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n']) {
      const { status, body } = await answerTo(raw)
      assert.deepEqual([status, body.status, body.code], [400, 400, 'malformed-request'], raw)
    }
  })

  it('are refused as too large', async () => {
    for (const raw of [
      `GET / HTTP/1.1\r\na: ${'x'.repeat(20_000)}\r\n\r\n`,
      `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n\r\n`,
    ]) {
      const { status, body } = await answerTo(raw)
      assert.deepEqual([status, body.code], [431, 'headers-too-large'])
    }
  })
})

describe('requests that arrive slowly', () => {
  const SHORT_TIMEOUT_MS = 300
  let server: Server
  before(async () => {
    server = createHttpServer(
      express().use((request, response) => request.resume().on('end', () => response.end())),
      '',
      SHORT_TIMEOUT_MS,
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  after(() => server.close())

  it('have 30 s in the service', () => {
    assert.equal(REQUEST_ARRIVAL_TIMEOUT_MS, 30_000)
  })

  for (const [part, head] of [
    ['a body', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{'],
    ['headers', 'GET / HTTP/1.1\r\nHost: x'],
  ] as const)
    it(`are ended, also while ${part} keeps arriving byte by byte`, async () => {
      const { port } = server.address() as AddressInfo
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      socket.write(head)
      const drip = setInterval(() => socket.writable && socket.write(' '), 50)
      const [status = '', body = ''] = (await text(socket)).split('\r\n\r\n')
      clearInterval(drip)
      assert.match(status, /^HTTP\/1.1 408 /)
      assert.equal(JSON.parse(body).code, 'request-timeout')
      socket.destroy()
    })
})

describe('responses that a client does not read', () => {
  const SHORT_TIMEOUT_MS = 500
  const PAUSE_MS = 200
  const SIZE = 40_000_000
  let server: Server
  before(async () => {
    const app = express().use((_, response) => void response.end(Buffer.alloc(SIZE)))
    server = createHttpServer(app, '', SHORT_TIMEOUT_MS)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  after(() => server.close())

  const ask = () => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.on('error', () => {}).write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    return socket
  }
  const countConnections = () =>
    new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)))

  it('are dropped with their connection', async () => {
    const socket = ask().pause()
    await waitUntil(async () => (await countConnections()) === 1)
    await waitUntil(async () => (await countConnections()) === 0)
    socket.destroy()
  })

  it('arrive whole when the client reads slowly', async () => {
    const socket = ask()
    let received = 0
    let pauses = 0
    for await (const chunk of socket) {
      received += chunk.length
      if (received < (pauses * SIZE) / 20) continue
      pauses += 1
      await delay(PAUSE_MS)
    }
    assert.ok(received > SIZE)
  })
})
