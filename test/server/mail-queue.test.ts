import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import PostalMime from 'postal-mime'
import { createRateLimiter } from '../../records/limits/rate-limiter.ts'
import { type MailQueue, openMailQueue } from '../../server/mail/mail-queue.ts'
import { createMailTransport } from '../../server/mail/mail-transport.ts'
import { createMetrics } from '../../server/telemetry/metrics.ts'
import { type AnswerMail, startSmtpServer } from '../harness/mail/smtp-server.ts'
import { config, service } from '../harness/service/service.ts'
import { waitUntil } from '../harness/wait.ts'

describe('mail queue', () => {
  const log = pino({ level: 'silent' })
  const queues: MailQueue[] = []
  const servers: Array<{ close(): Promise<void> }> = []
  afterEach(async () => {
    await Promise.all(queues.splice(0).map((queue) => queue.close()))
    await Promise.all(servers.splice(0).map((server) => server.close()))
  })

  async function startServer(answer?: AnswerMail) {
    const smtp = await startSmtpServer(answer)
    servers.push(smtp)
    return smtp
  }

  async function open(smtpUrl: string, database: string) {
    const { client } = service
    const metrics = createMetrics()
    const db = client.db(database)
    const limits = { address: 1, account: 1, guardedAddress: 1, guardedAccount: 1, shared: true }
    const queue = await openMailQueue(db, {
      transport: createMailTransport({ ...config, smtpUrl }, log),
      consume: await createRateLimiter(db, limits),
      log,
      metrics,
      languageOf: async () => undefined,
      commonValues: (language) => ({
        appName: 'App',
        contact: `contact-${language}@example.org`,
        appUrl: '',
      }),
      mailboxOf: async (mvUid) => (mvUid === 'ann' ? { to: 'ann@example.org', language: 'nl' } : undefined),
    })
    queues.push(queue)
    const count = async (outcome: string) =>
      (await metrics.mails.get()).values.find(({ labels }) => labels.outcome === outcome)?.value ?? 0
    const mails = client.db(database).collection('mails')
    return { queue, count, mails, waiting: () => mails.countDocuments({ dueAt: { $exists: true } }) }
  }

  const mail = (to: string, language?: string) => ({
    to,
    template: 'verify-email' as const,
    language,
    data: { appName: 'A <b> & "c"', link: 'https://example.org/?a=1&b=2' },
  })

  it('sends each mail once, in the language of its reader, escaped in the HTML', async () => {
    const smtp = await startServer()
    const database = `mail-${randomUUID()}`
    const first = await open(smtp.url, database)
    const second = await open(smtp.url, database)
    for (let i = 0; i < 20; i++)
      await first.queue.enqueue(mail(`user${i}@example.org`, i % 2 ? 'nl-BE' : 'xx'))
    await waitUntil(async () => (await first.waiting()) === 0)
    assert.equal(smtp.received.length, 20)
    const mails = await Promise.all(smtp.received.map((raw) => PostalMime.parse(raw)))
    assert.equal(new Set(mails.map(({ to }) => to?.[0]?.address)).size, 20)
    assert.equal(mails.filter(({ subject }) => subject?.startsWith('Bevestig')).length, 10)
    assert.ok(mails[0]?.text?.includes('https://example.org/?a=1&b=2'))
    assert.ok(mails[0]?.html?.includes('A &#60;b&#62; &#38; &#34;c&#34;'))
    // The counter rises after the mail has left the queue.
    await waitUntil(async () => (await first.count('sent')) + (await second.count('sent')) === 20)
  })

  it('keeps mails that the mail server refuses, shows them, and retries', async () => {
    let refusing = true
    const smtp = await startServer(() => (refusing ? 451 : 'accept'))
    const { queue, count, waiting, mails } = await open(smtp.url, `mail-${randomUUID()}`)
    await queue.enqueue(mail('ann@example.org'))
    await waitUntil(async () => (await count('failed')) === 1)
    assert.equal(await waiting(), 1)
    refusing = false
    const waits = await mails.findOne()
    assert.ok(waits && waits.dueAt > new Date(), 'not at once')
    await mails.updateMany({}, { $set: { dueAt: new Date() } })
    await waitUntil(async () => (await waiting()) === 0)
    assert.equal(smtp.received.length, 1)
  })

  it('retries a mail that the server refuses for now, also by a 5xx, for about two days', async () => {
    const smtp = await startServer(() => 503)
    const database = `mail-${randomUUID()}`
    const waiting = { createdAt: new Date(), dueAt: new Date() }
    await service.client
      .db(database)
      .collection('mails')
      .insertMany([
        { ...mail('ann@example.org'), ...waiting, attempts: 56 },
        { ...mail('bob@example.org'), ...waiting, attempts: 57 },
      ])
    const { count, mails } = await open(smtp.url, database)
    await waitUntil(async () => (await count('failed')) === 1 && (await count('abandoned')) === 1)
    assert.equal((await mails.findOne({ abandonedAt: { $exists: true } }))?.to, 'bob@example.org')
  })

  it('gives up a mail at the first 5xx answer to it, and keeps the others', async () => {
    const smtp = await startServer((text) => (text.includes('gone@example.org') ? 550 : 'accept'))
    const { queue, count, waiting, mails } = await open(smtp.url, `mail-${randomUUID()}`)
    await queue.enqueue(mail('gone@example.org'))
    await queue.enqueue(mail('ann@example.org'))
    await waitUntil(async () => (await count('abandoned')) === 1 && (await count('sent')) === 1)
    assert.equal(await waiting(), 0)
    const abandonedMail = await mails.findOne()
    assert.deepEqual([abandonedMail?.to, abandonedMail?.attempts], ['gone@example.org', 1])
    assert.ok(abandonedMail?.abandonedAt)
  })

  it('sends other mails, also later ones, while the server answers to one slowly', async () => {
    let answerSlowly = () => {}
    const slowly = new Promise<'accept'>((resolve) => {
      answerSlowly = () => resolve('accept')
    })
    const smtp = await startServer((text) => (text.includes('slow@example.org') ? slowly : 'accept'))
    const { queue, waiting } = await open(smtp.url, `mail-${randomUUID()}`)
    await queue.enqueue(mail('slow@example.org'))
    for (const round of [1, 2]) {
      for (let i = 0; i < 5; i++) await queue.enqueue(mail(`user${round}${i}@example.org`))
      await waitUntil(async () => (await waiting()) === 1)
      assert.equal(smtp.received.length, round * 5)
    }
    answerSlowly()
    await waitUntil(async () => (await waiting()) === 0)
  })

  it('sends five mails an hour to one address; notifications wait', async () => {
    const smtp = await startServer()
    const { queue, count, waiting } = await open(smtp.url, `mail-${randomUUID()}`)
    for (let i = 0; i < 20; i++) await queue.enqueue(mail('ann@example.org'))
    for (let i = 0; i < 6; i++) {
      const data = { appName: 'App', newEmail: `b${i}@example.org` }
      await queue.enqueue({ to: 'Ann@example.org', template: 'address-changed', data })
    }
    await queue.enqueue(mail('bob@example.org'))
    await waitUntil(async () => (await count('sent')) === 11)
    await waitUntil(async () => (await count('dropped')) === 15)
    await waitUntil(async () => (await waiting()) === 1)
    assert.equal(smtp.received.length, 11)
  })

  it('keeps one waiting mail of those with the same text, and lets nobody delay alerts by others', async () => {
    const smtp = await startServer()
    const { queue, count, waiting, mails } = await open(smtp.url, `mail-${randomUUID()}`)
    const to = { mvUid: 'ann' }
    const data = {}
    for (let i = 0; i < 20; i++) {
      await queue.enqueue({ to: 'ann@example.org', template: 'participation', data })
      await queue.enqueue({ to, template: 'handover', data })
    }
    await waitUntil(async () => (await count('sent')) === 5 && (await count('dropped')) === 35)
    for (let i = 0; i < 20; i++) await queue.enqueue({ to, template: 'alert', data })
    await queue.enqueue({ to, template: 'chat', data })
    await waitUntil(async () => (await count('sent')) === 11)
    await waitUntil(async () => (await waiting()) === 1)
    const waitingMail = await mails.findOne()
    assert.equal(waitingMail?.template, 'alert')
    await queue.enqueue({ to, template: 'alert', data })
    await waitUntil(async () => (await waiting()) === 1)
    assert.equal(smtp.received.length, 11)
  })

  it('looks up a user’s address and language when it sends, and skips users without an account', async () => {
    const smtp = await startServer()
    const { queue, waiting } = await open(smtp.url, `mail-${randomUUID()}`)
    for (const mvUid of ['nobody', 'ann'])
      await queue.enqueue({ to: { mvUid }, template: 'pending-ehr', data: { appName: 'App' } })
    await waitUntil(async () => (await waiting()) === 0)
    assert.equal(smtp.received.length, 1)
    const { to, subject } = await PostalMime.parse(smtp.received[0] ?? '')
    assert.deepEqual([to?.[0]?.address, subject?.slice(0, 6)], ['ann@example.org', 'Iemand'])
  })

  it('responds at once if the mail server is down', async () => {
    const smtp = await startSmtpServer()
    await smtp.close()
    const { queue, count, waiting } = await open(smtp.url, `mail-${randomUUID()}`)
    const startTime = performance.now()
    await queue.enqueue(mail('ann@example.org'))
    assert.ok(performance.now() - startTime < 10_000)
    await waitUntil(async () => (await count('failed')) >= 1)
    assert.equal(await waiting(), 1)
  })
})
