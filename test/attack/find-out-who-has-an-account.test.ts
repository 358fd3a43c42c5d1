import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { Document } from 'mongodb'
import type { Response } from 'supertest'
import { logIn, newAddress, newPerson, register, signUp } from '../harness/people/people.ts'
import { commandsOf } from '../harness/service/database-commands.ts'
import { keys, request } from '../harness/service/service.ts'
import { sized } from '../harness/size.ts'

/** What an answer shows, without what differs between any two. */
const visibleIn = ({ status, body, headers }: Response) => {
  const { requestId: _, objectId, createdAt, email: _email, ...rest } = body
  return {
    status,
    rest,
    has: [objectId, createdAt].map((value) => typeof value),
    heads: Object.keys(headers).sort(),
  }
}

const routes: [what: string, ask: (email: string) => Promise<Response>][] = [
  ['sign-up', (email) => signUp(email)],
  ['reset', (email) => byClass('requestPasswordReset', { email })],
  ['verification mail', (email) => byClass('verificationEmailRequest', { email })],
  ['login', (username) => byClass('login', { username, password: 'a guess' })],
  ['login by address', (email) => byClass('login', { email, password: 'a guess' })],
  ['function Login', (username) => byClass('functions/Login', { username, password: 'a guess' })],
  ['path-family login', (email) => byPath('login/password', { email, password: 'a guess' })],
  ['path-family reset', (email) => byPath('account/password/reset', { email })],
  [
    'path-family registration',
    (email) =>
      byPath('account/register/password', { email, password: 'a long password', termsAccepted: true }),
  ],
]

async function byClass(path: string, body: object): Promise<Response> {
  return request().post(`/1/${path}`).set(keys()).send(body)
}

async function byPath(path: string, body: object): Promise<Response> {
  return request().post(`/auth/${path}`).send(body)
}

/** The audit writes some entries at a time, of whomever. */
const isOfAudit = (command: Document): boolean => /^audit\./.test(command[command.commandName])

/** The kinds of commands to the database for an answer, the fewest that it took twice: what is kept in memory is looked up now and then. */
async function work(ask: () => Promise<unknown>): Promise<string[]> {
  const attempts: string[][] = []
  for (;;) {
    const commands = await commandsOf(ask, /./)
    const ofAnswer = commands.filter((command) => !isOfAudit(command))
    attempts.push(ofAnswer.map(({ commandName }) => commandName).sort())
    const least = attempts.reduce((fewest, one) => (one.length < fewest.length ? one : fewest))
    const times = attempts.filter((one) => isDeepStrictEqual(one, least)).length
    if ((times > 1 && attempts.length >= sized(2, 4)) || attempts.length === 6) return least
  }
}

describe('attack: whoever wants to know whether somebody has an account', () => {
  for (const [what, ask] of routes)
    it(`learns nothing by ${what}: neither by status nor by text`, async () => {
      const [active, pending] = [(await newPerson()).email, newAddress()]
      await register(pending)
      const unknown = visibleIn(await ask(newAddress()))
      assert.ok(unknown.status < 500, JSON.stringify(unknown))
      assert.deepEqual(visibleIn(await ask(active)), unknown)
      assert.deepEqual(visibleIn(await ask(pending)), unknown)
    })

  it('learns nothing by logging in with what was registered', async () => {
    const [taken, free] = [(await newPerson()).email, newAddress()]
    const mine = 'the password of the attacker'
    for (const email of [taken, free]) await register(email, { password: mine })
    const login = async (username: string) => visibleIn(await byClass('login', { username, password: mine }))
    assert.deepEqual(await login(taken), await login(free))
    const inPathFamily = async (email: string) => {
      const { status, body } = await logIn(email, mine)
      return { status, code: body.code, title: body.title }
    }
    assert.deepEqual(await inPathFamily(taken), await inPathFamily(free))
  })

  it('learns nothing by being locked out, also with the right password in between', async () => {
    const [taken, free, pending] = [(await newPerson()).email, newAddress(), newAddress()]
    const mine = 'the password of the attacker'
    for (const email of [taken, pending]) await register(email, { password: mine })
    const codes = async (username: string) => {
      const found: string[] = []
      for (const password of ['a guess', 'a guess', 'a guess', mine, 'a guess', 'a guess', 'a guess']) {
        const { status, body } = await byClass('login', { username, password })
        found.push(`${status} ${body.code} ${body.error}`)
      }
      return found
    }
    const [known, ofFree, ofPending] = await Promise.all([taken, free, pending].map(codes))
    assert.match(known?.at(-1) ?? '', /locked/)
    assert.deepEqual(ofFree, known)
    assert.deepEqual(ofPending, known)
  })

  it('learns nothing by the work that an answer takes', async () => {
    for (const [what, ask] of routes.filter(([name]) => /login|Login/.test(name))) {
      const taken = (await newPerson()).email
      assert.deepEqual(await work(() => ask(taken)), await work(() => ask(newAddress())), what)
    }
  })
})
