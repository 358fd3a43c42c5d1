import assert from 'node:assert/strict'
import type { TSchema } from '@sinclair/typebox'
import sharp from 'sharp'
import { exampleOf } from '../../../path-api/documentation/example.ts'
import type { Operation } from '../../../path-api/operation/operation.ts'
import { operationTable } from '../../../path-api/operation-table.ts'
import { RawBody } from '../../../path-api/reply/body-media.ts'
import { mediaTypesOf } from '../../../path-api/request/request-input.ts'
import { connectUsers, createOwner, type Owner } from '../../harness/care/owners.ts'
import { call } from '../../harness/clients/path-client.ts'
import { createAdmin } from '../../harness/people/people.ts'

const operations = operationTable.filter(({ path }) => path.startsWith('/profile'))
const callers = ['owner', 'connection', 'stranger', 'admin', 'anonymous', 'ended'] as const
type CallerName = (typeof callers)[number]

/** Administrators have no part in what a person agrees with helpers; test/families/helpers shows the person's own calls. */
const isOwn = ({ access }: Operation): boolean => access === 'own'

/** The operations that a connection may call. */
const shared = ['getPerson', 'getPicture', 'listContacts', 'getContact']

const happensOnce = ({ method, id }: Operation): boolean => method === 'delete' || id === 'addConnection'

function expected(caller: CallerName, operation: Operation): number[] {
  if (caller === 'anonymous' || caller === 'ended') return [401]
  if (caller === 'stranger' || (caller === 'admin' && isOwn(operation))) return [404]
  if (caller === 'connection') return shared.includes(operation.id) ? [200] : [404]
  return [200, 201, 204]
}

/** The records of an owner. */
interface Belongings {
  owner: Owner
  ids: Record<string, string>
}

describe('access to a profile', () => {
  let people: Record<Exclude<CallerName, 'owner' | 'anonymous' | 'ended'>, Owner>
  let picture: Buffer
  /** A token of an ended session. */
  let ended: string
  /** Shared by all repeatable calls, including refused ones. */
  let shared: Belongings
  before(async () => {
    people = {
      connection: await createOwner(),
      stranger: await createOwner(),
      admin: await createAdmin(),
    }
    picture = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
      .png()
      .toBuffer()
    shared = await furnished()
    const leaver = await createOwner()
    await leaver.call('POST', '/auth/logout')
    ended = leaver.authToken
  })

  async function furnished(): Promise<Belongings> {
    const owner = await createOwner()
    await owner.call('PUT', '', { name: { displayName: 'SecretName' } })
    const email = { type: 'EMAIL', value: 'secret@example.org', primary: true }
    await owner.call('POST', 'picture', picture, { 'content-type': 'image/png' })
    const { body: relation } = await owner.call('POST', 'relation', { name: { displayName: 'SecretBea' } })
    const { body: contact } = await owner.call('POST', 'contact', email)
    const { body: address } = await owner.call('POST', 'address', { usage: 'HOME', locality: 'SecretTown' })
    const path = `relation/${relation.id}`
    const { body: hers } = await owner.call('POST', `${path}/contact`, email)
    const { body: home } = await owner.call('POST', `${path}/address`, {
      usage: 'HOME',
      locality: 'SecretTown',
    })
    await connectUsers(owner, people.connection)
    return {
      owner,
      ids: {
        mvUid: owner.mvUid,
        relationId: relation.id,
        contactId: contact.contactId,
        addressId: address.addressId,
        relationContactId: hers.contactId,
        relationAddressId: home.addressId,
        connectionMvUid: people.connection.mvUid,
        helperId: people.connection.mvUid,
        personId: people.connection.mvUid,
      },
    }
  }

  async function ask({ ids, owner }: Belongings, operation: Operation, token: string | undefined) {
    const ofRelation = operation.path.includes('{relationId}/')
    const idOf = (name: string): string =>
      (ofRelation && ids[`relation${name[0]?.toUpperCase()}${name.slice(1)}`]) || ids[name] || ''
    const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => idOf(name))
    const headers: Record<string, string> = operation.ifMatch
      ? { 'if-match': (await owner.call('GET', path)).etag }
      : {}
    if (token) headers.authorization = `Bearer ${token}`
    if (operation.body instanceof RawBody) {
      headers['content-type'] = mediaTypesOf(operation.body)[0] ?? ''
      return call('POST', path, picture, headers)
    }
    const { body } = operation
    if (body === undefined) return call(operation.method.toUpperCase(), path, undefined, headers)
    const example = exampleOf(body as TSchema) as Record<string, unknown>
    if (operation.id === 'addRelation') delete example.id
    if (operation.method === 'put' && 'id' in example)
      example.id = operation.id === 'updatePerson' ? ids.mvUid : ids.relationId
    for (const name of ['addressId', 'contactId']) if (name in example) example[name] = idOf(name)
    if (operation.id === 'addConnection') example.mvUid = people.stranger.mvUid
    return call(operation.method.toUpperCase(), path, example, headers)
  }

  it('is tested for the 34 operations of the specification', () => {
    assert.equal(operations.filter(({ extra }) => !extra).length, 34)
  })

  for (const operation of operations) {
    it(`follows the rules at ${operation.method.toUpperCase()} ${operation.path}`, async () => {
      for (const caller of callers.filter((one) => one !== 'owner' || !isOwn(operation))) {
        const isAllowed = caller === 'owner' || caller === 'admin'
        const belongings = isAllowed && happensOnce(operation) ? await furnished() : shared
        const tokens = {
          connection: people.connection.authToken,
          stranger: people.stranger.authToken,
          anonymous: undefined,
          ended,
          admin: people.admin.authToken,
          owner: belongings.owner.authToken,
        }
        const { status, body } = await ask(belongings, operation, tokens[caller])
        const text = Buffer.isBuffer(body) ? 'a picture' : JSON.stringify(body)
        assert.ok(expected(caller, operation).includes(status), `${caller}: ${status} ${text}`)
        if (status >= 400) assert.doesNotMatch(text, /secret/i, caller)
      }
    })
  }

  it('gives administrators a 404 for a missing user, too', async () => {
    for (const [method, body] of [
      ['GET', undefined],
      ['POST', { usage: 'HOME' }],
    ] as const) {
      const path = '/profile/nobody1234/address'
      assert.equal((await people.admin.call(method, path, body)).status, 404)
    }
  })

  it("does not reach records of others through one's own path", async () => {
    const { owner, ids } = await furnished()
    const { stranger } = people
    const ofOther: [string, string][] = [
      ['address', ids.addressId ?? ''],
      ['contact', ids.contactId ?? ''],
      ['address', `${owner.mvUid}-${ids.addressId}`],
      ['relation', ids.relationId ?? ''],
      ['network', ids.connectionMvUid ?? ''],
    ]
    for (const [path, id] of ofOther) {
      for (const method of ['GET', 'DELETE']) {
        assert.equal((await stranger.call(method, `${path}/${id}`)).status, 404, `${path}/${id}`)
      }
    }
  })
})
