import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { service } from '../harness/service/service.ts'

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
