import assert from 'node:assert/strict'
import { MongoClient } from 'mongodb'
import PostalMime from 'postal-mime'
import { mailTemplates, type TemplateName } from '../../../server/mail/mail-templates.ts'
import { renderMail } from '../../../server/mail/render-mail.ts'
import { startSmtpServer } from '../../harness/mail/smtp-server.ts'
import { createAddress, password } from '../../harness/people/people.ts'
import { databaseUri } from '../../harness/run.ts'
import { freePort } from '../../harness/service/port.ts'
import {
  type ServiceProcess,
  startServiceProcess,
  stopProcess,
} from '../../harness/service/service-process.ts'
import { waitFor, waitUntil } from '../../harness/wait.ts'

const placeholders = (template: object) =>
  [...new Set(JSON.stringify(template).match(/\{\{\w+\}\}/g) ?? [])].sort()

describe('mails of accounts', () => {
  for (const [name, { en, nl }] of Object.entries(mailTemplates)) {
    it(`have the same content in English and Dutch, as text and as HTML: ${name}`, () => {
      assert.deepEqual(placeholders(en), placeholders(nl))
      assert.equal('action' in en, 'action' in nl)
      assert.notEqual(en.subject, nl.subject)
      const data = {
        appName: 'App',
        link: 'https://x.example/?a=1&b=2',
        message: '<i>hi</i>',
        newEmail: 'a@b.example',
        issuer: 'https://id.example',
        contact: 'contact@b.example',
        appUrl: 'https://app.example',
      }
      for (const language of ['en', 'nl', 'nl-BE', 'de', undefined]) {
        const { subject, text, html } = renderMail(name as TemplateName, language, data)
        const dutch = language?.startsWith('nl')
        assert.equal(subject, (dutch ? nl : en).subject.replace('{{appName}}', 'App'))
        assert.ok(html.includes(`lang="${dutch ? 'nl' : 'en'}"`))
        assert.doesNotMatch(subject + text + html, /\{\{/)
        assert.doesNotMatch(html, /<i>/)
      }
    })
  }

  it('lead to the app in which their reader logs in, if its address is known', () => {
    const appUrl = 'https://app.example/records'
    for (const name of ['chat', 'participation', 'pending-ehr', 'helper-invitation'] as const) {
      const values = { appName: 'App', appUrl, link: 'https://wrong.example' }
      const { text, html } = renderMail(name, 'en', values)
      assert.ok(text.includes(`Log in to the app`) && text.includes(`\n\n${appUrl}\n\n`), text)
      assert.ok(html.includes(`<a href="${appUrl}">Open the app</a>`), html)
      const without = renderMail(name, 'nl', { ...values, appUrl: '' })
      assert.doesNotMatch(without.text + without.html, /https:|<a |De app openen/)
    }
  })

  describe('with a mail server', function suite() {
    this.timeout(60_000)
    let service: ServiceProcess
    let client: MongoClient
    let smtp: Awaited<ReturnType<typeof startSmtpServer>> | undefined
    const port = freePort()
    before(async () => {
      const MONGODB_URI = databaseUri('dead-mail')
      client = await MongoClient.connect(MONGODB_URI)
      const SMTP_URL = `smtp://127.0.0.1:${await port}`
      service = await startServiceProcess({ MONGODB_URI, SMTP_URL, LOG_LEVEL: 'warn' })
    })
    after(async () => {
      await stopProcess(service)
      await client.close()
      await smtp?.close()
    })

    const post = (path: string, body: object) =>
      fetch(service.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const register = (email: string) =>
      post('/auth/account/register/password', { email, password, termsAccepted: true, language: 'nl' })
    const received = (email: string) =>
      waitFor(() => {
        const mails = smtp?.received.filter((text) => text.includes(email)) ?? []
        return mails.length > 0 ? mails : undefined
      }, `a mail to ${email}`)

    it('survive its failure: requests succeed, no mail is lost, and the metrics show it', async () => {
      const email = createAddress()
      const startTime = performance.now()
      assert.equal((await register(email)).status, 202)
      assert.ok(performance.now() - startTime < 10_000)
      await waitUntil(async () => {
        const figures = await (await fetch(`${service.url}/metrics`)).text()
        return /mails_total\{outcome="failed"\} [1-9]/.test(figures) && /mails_waiting 1/.test(figures)
      })
      smtp = await startSmtpServer(undefined, await port)
      await client
        .db()
        .collection('mails')
        .updateMany({}, { $set: { dueAt: new Date() } })
      const [mail, ...more] = await received(email)
      assert.deepEqual(more, [])
      const { to, subject, text, html } = await PostalMime.parse(mail ?? '')
      assert.deepEqual(
        to?.map(({ address }) => address),
        [email],
      )
      assert.match(subject ?? '', /Bevestig/)
      const link = /https?:\/\/\S+/.exec(text ?? '')?.[0] ?? ''
      assert.ok(html?.includes(link.replaceAll('&', '&#38;')))
      const token = new URL(link).searchParams.get('token')
      assert.equal((await post('/auth/account/register/activate', { token })).status, 200)
      assert.equal((await post('/auth/login/password', { email, password })).status, 200)
    })

    it('need no action by an operator if one address is registered many times at once', async () => {
      const email = createAddress()
      const requests = Array.from({ length: 10 }, (_, n) =>
        n % 2 === 0 ? register(email) : post('/auth/account/register/resend', { email }),
      )
      for (const { status } of await Promise.all(requests)) assert.ok([202, 429].includes(status))
      await received(email)
      await stopProcess(service)
      assert.doesNotMatch(service.output(), /"level":"(error|fatal)"/)
    })

    it('never write links or addresses into the log', () => {
      // The link for the first administrator is printed, not mailed.
      assert.doesNotMatch(
        service.output(),
        /(activation|choice)\?|token=(?!\S+\n\nSign up)|user-.*@example\.org/,
      )
    })
  })
})
