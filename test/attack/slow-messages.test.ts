import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { MAX_MESSAGE_BYTES } from '../../records/limits/admission/message-memory.ts'
import { copyDocument } from '../harness/care/copied-documents.ts'
import { createPatient, createPlan, type Patient } from '../harness/care/patients.ts'
import { createClassClient } from '../harness/clients/class-client.ts'
import { createPerson, type Person } from '../harness/people/people.ts'
import { service } from '../harness/service/service.ts'
import { waitUntil } from '../harness/wait.ts'

const MEGABYTE = 1024 * 1024
const LARGE_RESPONSE_BYTES = 13 * MEGABYTE

/** Sends a request, and reads the response on demand. */
function beginRequest(line: string, headers: Record<string, string>, body = '') {
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname)
  const lines = Object.entries({ host: hostname, ...headers }).map(([name, value]) => `${name}: ${value}`)
  socket.write(`${[`${line} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n${body}`)
  let text = ''
  let isClosed = false
  socket.on('data', (chunk) => {
    text += chunk
  })
  // A connection that the service ends is expected here.
  socket.on('error', () => {})
  socket.on('close', () => {
    isClosed = true
  })
  return { socket, text: () => text, isClosed: () => isClosed }
}

describe('attack: a client that reads or sends slowly', function suite() {
  this.timeout(60_000)
  const usual = { ...MAX_MESSAGE_BYTES }
  let patient: Patient
  let other: Person

  before(async () => {
    patient = await createPatient()
    other = await createPerson()
    // The service knows the accounts of these sessions from now on.
    for (const { call, mvUid } of [patient, other]) await call('GET', `/profile/${mvUid}`)
  })
  afterEach(() => Object.assign(MAX_MESSAGE_BYTES, usual))

  it('loses its oldest responses when it leaves too much unread', async () => {
    const carePlanId = await createPlan(patient)
    const custom = { ehrId: patient.ehrId, carePlanId, modelClassName: 'Large', payload: {} }
    const { body } = await createClassClient(patient).post('Custom', custom).expect(201)
    const payload = { text: 'x'.repeat(0.9 * MEGABYTE) }
    await copyDocument('Custom', body.objectId, 15, () => ({ payload }))
    Object.assign(MAX_MESSAGE_BYTES, { account: 1.5 * LARGE_RESPONSE_BYTES })
    const where = encodeURIComponent(JSON.stringify({ carePlanId }))
    const unread: ReturnType<typeof beginRequest>[] = []
    for (let i = 0; i < 3; i++) {
      const one = beginRequest(`GET /1/classes/Custom?limit=16&where=${where}`, patient.headers)
      one.socket.once('data', () => one.socket.pause())
      await waitUntil(() => one.text() !== '')
      unread.push(one)
    }
    for (const { socket } of unread) socket.resume()
    await waitUntil(() => unread.slice(0, 2).every(({ isClosed }) => isClosed()))
    await waitUntil(() => (unread[2]?.text().length ?? 0) > LARGE_RESPONSE_BYTES)
    assert.ok(unread.slice(0, 2).every(({ text }) => text().length < LARGE_RESPONSE_BYTES))
    unread[2]?.socket.destroy()
  })

  const beginChange = ({ authToken, mvUid }: Person, announced: number, sent: number) =>
    beginRequest(
      `PUT /profile/${mvUid}`,
      {
        authorization: `Bearer ${authToken}`,
        'content-type': 'application/json',
        'content-length': String(announced),
      },
      ' '.repeat(sent),
    )

  it('is refused more bodies while others are under way', async () => {
    Object.assign(MAX_MESSAGE_BYTES, { account: 1000 })
    const slow = beginChange(patient, 700, 1)
    await waitUntil(async () => {
      const next = beginChange(patient, 700, 700)
      await waitUntil(() => next.text() !== '')
      next.socket.destroy()
      return next.text().startsWith('HTTP/1.1 429 ')
    })
    slow.socket.destroy()
    await waitUntil(async () => (await patient.call('PUT', `/profile/${patient.mvUid}`, [])).status === 400)
  })

  it('loses its connection when it leaves no room for others', async () => {
    Object.assign(MAX_MESSAGE_BYTES, { all: 1000 })
    const slow = beginChange(patient, 700, 1)
    await waitUntil(async () => {
      assert.equal((await other.call('PUT', `/profile/${other.mvUid}`, Array(200).fill(0))).status, 400)
      return slow.isClosed()
    })
  })
})
