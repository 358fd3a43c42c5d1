import { randomUUID } from 'node:crypto'
import { type Answer, assertStatus, call } from '../clients/path-client.ts'
import { createAdmin } from './people.ts'

/** Calls the openEHR REST API; paths are below /openehr/v1. */
export type RestCall = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answer>

/** A connected system with a token. */
export interface RestSystem {
  id: string
  name: string
  clientSecret: string
  rest: RestCall
}

export const withToken =
  (token: string): RestCall =>
  (method, path, body, headers = {}) =>
    call(method, `/openehr/v1${path}`, body, { authorization: `Bearer ${token}`, ...headers })

export const requestToken = (id: string, secret: string): Promise<Answer> =>
  call(
    'POST',
    '/auth/token',
    Buffer.from(
      String(new URLSearchParams({ grant_type: 'client_credentials', client_id: id, client_secret: secret })),
    ),
    { 'content-type': 'application/x-www-form-urlencoded' },
  )

/** Registers a system as an administrator does, and lets it log in. */
export async function createRestSystem(roles: string[] = []): Promise<RestSystem> {
  const admin = await createAdmin()
  const name = `System ${randomUUID()}`
  const { id, clientSecret } = assertStatus(await admin.call('POST', '/auth/system', { name, roles }), 201)
  const { access_token } = assertStatus(await requestToken(id, clientSecret))
  return { id, name, clientSecret, rest: withToken(access_token) }
}

export const asXml = { 'content-type': 'application/xml', accept: 'application/xml' }
export const showing = { prefer: 'return=representation' }
