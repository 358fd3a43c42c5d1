import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type User, usersOf } from '../../../records/accounts/user/user.ts'
import { setRole } from '../../../records/ehrs/rights/roles.ts'
import { newId } from '../../../records/store/documents/ids.ts'
import type { TokenGrant } from '../../../schemas/accounts/login.ts'
import type { AccountRole } from '../../../schemas/enums.ts'
import { type Answer, assertStatus, call } from '../clients/path-client.ts'
import { followLink, waitForMail } from '../mail/mail.ts'
import { apiKeys, request, service } from '../service/service.ts'

export interface Person extends TokenGrant {
  email: string
  password: string
  /** The keys and the session in the form of the class family's headers. */
  headers: Record<string, string>
  /** Calls the path family as this person. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
}

export const createAddress = () => `user-${randomUUID()}@example.org`
export const password = 'correct horse battery staple'
/** The hash of this password at the lowest cost of bcrypt: a login takes 1 ms of processor in place of 77. */
const QUICK_HASH = '$2y$04$.w082OHdwTTfmxF5cmIcz.y8BrZLJrym9vtDYNSotAwUQQo7D36Yu'

export const register = (email: string, more: object = {}) =>
  call('POST', '/auth/account/register/password', { email, password, termsAccepted: true, ...more })

/** Signs up in the class family, with additional fields. */
export const signUp = (email: unknown, more: object = {}) =>
  request()
    .post('/1/users')
    .set(apiKeys())
    .send({ username: email, email, password, termsAccepted: true, ...more })

export const logIn = (email: string, secret = password) =>
  call('POST', '/auth/login/password', { email, password: secret })

export const createPersonFor = (grant: TokenGrant, email: string, secret = password): Person => ({
  ...grant,
  email,
  password: secret,
  headers: { ...apiKeys(), 'X-Parse-Session-Token': grant.sessionToken },
  call: (method, path, body, headers) =>
    call(method, path, body, { authorization: `Bearer ${grant.authToken}`, ...headers }),
})

/** A person who has registered, followed the link and logged in, or has a copy of such an account. */
export async function createPerson(about: object = {}): Promise<Person> {
  const email = createAddress()
  if (Object.keys(about).length > 0) await createActivatedUser(email, about)
  else await copySampleUser(email)
  return logInAs(email)
}

/** Gives a profile its name, and what else is given. */
export const nameProfile = async (person: Person, displayName: string, more: object = {}) =>
  assertStatus(await person.call('PUT', `/profile/${person.mvUid}`, { name: { displayName }, ...more }))

async function createActivatedUser(email: string, about: object = {}): Promise<User> {
  assert.equal((await register(email, about)).status, 202)
  await followLink((await waitForMail(email)).link)
  const user = await usersOf(service.db).findOne({ email })
  assert.ok(user)
  return user
}

/**
 * Registration leaves equal data for all people except their identity and the hash of their password. Copies are faster,
 * since tests need hundreds.
 */
let SAMPLE_USER: Promise<User> | undefined

async function copySampleUser(email: string): Promise<void> {
  SAMPLE_USER ??= createActivatedUser(createAddress())
  const _id = newId()
  const time = new Date()
  const copy: User & { _hashed_password: string; _acl: object } = {
    ...(await SAMPLE_USER),
    _id,
    ehrId: newId(),
    email,
    username: email,
    _hashed_password: QUICK_HASH,
    _rperm: [_id],
    _wperm: [_id],
    _acl: { [_id]: { r: true, w: true } },
    _created_at: time,
    _updated_at: time,
    termsAcceptedAt: time,
    activatedAt: time,
  }
  await usersOf(service.db).insertOne(copy)
}

export async function logInAs(email: string, secret = password): Promise<Person> {
  const { status, body } = await logIn(email, secret)
  assert.equal(status, 200, JSON.stringify(body))
  return createPersonFor(body, email, secret)
}

/** Ends the sessions of a person, except that of the person's calls. */
export async function endOtherSessions(person: Person): Promise<void> {
  const { items } = assertStatus(await person.call('GET', '/auth/sessions'))
  for (const { sid, current } of items)
    if (!current) assertStatus(await person.call('DELETE', `/auth/sessions/${sid}`), 204)
}

export const createAdmin = (): Promise<Person> => createRoleHolder('admin')

/** A person with a role of the whole service. */
export async function createRoleHolder(role: AccountRole): Promise<Person> {
  const person = await createPerson()
  const database = { client: service.client, db: service.db }
  await service.client.withSession((session) =>
    session.withTransaction(() => setRole(database, session, person.mvUid, role, true)),
  )
  return person
}
