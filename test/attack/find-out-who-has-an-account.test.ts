import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { Document } from 'mongodb'
import type { Response } from 'supertest'
import { createAddress, createPerson, logIn, register, signUp } from '../harness/people/people.ts'
import { recordCommands } from '../harness/service/database-commands.ts'
import { apiKeys, config, request, service } from '../harness/service/service.ts'
import { bySize } from '../harness/test-size.ts'

/** The visible parts of a response, without those that differ between any two responses. */
const visiblePartOf = ({ status, body, headers }: Response) => {
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
  ['reset', (email) => postToClassFamily('requestPasswordReset', { email })],
  ['verification mail', (email) => postToClassFamily('verificationEmailRequest', { email })],
  ['login', (username) => postToClassFamily('login', { username, password: 'a guess' })],
  ['login by address', (email) => postToClassFamily('login', { email, password: 'a guess' })],
  ['function Login', (username) => postToClassFamily('functions/Login', { username, password: 'a guess' })],
  ['path-family login', (email) => postToPathFamily('login/password', { email, password: 'a guess' })],
  ['path-family reset', (email) => postToPathFamily('account/password/reset', { email })],
  [
    'path-family registration',
    (email) =>
      postToPathFamily('account/register/password', {
        email,
        password: 'a long password',
        termsAccepted: true,
      }),
  ],
]

async function postToClassFamily(path: string, body: object): Promise<Response> {
  return request().post(`/1/${path}`).set(apiKeys()).send(body)
}

async function postToPathFamily(path: string, body: object): Promise<Response> {
  return request().post(`/auth/${path}`).send(body)
}

/** The audit writes entries of several callers together. */
const isAuditCommand = (command: Document): boolean => /^audit\./.test(command[command.commandName])

/**
 * The kinds of database commands for a response: the smallest list seen twice, since caches are refreshed now
 * and then.
 */
async function listCommands(ask: () => Promise<unknown>): Promise<string[]> {
  const attempts: string[][] = []
  for (;;) {
    const commands = await recordCommands(ask, /./)
    const ofAnswer = commands.filter((command) => !isAuditCommand(command))
    attempts.push(ofAnswer.map(({ commandName }) => commandName).sort())
    const least = attempts.reduce((fewest, one) => (one.length < fewest.length ? one : fewest))
    const times = attempts.filter((one) => isDeepStrictEqual(one, least)).length
    if ((times > 1 && attempts.length >= bySize(2, 4)) || attempts.length === 6) return least
  }
}

describe('attack: finding out who has an account', () => {
  for (const [what, ask] of routes)
    it(`reveals nothing by ${what}, neither by status nor by text`, async () => {
      const active = (await createPerson()).email
      const pending = createAddress()
      await register(pending)
      const unknown = visiblePartOf(await ask(createAddress()))
      assert.ok(unknown.status < 500, JSON.stringify(unknown))
      assert.deepEqual(visiblePartOf(await ask(active)), unknown)
      assert.deepEqual(visiblePartOf(await ask(pending)), unknown)
    })

  it('reveals nothing when an attacker logs in with registered credentials', async () => {
    const takenEmail = (await createPerson()).email
    const free = createAddress()
    const mine = 'the password of the attacker'
    for (const email of [takenEmail, free]) await register(email, { password: mine })
    const login = async (username: string) =>
      visiblePartOf(await postToClassFamily('login', { username, password: mine }))
    assert.deepEqual(await login(takenEmail), await login(free))
    const inPathFamily = async (email: string) => {
      const { status, body } = await logIn(email, mine)
      return { status, code: body.code, title: body.title }
    }
    assert.deepEqual(await inPathFamily(takenEmail), await inPathFamily(free))
  })

  it('reveals nothing by a lockout, even with the right password in between', async () => {
    const takenEmail = (await createPerson()).email
    const free = createAddress()
    const pending = createAddress()
    const mine = 'the password of the attacker'
    for (const email of [takenEmail, pending]) await register(email, { password: mine })
    const codes = async (username: string) => {
      const differences: string[] = []
      for (const password of ['a guess', 'a guess', 'a guess', mine, 'a guess', 'a guess', 'a guess']) {
        const { status, body } = await postToClassFamily('login', { username, password })
        differences.push(`${status} ${body.code} ${body.error}`)
      }
      return differences
    }
    const [ofTaken, ofFree, ofPending] = await Promise.all([takenEmail, free, pending].map(codes))
    assert.match(ofTaken?.at(-1) ?? '', /locked/)
    assert.deepEqual(ofFree, ofTaken)
    assert.deepEqual(ofPending, ofTaken)
  })

  it('reveals nothing by a lockout of the day before', async () => {
    const guess = async (email: string) => (await logIn(email, 'a guess')).body.code
    const emails = [(await createPerson()).email, createAddress()]
    for (const email of emails) for (let i = 0; i <= config.lockoutAttempts; i++) await guess(email)
    // After a day, the database has deleted the counts.
    await service.db.collection('auth.failed_logins').deleteMany({})
    const past = { _account_lockout_expires_at: new Date(0) }
    await service.db.collection('_User').updateOne({ email: emails[0] as string }, { $set: past })
    for (const email of emails) assert.equal(await guess(email), 'invalid-credentials')
  })

  it('reveals nothing by the database work of a response', async () => {
    for (const [what, ask] of routes.filter(([name]) => /login|Login/.test(name))) {
      const takenEmail = (await createPerson()).email
      assert.deepEqual(
        await listCommands(() => ask(takenEmail)),
        await listCommands(() => ask(createAddress())),
        what,
      )
    }
  })
})
