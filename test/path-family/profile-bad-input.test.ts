import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import type { TSchema } from '@sinclair/typebox'
import { exampleOf } from '../../path-api/example.ts'
import { Raw } from '../../path-api/media.ts'
import type { Operation } from '../../path-api/operation.ts'
import { table } from '../../path-api/table.ts'
import { type ProfileService, refused, startProfiles, type TestPerson } from './profile-service.ts'

const operations = table.filter(({ path }) => path.startsWith('/profile'))

const nasty: unknown[] = [
  ...[null, true, 0, -1, 1e308, 0.1, '', ' ', 'x'.repeat(100_000), '\u0000', '\ud800', '\u202e\u{1F600}'],
  ...['$where', '../../etc/passwd', '9999-12-31', '0000-01-01', '-000001-01-01', '2016-12-31T23:59:60Z'],
  ...[[], {}, [[]], { $gt: '' }, { __proto__: null, constructor: { prototype: 1 } }, { 'a.b': 1 }],
]

/** Every property, of members too, in turn with every nasty value. */
function* spoiled(example: Record<string, unknown>): Generator<Record<string, unknown>> {
  for (const [name, value] of Object.entries(example)) {
    for (const bad of nasty) yield { ...example, [name]: bad }
    if (typeof value !== 'object' || value === null) continue
    for (const member of spoiled(value as Record<string, unknown>)) yield { ...example, [name]: member }
  }
}

describe('bad input to profiles', function suite() {
  this.timeout(60_000)
  let service: ProfileService
  let anna: TestPerson
  const ids: Record<string, string> = {}
  before(async () => {
    service = await startProfiles()
    anna = await service.newPerson()
    ids.mvUid = anna.mvUid
    ids.relationId = (await anna.send('POST', 'relation', { name: { displayName: 'Bea' } })).body.id
    const fax = { type: 'FAX', value: '+31206241111', primary: true }
    for (const [of, at] of [
      ['', ''],
      ['relation ', `relation/${ids.relationId}/`],
    ]) {
      ids[`${of}addressId`] = (await anna.send('POST', `${at}address`, { usage: 'HOME' })).body.addressId
      ids[`${of}contactId`] = (await anna.send('POST', `${at}contact`, fax)).body.contactId
    }
  })
  after(() => service.close())

  const idOf = ({ path }: Operation, name: string): string =>
    (path.includes('{relationId}/') ? ids[`relation ${name}`] : undefined) ?? ids[name] ?? 'x'
  const pathOf = (operation: Operation) =>
    operation.path.replace(/\{(\w+)\}/g, (_, name: string) => idOf(operation, name))

  for (const operation of operations) {
    const { body, method } = operation
    if (body === undefined || body instanceof Raw) continue
    it(`never breaks ${operation.id}`, async () => {
      const example = exampleOf(body as TSchema) as Record<string, unknown>
      for (const name of ['addressId', 'contactId'])
        if (name in example) example[name] = idOf(operation, name)
      if (operation.id === 'updatePerson') example.id = anna.mvUid
      if (operation.id === 'updateRelation') example.id = ids.relationId
      const bodies = [...spoiled(example)]
      for (let i = 0; i < bodies.length; i += 20) {
        const sent = bodies
          .slice(i, i + 20)
          .map((bad) => anna.send(method.toUpperCase(), pathOf(operation), bad, { 'if-match': '*' }))
        for (const [at, { status }] of (await Promise.all(sent)).entries()) {
          assert.ok(status < 500, `${status}: ${JSON.stringify(bodies[i + at]).slice(0, 500)}`)
        }
      }
    })
  }

  it('is refused when it is too large, packed or unpacked', async () => {
    const large = { usage: 'HOME', note: 'x'.repeat(10_000_000) }
    refused(await anna.send('POST', 'address', large), 413, 'content-too-large')
    const packed = gzipSync(JSON.stringify(large))
    const type = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    refused(await anna.send('POST', 'address', packed, type), 413, 'content-too-large')
    const picture = { 'content-type': 'image/png', 'content-encoding': 'gzip' }
    const bomb = gzipSync(Buffer.alloc(50_000_000))
    refused(await anna.send('POST', 'picture', bomb, picture), 413, 'content-too-large')
  })

  it('is refused when it is a cursor of nobody’s making', async () => {
    const lists: [path: string, name: string][] = [
      ['address', 'own'],
      ['contact', 'own'],
      ['relation', 'own'],
      ['network', 'own'],
    ]
    for (const [path, name] of lists) {
      for (const parts of [
        [name, 'd', 1e20, 'x'],
        [name, 'd', 'x', 'x'],
        [name, 'v', {}, 'x'],
        [name, 'v', 1e308, 'x'],
        [],
      ]) {
        const cursor = Buffer.from(JSON.stringify(parts)).toString('base64url')
        const { status } = await anna.send('GET', `${path}?cursor=${cursor}`)
        assert.ok(status < 500, `${path} ${JSON.stringify(parts)}: ${status}`)
      }
    }
  })
})
