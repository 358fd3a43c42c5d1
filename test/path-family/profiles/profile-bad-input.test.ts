import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import type { TSchema } from '@sinclair/typebox'
import { exampleOf } from '../../../path-api/documentation/example.ts'
import type { Operation } from '../../../path-api/operation/operation.ts'
import { operationTable } from '../../../path-api/operation-table.ts'
import { RawBody } from '../../../path-api/reply/body-media.ts'
import { qualifiedListName } from '../../../records/store/reading/cursor.ts'
import { createOwner, type Owner } from '../../harness/care/owners.ts'
import { assertProblemPlaces } from '../../harness/clients/path-client.ts'
import { createForgedCursors, withNaughtyValues } from '../../harness/naughty-values.ts'

const operations = operationTable.filter(({ path }) => path.startsWith('/profile'))

describe('bad input to profiles', function suite() {
  this.timeout(60_000)
  let anna: Owner
  const ids: Record<string, string> = {}
  before(async () => {
    anna = await createOwner()
    ids.mvUid = anna.mvUid
    ids.relationId = (await anna.call('POST', 'relation', { name: { displayName: 'Bea' } })).body.id
    const fax = { type: 'FAX', value: '+31206241111', primary: true }
    for (const [of, at] of [
      ['', ''],
      ['relation ', `relation/${ids.relationId}/`],
    ]) {
      ids[`${of}addressId`] = (await anna.call('POST', `${at}address`, { usage: 'HOME' })).body.addressId
      ids[`${of}contactId`] = (await anna.call('POST', `${at}contact`, fax)).body.contactId
    }
  })

  const idOf = ({ path }: Operation, name: string): string =>
    (path.includes('{relationId}/') ? ids[`relation ${name}`] : undefined) ?? ids[name] ?? 'x'
  const pathOf = (operation: Operation) =>
    operation.path.replace(/\{(\w+)\}/g, (_, name: string) => idOf(operation, name))

  for (const operation of operations) {
    const { body, method } = operation
    if (body === undefined || body instanceof RawBody) continue
    it(`never makes ${operation.id} fail`, async () => {
      const example = exampleOf(body as TSchema) as Record<string, unknown>
      for (const name of ['addressId', 'contactId'])
        if (name in example) example[name] = idOf(operation, name)
      if (operation.id === 'updatePerson') example.id = anna.mvUid
      if (operation.id === 'updateRelation') example.id = ids.relationId
      const bodies = [...withNaughtyValues(example)]
      for (let i = 0; i < bodies.length; i += 20) {
        const requests = bodies
          .slice(i, i + 20)
          .map((bad) => anna.call(method.toUpperCase(), pathOf(operation), bad, { 'if-match': '"1"' }))
        for (const [at, { status }] of (await Promise.all(requests)).entries()) {
          assert.ok(status < 500, `${status}: ${JSON.stringify(bodies[i + at]).slice(0, 500)}`)
        }
      }
    })
  }

  it('is refused if too large, compressed or decompressed', async () => {
    const large = { usage: 'HOME', note: 'x'.repeat(10_000_000) }
    assertProblemPlaces(await anna.call('POST', 'address', large), 413, 'content-too-large')
    const packed = gzipSync(JSON.stringify(large))
    const type = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    assertProblemPlaces(await anna.call('POST', 'address', packed, type), 413, 'content-too-large')
    const picture = { 'content-type': 'image/png', 'content-encoding': 'gzip' }
    const bomb = gzipSync(Buffer.alloc(50_000_000))
    assertProblemPlaces(await anna.call('POST', 'picture', bomb, picture), 413, 'content-too-large')
  })

  it('is refused if it contains an invented cursor', async () => {
    for (const [path, collection] of [
      ['address', 'profile.addresses'],
      ['contact', 'profile.contacts'],
      ['relation', 'profile.relations'],
      ['network', 'profile.connections'],
    ] as const) {
      for (const cursor of createForgedCursors(qualifiedListName(collection, 'own'))) {
        const { status } = await anna.call('GET', `${path}?cursor=${cursor}`)
        assert.ok(status < 500, `${path} ${cursor}: ${status}`)
      }
    }
  })
})
