import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setRole } from '../../../records/ehrs/rights/roles.ts'
import type { AccountRole } from '../../../schemas/enum.ts'
import type { Grant } from '../../../schemas/login.ts'
import { type Answer, call } from '../clients/path-client.ts'
import { keys, request, service } from '../service/service.ts'
import { followLink, mailTo } from './mail.ts'

export interface Person extends Grant {
  email: string
  password: string
  /** The keys and the session, as every request of the class family carries them. */
  headers: Record<string, string>
  /** Calls the path family as this person. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
}

export const newAddress = () => `user-${randomUUID()}@example.org`
export const password = 'correct horse battery staple'

export const register = (email: string, more: object = {}) =>
  call('POST', '/auth/account/register/password', { email, password, termsAccepted: true, ...more })

/** Signs up in the class family, with whatever else is sent. */
export const signUp = (email: unknown, more: object = {}) =>
  request()
    .post('/1/users')
    .set(keys())
    .send({ username: email, email, password, termsAccepted: true, ...more })

export const logIn = (email: string, secret = password) =>
  call('POST', '/auth/login/password', { email, password: secret })

export const as = (grant: Grant, email: string, secret = password): Person => ({
  ...grant,
  email,
  password: secret,
  headers: { ...keys(), 'X-Parse-Session-Token': grant.sessionToken },
  call: (method, path, body, headers) =>
    call(method, path, body, { authorization: `Bearer ${grant.authToken}`, ...headers }),
})

/** Somebody who has registered, followed the link and logged in. */
export async function newPerson(email = newAddress(), about: object = {}): Promise<Person> {
  assert.equal((await register(email, about)).status, 202)
  await followLink((await mailTo(email)).link)
  return logInAs(email)
}

export async function logInAs(email: string, secret = password): Promise<Person> {
  const { status, body } = await logIn(email, secret)
  assert.equal(status, 200, JSON.stringify(body))
  return as(body, email, secret)
}

export const newAdmin = (): Promise<Person> => newHolder('admin')

/** Somebody who holds a role of the service as a whole. */
export async function newHolder(role: AccountRole): Promise<Person> {
  const person = await newPerson()
  const database = { client: service.client, db: service.db }
  await service.client.withSession((session) =>
    session.withTransaction(() => setRole(database, session, person.mvUid, role, true)),
  )
  return person
}
