import assert from 'node:assert/strict'
import { type RegistrationParts, Registrations } from '../../../records/accounts/registration.ts'
import { call, refused } from '../../harness/clients/path-client.ts'
import { followLink, mailAbout, mailAfter, mailTo, tokenIn } from '../../harness/people/mail.ts'
import { logIn, newAddress, newPerson, password, register, signUp } from '../../harness/people/people.ts'
import { keys, request, service } from '../../harness/service/service.ts'

describe('registration', () => {
  it('mails a link, and activates the account by its token, once', async () => {
    const email = newAddress()
    const registered = await register(email, { name: 'Anna', language: 'nl' })
    assert.equal(registered.status, 202)
    assert.deepEqual(registered.body, { email, state: 'ACTIVATION_PENDING' })

    const mail = await mailTo(email)
    assert.match(mail.subject ?? '', /Bevestig uw e-mailadres/)
    assert.ok(mail.html?.includes('lang="nl"'))
    refused(await logIn(email), 401, 'invalid-credentials')
    refused(await logIn(email, 'another password'), 401, 'invalid-credentials')

    const activate = () => call('POST', '/auth/account/register/activate', { token: tokenIn(mail) })
    const activated = await activate()
    assert.equal(activated.status, 200)
    assert.equal(activated.body.email, email)
    assert.equal(activated.body.state, 'ACTIVE')
    const again = await activate()
    refused(again, 410, 'link-expired')
    assert.match(again.body.detail, /register\/resend/)

    const { status, body } = await logIn(email)
    assert.equal(status, 200)
    assert.equal(body.mvUid, activated.body.mvUid)
  })

  it('keeps which terms were agreed to, and when', async () => {
    const person = await newPerson()
    const { body } = await person.call('GET', `/auth/account/${person.mvUid}`)
    assert.equal(body.termsVersion, '1')
    assert.ok(Math.abs(Date.parse(body.termsAcceptedAt) - Date.now()) < 60_000)
  })

  it('needs agreement to the terms, and names every fault of the password with it', async () => {
    const email = newAddress()
    for (const termsAccepted of [undefined, false])
      assert.deepEqual(refused(await register(email, { termsAccepted }), 422, 'rule-violated'), [
        'terms-not-accepted',
      ])
    assert.deepEqual(
      refused(await register(email, { termsAccepted: false, password: 'short' }), 422, 'rule-violated'),
      ['password-too-short', 'terms-not-accepted'],
    )
    assert.deepEqual(
      refused(
        await register('a@b.example', { password: `${'x'.repeat(80)}a@b.example` }),
        422,
        'rule-violated',
      ),
      ['password-contains-address', 'password-too-long'],
    )
    refused(await register(email, { termsAccepted: 'yes' }), 400, 'invalid-input')
  })

  it('answers the same for a known address, and tells its owner by mail', async () => {
    const person = await newPerson()
    const known = await register(person.email.toUpperCase(), { password: 'an attempt to take over' })
    const unknown = await register(newAddress())
    assert.equal(known.status, unknown.status)
    assert.equal(known.body.state, unknown.body.state)
    const headersOf = ({ headers }: typeof known) =>
      [...headers.keys()].filter((name) => name !== 'x-request-id').sort()
    assert.deepEqual(headersOf(known), headersOf(unknown))
    await mailAbout(person.email, /already have an account/)
    refused(await logIn(person.email, 'an attempt to take over'), 401, 'invalid-credentials')
    assert.equal((await logIn(person.email)).status, 200)
  })

  it('answers before anything is looked up: neither the answer nor its time can tell', () => {
    const works: unknown[] = []
    const touched: PropertyKey[] = []
    const parts = { background: { run: (work: unknown) => works.push(work) } } as unknown as RegistrationParts
    const watched = new Proxy(parts, {
      get(target, name) {
        touched.push(name)
        return target[name as keyof RegistrationParts]
      },
    })
    const registrations = new Registrations(watched)
    registrations.register({ email: newAddress(), password, termsAccepted: true })
    registrations.resend(newAddress())
    assert.deepEqual(touched, ['background', 'background'])
    assert.equal(works.length, 2)
  })

  it('of several registrations before the activation only the last one counts', async () => {
    const email = newAddress()
    await register(email, { password: 'the password of a stranger' })
    const first = await mailTo(email)
    await register(email, { password: 'the password of the owner' })
    const last = await mailAfter(email, first)
    const activate = (token: string) => call('POST', '/auth/account/register/activate', { token })
    refused(await activate(tokenIn(first)), 410, 'link-expired')
    assert.equal((await activate(tokenIn(last))).status, 200)
    refused(await logIn(email, 'the password of a stranger'), 401, 'invalid-credentials')
    assert.equal((await logIn(email, 'the password of the owner')).status, 200)
  })

  it('mails a new link when asked, and refuses an expired one', async () => {
    const email = newAddress()
    await register(email)
    const first = await mailTo(email)
    const resend = (address: string) => call('POST', '/auth/account/register/resend', { email: address })
    assert.equal((await resend(email)).status, 202)
    assert.equal((await resend(newAddress())).status, 202)
    const second = await mailAfter(email, first)
    await service.db
      .collection('_User')
      .updateOne({ email }, { $set: { _email_verify_token_expires_at: new Date(0) } })
    refused(
      await call('POST', '/auth/account/register/activate', { token: tokenIn(second) }),
      410,
      'link-expired',
    )
    assert.equal((await resend(email)).status, 202)
    const third = await mailAfter(email, second)
    await followLink(third.link)
    assert.equal((await logIn(email)).status, 200)
  })

  it('activates on a page with a button, in Dutch too, without scripts', async () => {
    const email = newAddress()
    await register(email, { language: 'nl' })
    const { link } = await mailTo(email)
    const response = await fetch(link)
    const page = await response.text()
    assert.match(page, /<html lang="nl">[\s\S]*Bevestigen/)
    assert.doesNotMatch(page, /<script|\son\w+=/i)
    const policy = response.headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'/)
    assert.match(policy, /form-action 'self'/)
    assert.equal(response.headers.get('referrer-policy'), 'no-referrer')
    refused(await logIn(email), 401, 'invalid-credentials')
    assert.match(await followLink(link), /is bevestigd/)
    assert.match(await followLink(link), /werkt niet meer/)
    assert.equal((await logIn(email)).status, 200)
  })

  it('shows a page for whatever stands in the link, and nothing of it as markup', async () => {
    const link = `${service.url}/auth/account/register/activation?token=${encodeURIComponent('"><script>x')}&lang=nl`
    const page = await (await fetch(link)).text()
    assert.doesNotMatch(page, /<script/)
    assert.match(await followLink(link), /werkt niet meer/)
  })

  it('gives accounts that serve the class family, and activates those that were made there', async () => {
    const person = await newPerson()
    const { body } = await request()
      .post('/1/login')
      .set(keys())
      .send({ username: person.email, password })
      .expect(200)
    assert.equal(body.objectId, person.mvUid)

    const email = newAddress()
    await signUp(email).expect(201)
    const token = tokenIn(await mailTo(email))
    assert.equal((await call('POST', '/auth/account/register/activate', { token })).status, 200)
    assert.equal((await logIn(email)).status, 200)
  })

  it('takes no address that looks like another, and no line break anywhere', async () => {
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
      refused(await register(email), 400, 'invalid-input')
    for (const name of ['Anna\r\nBcc: b@example.org', 'Anna\u2028', 'an\u202ena', ''])
      refused(await register(newAddress(), { name }), 400, 'invalid-input')
  })
})
