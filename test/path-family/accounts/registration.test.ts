import assert from 'node:assert/strict'
import {
  type RegistrationDependencies,
  Registrations,
} from '../../../records/accounts/registration/registrations.ts'
import { assertProblem, assertStatus, call } from '../../harness/clients/path-client.ts'
import { followLink, waitForMail, waitForMailAbout, waitForMailAfter } from '../../harness/mail/mail.ts'
import { tokenInLink } from '../../harness/mail/outbox.ts'
import {
  createAddress,
  createAdmin,
  createPerson,
  logIn,
  password,
  register,
  signUp,
} from '../../harness/people/people.ts'
import { apiKeys, request, service } from '../../harness/service/service.ts'

describe('registration', () => {
  it('mails a link, and its token activates the account once', async () => {
    const email = createAddress()
    const registered = await register(email, { name: 'Anna', language: 'nl' })
    assert.equal(registered.status, 202)
    assert.deepEqual(registered.body, { email, state: 'ACTIVATION_PENDING' })

    const mail = await waitForMail(email)
    assert.match(mail.subject ?? '', /Bevestig uw e-mailadres/)
    assert.ok(mail.html?.includes('lang="nl"'))
    assertProblem(await logIn(email), 401, 'invalid-credentials')
    assertProblem(await logIn(email, 'another password'), 401, 'invalid-credentials')

    const activate = () => call('POST', '/auth/account/register/activate', { token: tokenInLink(mail) })
    const activated = await activate()
    assert.equal(activated.status, 200)
    assert.equal(activated.body.email, email)
    assert.equal(activated.body.state, 'ACTIVE')
    const second = await activate()
    assertProblem(second, 410, 'link-expired')
    assert.match(second.body.detail, /register\/resend/)

    const { status, body } = await logIn(email)
    assert.equal(status, 200)
    assert.equal(body.mvUid, activated.body.mvUid)
  })

  it('stores which terms were agreed to, and when', async () => {
    const person = await createPerson()
    const { body } = await person.call('GET', `/auth/account/${person.mvUid}`)
    assert.equal(body.termsVersion, '1')
    assert.ok(Math.abs(Date.parse(body.termsAcceptedAt) - Date.now()) < 60_000)
  })

  it('requires agreement to the terms, and reports it together with all faults of the password', async () => {
    const email = createAddress()
    for (const termsAccepted of [undefined, false])
      assert.deepEqual(assertProblem(await register(email, { termsAccepted }), 422, 'rule-violated'), [
        'terms-not-accepted',
      ])
    assert.deepEqual(
      assertProblem(await register(email, { termsAccepted: false, password: 'short' }), 422, 'rule-violated'),
      ['password-too-short', 'terms-not-accepted'],
    )
    assert.deepEqual(
      assertProblem(
        await register('a@b.example', { password: `${'x'.repeat(80)}a@b.example` }),
        422,
        'rule-violated',
      ),
      ['password-contains-address', 'password-too-long'],
    )
    assertProblem(await register(email, { termsAccepted: 'yes' }), 400, 'invalid-input')
  })

  it('accepts only names and languages that the profile accepts, in both families', async () => {
    const admin = await createAdmin()
    const anna = await createPerson()
    const account = `/auth/account/${anna.mvUid}`
    const bad = [
      ...['xx', 'fry', 'nl-XX'].map((language) => ({ language })),
      ...['', ' ', '\u00a0', '\u2003 '].map((name) => ({ name })),
    ]
    for (const fields of bad) {
      assertProblem(await register(createAddress(), fields), 400, 'invalid-input')
      assertProblem(await anna.call('PUT', account, fields), 400, 'invalid-input')
      const changed = await request().put(`/1/users/${anna.mvUid}`).set(anna.headers).send(fields)
      assert.deepEqual([changed.status, changed.body.code], [400, 142])
      const signedUp = await signUp(createAddress(), fields)
      assert.deepEqual([signedUp.status, signedUp.body.code], [400, 142])
      const created = { email: createAddress(), name: 'Bo', ...fields }
      assertProblem(await admin.call('POST', '/auth/manage/account', created), 400, 'invalid-input')
    }
    assertStatus(await anna.call('PUT', account, { name: ' Anna', language: 'NL-be' }))
  })

  it('gives the same answer for a known address, and mails its owner', async () => {
    const person = await createPerson()
    const known = await register(person.email.toUpperCase(), { password: 'an attempt to take over' })
    const unknown = await register(createAddress())
    assert.equal(known.status, unknown.status)
    assert.equal(known.body.state, unknown.body.state)
    const headersOf = ({ headers }: typeof known) =>
      [...headers.keys()].filter((name) => name !== 'x-request-id').sort()
    assert.deepEqual(headersOf(known), headersOf(unknown))
    await waitForMailAbout(person.email, /already have an account/)
    assertProblem(await logIn(person.email, 'an attempt to take over'), 401, 'invalid-credentials')
    assert.equal((await logIn(person.email)).status, 200)
  })

  it('answers before any lookup, so neither the answer nor its time reveals an account', () => {
    const stored: unknown[] = []
    const touched: PropertyKey[] = []
    const parts = {
      background: { define: (kind: string) => async () => stored.push(kind) },
    } as unknown as RegistrationDependencies
    const watched = new Proxy(parts, {
      get(target, name) {
        touched.push(name)
        return target[name as keyof RegistrationDependencies]
      },
    })
    const registrations = new Registrations(watched)
    registrations.register({ email: createAddress(), password, termsAccepted: true })
    registrations.resend(createAddress())
    assert.deepEqual(touched, ['background', 'background', 'termsVersion', 'termsVersion'])
    assert.deepEqual(stored, ['signUp', 'resendActivation'])
  })

  describe('of an address that was registered before the activation', () => {
    const ownPassword = 'the password of the owner'
    const activate = (token: string, more: object = {}) =>
      call('POST', '/auth/account/register/activate', { token, ...more })
    const registerTwice = async (first: () => PromiseLike<unknown>, second: () => PromiseLike<unknown>) => {
      await first()
      const former = await waitForMail(email)
      await second()
      return { former, last: await waitForMailAfter(email, former) }
    }
    let email: string
    beforeEach(() => {
      email = createAddress()
    })
    const owner = () => register(email, { password: ownPassword })
    const strangers: [family: string, registers: () => PromiseLike<unknown>][] = [
      ['path family', () => register(email, { password: 'the password of a stranger' })],
      ['class family', () => signUp(email, { password: 'the password of a stranger' })],
    ]

    for (const [family, stranger] of strangers) {
      it(`does not let a stranger who was last choose the password: ${family}`, async () => {
        const { former, last } = await registerTwice(owner, stranger)
        assertProblem(await activate(tokenInLink(former), { password: ownPassword }), 410, 'link-expired')
        const token = tokenInLink(last)
        const refusal = await activate(token)
        assert.deepEqual(assertProblem(refusal, 422, 'rule-violated'), ['password-required'])
        const wrong = await activate(token, { password: ownPassword })
        assert.deepEqual(assertProblem(wrong, 422, 'rule-violated'), ['wrong-password'])
        assertProblem(await logIn(email, 'the password of a stranger'), 401, 'invalid-credentials')
        await call('POST', '/auth/account/password/reset', { email })
        const reset = tokenInLink(await waitForMailAbout(email, /new password/))
        const newPassword = 'yet another password'
        const body = { token: reset, newPassword, termsAccepted: true }
        assert.equal((await call('POST', '/auth/account/password/update', body)).status, 204)
        assert.equal((await logIn(email, newPassword)).status, 200)
      })

      it(`accepts the password of the owner, who was last: ${family}`, async () => {
        const { last } = await registerTwice(stranger, owner)
        const answer = await activate(tokenInLink(last), { password: ownPassword })
        assert.equal(answer.status, 200)
        assert.equal((await logIn(email, ownPassword)).status, 200)
      })
    }

    it('asks for the password on the page', async () => {
      const { last } = await registerTwice(owner, owner)
      assert.match(await (await fetch(last.link)).text(), /type="password" name="password"/)
      assert.match(await followLink(last.link), /Enter the password that you chose/)
      assert.match(await followLink(last.link, { password: 'a guess' }), /not the password of the last/)
      assert.match(await followLink(last.link, { password: ownPassword }), /is confirmed/)
      assert.equal((await logIn(email, ownPassword)).status, 200)
    })
  })

  it('mails a new link on request, and refuses an expired one', async () => {
    const email = createAddress()
    await register(email)
    const first = await waitForMail(email)
    const resend = (address: string) => call('POST', '/auth/account/register/resend', { email: address })
    assert.equal((await resend(email)).status, 202)
    assert.equal((await resend(createAddress())).status, 202)
    const second = await waitForMailAfter(email, first)
    await service.db
      .collection('_User')
      .updateOne({ email }, { $set: { _email_verify_token_expires_at: new Date(0) } })
    assertProblem(
      await call('POST', '/auth/account/register/activate', { token: tokenInLink(second) }),
      410,
      'link-expired',
    )
    assert.equal((await resend(email)).status, 202)
    const third = await waitForMailAfter(email, second)
    await followLink(third.link)
    assert.equal((await logIn(email)).status, 200)
  })

  it('activates on a page with a button, also in Dutch, without scripts', async () => {
    const email = createAddress()
    await register(email, { language: 'nl' })
    const { link } = await waitForMail(email)
    const response = await fetch(link)
    const page = await response.text()
    assert.match(page, /<html lang="nl">[\s\S]*Bevestigen/)
    assert.doesNotMatch(page, /<script|\son\w+=/i)
    const policy = response.headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'/)
    assert.match(policy, /base-uri 'none'; frame-ancestors 'none'; form-action 'self'/)
    assert.equal(response.headers.get('referrer-policy'), 'no-referrer')
    assertProblem(await logIn(email), 401, 'invalid-credentials')
    assert.match(await followLink(link), /is bevestigd/)
    assert.match(await followLink(link), /werkt niet meer/)
    assert.equal((await logIn(email)).status, 200)
  })

  it('shows a page for any link, and nothing of the link as markup', async () => {
    const link = `${service.url}/auth/account/register/activation?token=${encodeURIComponent('"><script>x')}&lang=nl`
    const page = await (await fetch(link)).text()
    assert.doesNotMatch(page, /<script/)
    assert.match(await followLink(link), /werkt niet meer/)
  })

  it('creates accounts for the class family, too, and activates those created there', async () => {
    const person = await createPerson()
    const { body } = await request()
      .post('/1/login')
      .set(apiKeys())
      .send({ username: person.email, password })
      .expect(200)
    assert.equal(body.objectId, person.mvUid)

    const email = createAddress()
    await signUp(email).expect(201)
    const token = tokenInLink(await waitForMail(email))
    assert.equal((await call('POST', '/auth/account/register/activate', { token })).status, 200)
    assert.equal((await logIn(email)).status, 200)
  })

  it('refuses look-alike addresses, and line breaks anywhere', async () => {
    for (const email of [
      '\u0430nna@example.org', // the first letter is Cyrillic
      '\uff41nna@example.org', // full width
      '\u212aate@example.org', // the Kelvin sign
      'anna@ex\u0430mple.org',
      'anna\u200b@example.org',
      'a@example.org\r\nBcc: b@example.org',
      'a@example.org, b@example.org',
      '"a b"@example.org',
      'a@example',
      `${'a'.repeat(250)}@example.org`,
    ])
      assertProblem(await register(email), 400, 'invalid-input')
    for (const name of ['Anna\r\nBcc: b@example.org', 'Anna\u2028', 'an\u202ena', ''])
      assertProblem(await register(createAddress(), { name }), 400, 'invalid-input')
  })
})
