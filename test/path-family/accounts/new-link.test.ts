import assert from 'node:assert/strict'
import { call } from '../../harness/clients/path-client.ts'
import {
  followLink,
  mailsTo,
  submitForm,
  waitForMail,
  waitForMailAbout,
  waitForMailAfter,
} from '../../harness/mail/mail.ts'
import { createAddress, createPerson, logInAs, register, signUp } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'

const ACTIVATION = '/auth/account/register/activation'
const CHOICE = '/auth/account/password/choice'

/** Opens a void link, and enters an address into the form of its page. */
async function askForNewLink(path: string, email: string, lang = 'en'): Promise<string> {
  const url = `${service.url}${path}?token=void&lang=${lang}`
  const page = await (await fetch(url)).text()
  assert.match(page, lang === 'nl' ? /Stuur mij een nieuwe link/ : /Send me a new link/)
  return submitForm(page, url, { email })
}

describe('the page of a link that no longer works', () => {
  it('mails a new activation link, and voids the former one', async () => {
    const email = createAddress()
    await signUp(email).expect(201)
    const former = await waitForMail(email)
    assert.match(await askForNewLink(ACTIVATION, email, 'nl'), /Kijk in uw e-mail/)
    const { link } = await waitForMailAfter(email, former)
    assert.match(await followLink(former.link), /no longer works/)
    assert.match(
      await followLink(link),
      /is confirmed[\s\S]*<a href="https:\/\/app\.example\.org">Open the app</,
    )
    await logInAs(email)
  })

  it('mails a new link for choosing a password', async () => {
    const { email } = await createPerson()
    assert.match(await askForNewLink(CHOICE, email), /Check your mail/)
    const { link } = await waitForMailAbout(email, /new password/)
    const page = await followLink(link, { newPassword: 'another long password' })
    assert.match(page, /is saved[\s\S]*<a href="https:\/\/app\.example\.org">/)
    await logInAs(email, 'another long password')
  })

  it('does not reveal whether the address has an account', async () => {
    const { email } = await createPerson()
    const stranger = createAddress()
    for (const path of [ACTIVATION, CHOICE])
      assert.equal(await askForNewLink(path, stranger), await askForNewLink(path, email))
    await waitForMailAbout(email, /new password/)
    assert.deepEqual(mailsTo(stranger), [])
  })

  it('is what the mail about an existing account leads to', async () => {
    const { email } = await createPerson({ language: 'nl' })
    await register(email)
    const { link } = await waitForMailAbout(email, /al een account/)
    const page = await (await fetch(link)).text()
    assert.match(page, /<html lang="nl">/)
    assert.match(await submitForm(page, link, { email }), /Kijk in uw e-mail/)
    await waitForMailAbout(email, /nieuw wachtwoord/)
  })
})

it('the mail about a changed address names a contact', async () => {
  const person = await createPerson()
  const body = { email: createAddress(), currentPassword: person.password }
  assert.equal((await person.call('PUT', `/auth/account/${person.mvUid}`, body)).status, 200)
  await followLink((await waitForMail(body.email)).link)
  const { text } = await waitForMailAbout(person.email, /has changed/)
  assert.match(text ?? '', /If you did not change it, tell us at once: contact@example\.org/)
})

it('the page of the terms of service links to them, with their version', async () => {
  const { body } = await call('GET', '/auth/terms')
  assert.match(body, /<a href="[^"]+\/auth\/terms">Terms of service<\/a><\/p>\s*<p>Version: 1</)
})
