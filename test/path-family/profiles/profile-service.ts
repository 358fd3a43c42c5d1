import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import express from 'express'
import { type Db, MongoClient } from 'mongodb'
import type { Services } from '../../../path-api/operation/services.ts'
import { createPathApi } from '../../../path-api/router.ts'
import { contents } from '../../../records/kinds.ts'
import { Profiles } from '../../../records/profiles/profiles.ts'
import { openAudit } from '../../../records/store/audit/trail.ts'
import { newId } from '../../../records/store/documents/ids.ts'
import { RecentRemovals } from '../../../records/store/writing/recent-removals.ts'

export interface Reply {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: whatever was answered
  body: any
  headers: Headers
  etag: string
}

type Send = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Reply>

/** Somebody with an account and a token. */
export interface TestPerson {
  mvUid: string
  email: string
  token: string
  /** Paths without a leading slash are below the person's own profile. */
  send: Send
}

/** The profile operations over HTTP on the embedded engine; tokens are ours, see `newPerson`. */
export interface ProfileService {
  url: string
  client: MongoClient
  db: Db
  profiles: Profiles
  newPerson(about?: { name?: string; role?: 'admin' }): Promise<TestPerson>
  /** Sends without a token unless the headers have one. */
  send: Send
  /** What went wrong without anybody having foreseen it. */
  faults: object[]
  close(): Promise<void>
}

export async function startProfiles(): Promise<ProfileService> {
  const dataDir = await mkdtemp(join(tmpdir(), 'profiles-'))
  const engine = await startEmbeddedMongo({ dataDir })
  const client = await MongoClient.connect(engine.uri)
  const db = client.db('test')
  const clock = () => new Date()
  const faults: object[] = []
  const onFault = (fault: unknown) => faults.push(fault as object)
  const audit = await openAudit({ db, key: 'a key', clock, onFault })
  const profiles = new Profiles({ client, db, clock, audit, contents, recentRemovals: new RecentRemovals() })
  for (const [name, indexes] of profiles.indexes()) {
    if (indexes.length > 0) await db.collection(name).createIndexes(indexes)
  }
  const api = await createPathApi({
    services: { profiles } as unknown as Services,
    tokens: {
      authenticate: async (token) => {
        const [role, mvUid] = token.split('-')
        if (!mvUid || role === 'expired') return undefined
        return { mvUid, sessionId: 's', roles: role === 'admin' ? ['admin'] : [], application: 'test' }
      },
      ownOrigins: [],
      tokenFromQuery: false,
    },
    log: { error: (facts) => faults.push(facts) },
    checking: true,
    db,
    spend: async () => {},
    corsOrigins: [],
    version: '0.0.0',
  })
  const server = createServer(express().use(api)).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const send: Send = async (method, path, body, headers = {}) => {
    const json = body !== undefined && !Buffer.isBuffer(body)
    const reply = await fetch(url + path, {
      method,
      headers: { ...(json ? { 'content-type': 'application/json' } : {}), ...headers },
      ...(body === undefined ? {} : { body: Buffer.isBuffer(body) ? body : JSON.stringify(body) }),
    })
    const isJson = /[/+]json$/.test(reply.headers.get('content-type') ?? '')
    const bytes = Buffer.from(await reply.arrayBuffer())
    return {
      status: reply.status,
      headers: reply.headers,
      etag: reply.headers.get('etag') ?? '',
      body: isJson && bytes.length > 0 ? JSON.parse(bytes.toString()) : bytes,
    }
  }
  return {
    url,
    client,
    db,
    profiles,
    send,
    faults,
    async newPerson({ name, role } = {}) {
      const mvUid = newId()
      const email = `${mvUid.toLowerCase()}@example.org`
      const at = new Date()
      const about = {
        email,
        username: email,
        _created_at: at,
        _updated_at: at,
        _rperm: [mvUid],
        _wperm: [mvUid],
      }
      await db.collection<{ _id: string }>('_User').insertOne({
        _id: mvUid,
        ...about,
        _hashed_password: 'a secret',
        ...(name ? { name } : {}),
      } as {
        _id: string
      })
      const token = `${role ?? 'user'}-${mvUid}`
      return {
        mvUid,
        email,
        token,
        send: (method, path, body, headers) =>
          send(method, path.startsWith('/') ? path : `/profile/${mvUid}/${path}`.replace(/\/$/, ''), body, {
            authorization: `Bearer ${token}`,
            ...headers,
          }),
      }
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await audit.close()
      await client.close()
      await engine.stop()
      await rm(dataDir, { recursive: true })
      assert.deepEqual(faults, [])
    },
  }
}

/** Two users who are connected. */
export async function connect(one: TestPerson, other: TestPerson): Promise<void> {
  await one.send('POST', 'network', { mvUid: other.mvUid })
  await other.send('POST', 'network', { mvUid: one.mvUid })
}

/** Asserts a problem document and gives the places that it names. */
export function refused({ status, body }: Reply, expected: number, code: string): string[] {
  assert.equal(status, expected, JSON.stringify(body))
  assert.equal(body.code, code)
  return body.errors.map(({ path }: { path: string }) => path)
}
