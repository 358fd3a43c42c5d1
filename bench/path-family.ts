/**
 * The path family's profiles compared with (A) a handwritten service with Express, jose and the driver, and (B) a bare Parse
 * Server with objects of the same size, all on one engine. Writes differ: ours add a history in the same transaction, and
 * are on disk before the response.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import type { Request } from 'autocannon'
import { newId } from '../records/store/documents/ids.ts'
import {
  compareSides,
  createGet,
  createRequest,
  postJson,
  type Side,
  signIn,
  stopSide,
} from './frame/compare-sides.ts'
import { startExpressSide } from './peers/express-side.ts'
import { account, startParseSide } from './peers/parse-side.ts'

const preloaded = 200
const person = { name: { displayName: 'Anna de Vries' }, gender: 'FEMALE', language: 'nl', nationality: 'NL' }
const contact = (i: number) => ({
  type: 'PHONE',
  value: '+31 20 624 1111',
  primary: false,
  label: `number ${i}`,
})

/** A side with its four kinds of requests. */
interface ProfileSide extends Side {
  getProfile: Request
  listContacts: Request
  putContact: Request[]
  login: Request
}

async function startOurs(engineUri: string): Promise<ProfileSide> {
  const side = await startParseSide('ours', '../server/main.js', engineUri)
  const { email, password } = account
  await signIn(side, '/auth/login/password', account)
  // Contacts are replaced many times in any order, so the condition names every possible version.
  side.headers['If-Match'] = Array.from({ length: 400 }, (_, i) => `"${i + 1}"`).join(', ')
  const at = `/profile/${side.userId}`
  await fetch(side.url + at, { method: 'PUT', headers: side.headers, body: JSON.stringify(person) })
  const putContact: Request[] = []
  for (let i = 0; i < preloaded; i++) {
    const { contactId = '' } = await postJson(side, `${at}/contact`, contact(i))
    const body = { ...contact(i), primary: i === 0, contactId }
    putContact.push(createRequest('PUT', `${at}/contact/${contactId}`, body))
  }
  return {
    ...side,
    getProfile: createGet(at),
    listContacts: createGet(`${at}/contact?limit=20`),
    putContact,
    login: createRequest('POST', '/auth/login/password', { email, password }),
  }
}

async function startBareExpress(engineUri: string): Promise<ProfileSide> {
  const { email, password } = account
  const ofPerson = Array.from({ length: preloaded }, (_, i) => ({ _id: newId(), version: 1, ...contact(i) }))
  const side = await startExpressSide(engineUri, person, ofPerson)
  const id = side.userId
  await signIn(side, '/login', account)
  return {
    ...side,
    getProfile: createGet(`/profile/${id}`),
    listContacts: createGet(`/profile/${id}/contact?limit=20`),
    putContact: ofPerson.map(({ _id }, i) =>
      createRequest('PUT', `/profile/${id}/contact/${_id}`, contact(i)),
    ),
    login: createRequest('POST', '/login', { email, password }),
  }
}

async function startBareParse(engineUri: string): Promise<ProfileSide> {
  const side = await startParseSide('parse', './peers/bare-parse-server.js', engineUri)
  const { ehrId, carePlanId } = side
  const custom = (modelClassName: string, payload: object) =>
    postJson(side, '/1/classes/Custom', { ehrId, carePlanId, modelClassName, payload })
  const { objectId = '' } = await custom('Person', person)
  const putContact: Request[] = []
  for (let i = 0; i < preloaded; i++) {
    const { objectId: id } = await custom('Contact', contact(i))
    putContact.push(createRequest('PUT', `/1/classes/Custom/${id}`, { payload: contact(i) }))
  }
  const where = encodeURIComponent(JSON.stringify({ carePlanId, modelClassName: 'Contact' }))
  return {
    ...side,
    name: 'B: Parse',
    getProfile: createGet(`/1/classes/Custom/${objectId}`),
    listContacts: createGet(`/1/classes/Custom?where=${where}&order=createdAt&limit=20`),
    putContact,
    login: createRequest('POST', '/1/login', account),
  }
}

const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
const engine = await startEmbeddedMongo({ dataDir, port: 0 })
const sides = [
  await startOurs(engine.uri),
  await startBareExpress(engine.uri),
  await startBareParse(engine.uri),
]

await compareSides(sides, {
  'GET profile': { requests: ({ getProfile }) => [getProfile], connections: 8 },
  'list of contacts': { requests: ({ listContacts }) => [listContacts], connections: 8 },
  'PUT contact': { requests: ({ putContact }) => putContact, connections: 8 },
  // A login hashes for a tenth of a second, so a few connections keep the machine busy.
  login: { requests: ({ login }) => [login], connections: 4, warmUp: 8 },
})

for (const side of sides) await stopSide(side)
await engine.stop()
rmSync(dataDir, { recursive: true, force: true })
