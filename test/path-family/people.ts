import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Email } from 'postal-mime'
import { setRole } from '../../records/ehrs/roles.ts'
import type { Grant } from '../../schemas/login.ts'
import { followLink, mailTo, newAddress, password, service } from '../helper.ts'

export interface Answer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever was answered
  body: any
}

/** Calls the path family as anyone. */
export async function call(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(service.url + path, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const json = /[/+]json/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text }
}

/** Asserts a problem document. @returns the codes of its violations */
export function refused({ status, body }: Answer, expected: number, code: string): string[] {
  assert.equal(status, expected, JSON.stringify(body))
  assert.equal(body.code, code, JSON.stringify(body))
  return body.errors.map((violation: { code: string }) => violation.code).sort()
}

/** The places that a problem document names. */
export const placesIn = ({ body }: Answer): string[] => body.errors.map(({ path }: { path: string }) => path)

export interface Person extends Grant {
  email: string
  password: string
  /** Calls the path family as this person. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
}

export const register = (email: string, more: object = {}) =>
  call('POST', '/auth/account/register/password', { email, password, termsAccepted: true, ...more })

export const logIn = (email: string, secret = password) =>
  call('POST', '/auth/login/password', { email, password: secret })

/** The token in a mailed link. */
export const tokenIn = ({ link }: { link: string }): string => new URL(link).searchParams.get('token') ?? ''

/** A mail to an address that is as it should be; waits until it is there. */
async function mailThat(address: string, fits: (mail: LinkMail) => boolean): Promise<LinkMail> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const mail = await mailTo(address)
    if (fits(mail)) return mail
    await sleep(25)
  }
  throw new Error(`no such mail to ${address}`)
}

type LinkMail = Email & { link: string }

export const mailAbout = (address: string, subject: RegExp) =>
  mailThat(address, (mail) => subject.test(mail.subject ?? ''))

/** The mail that follows another one, with a link of its own. */
export const mailAfter = (address: string, former: { link: string }) =>
  mailThat(address, ({ link }) => link !== former.link)

export const as = (grant: Grant, email: string, secret = password): Person => ({
  ...grant,
  email,
  password: secret,
  call: (method, path, body, headers) =>
    call(method, path, body, { authorization: `Bearer ${grant.authToken}`, ...headers }),
})

/** Somebody who has registered, followed the link and logged in. */
export async function newPerson(email = newAddress()): Promise<Person> {
  assert.equal((await register(email)).status, 202)
  await followLink((await mailTo(email)).link)
  return logInAs(email)
}

export async function logInAs(email: string, secret = password): Promise<Person> {
  const { status, body } = await logIn(email, secret)
  assert.equal(status, 200, JSON.stringify(body))
  return as(body, email, secret)
}

export async function newAdmin(): Promise<Person> {
  const person = await newPerson()
  const database = { client: service.client, db: service.db }
  await service.client.withSession((session) =>
    session.withTransaction(() => setRole(database, session, person.mvUid, 'admin', true)),
  )
  return person
}
