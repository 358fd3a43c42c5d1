import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { createPerson, type Person } from '../harness/people/people.ts'
import { apiKeys, service } from '../harness/service/service.ts'

/** Sends a body in chunks of one size. @returns status and body of the response */
async function sendInChunks(line: string, headers: object, body: string, size: number) {
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname)
  const response = text(socket).catch(() => '')
  const sentHeaders = {
    host: hostname,
    connection: 'close',
    'transfer-encoding': 'chunked',
    'content-type': 'application/json',
    ...headers,
  }
  const lines = Object.entries(sentHeaders).map(([name, value]) => `${name}: ${value}`)
  const chunks = body.match(new RegExp(`.{1,${size}}`, 'gs')) ?? []
  const encoded = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')
  socket.write(`${[`${line} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n${encoded}0\r\n\r\n`)
  const [head = '', ...rest] = (await response).split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), body: rest.join() }
}

describe('attack: bodies in tiny chunks', () => {
  let person: Person

  before(async () => {
    person = await createPerson()
  })

  it('are refused in both families when there are thousands of them', async () => {
    const body = JSON.stringify({ email: 'a@example.org', password: 'x'.repeat(20_000) })
    for (const [line, headers] of [
      ['POST /auth/login/password', {}],
      ['POST /1/login', apiKeys()],
    ] as const) {
      const refused = await sendInChunks(line, headers, body, 1)
      assert.equal(refused.status, 400, refused.body)
      assert.match(refused.body, /chunks of a few bytes/)
    }
  })

  it('are joined otherwise, whatever their sizes are', async () => {
    const line = `PUT /profile/${person.mvUid}`
    const profile = await person.call('GET', `/profile/${person.mvUid}`)
    for (const [size, length] of [
      [1, 100],
      [7, 3_000],
      [100, 30_000],
      [5_000, 40_000],
    ] as const) {
      const body = JSON.stringify({ displayName: 'Ann', nothing: 'x'.repeat(length) })
      const headers = { authorization: `Bearer ${person.authToken}`, 'if-match': '*' }
      const response = await sendInChunks(line, headers, body, size)
      assert.match(response.body, /body\.nothing/, `${size}: ${response.body}`)
    }
    assert.equal((await person.call('GET', `/profile/${person.mvUid}`)).body.version, profile.body.version)
  })
})
