import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type User, usersOf } from '../../../records/accounts/user/user.ts'
import { setRole } from '../../../records/ehrs/rights/roles.ts'
import { newId } from '../../../records/store/documents/ids.ts'
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

/** Somebody who has registered, followed the link and logged in, or whose account is like that of one who has. */
export async function newPerson(about: object = {}): Promise<Person> {
  const email = newAddress()
  if (Object.keys(about).length > 0) await activated(email, about)
  else await copied(email)
  return logInAs(email)
}

async function activated(email: string, about: object = {}): Promise<User> {
  assert.equal((await register(email, about)).status, 202)
  await followLink((await mailTo(email)).link)
  const user = await usersOf(service.db).findOne({ email })
  assert.ok(user)
  return user
}

/** What registration leaves is the same but for who it is: tests make people by the hundred, with few of them by mail. */
let sample: Promise<User> | undefined

async function copied(email: string): Promise<void> {
  sample ??= activated(newAddress())
  const [_id, at] = [newId(), new Date()]
  await usersOf(service.db).insertOne({
    ...(await sample),
    ...{ _id, ehrId: newId(), email, username: email },
    ...{ _rperm: [_id], _wperm: [_id], _acl: { [_id]: { r: true, w: true } } },
    ...{ _created_at: at, _updated_at: at, termsAcceptedAt: at, activatedAt: at },
  })
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
