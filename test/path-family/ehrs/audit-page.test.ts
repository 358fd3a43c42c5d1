import assert from 'node:assert/strict'
import type { BrowserContext, Page } from 'playwright-core'
import { findAccessibilityViolations } from '../../harness/browser/axe.ts'
import { collectFaults, useBrowser } from '../../harness/browser/browser.ts'
import { addParticipant, createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { createClassClient } from '../../harness/clients/class-client.ts'
import { assertProblem, assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, type Person, password } from '../../harness/people/people.ts'
import { request, service } from '../../harness/service/service.ts'

describe("the page with accesses to a patient's record", () => {
  const browser = useBrowser()
  let context: BrowserContext
  let page: Page
  let patient: Patient
  let nurse: Person
  const faults: string[] = []

  before(async () => {
    context = await browser().newContext()
    page = await context.newPage()
    collectFaults(page, faults)
    ;[patient, nurse] = await Promise.all([createPatient(), createPerson()])
    const profile = { name: { displayName: '<b>Nurse</b> & "Ann"' } }
    assertStatus(await nurse.call('PUT', `/profile/${nurse.mvUid}`, profile))
    const planId = await createPlan(patient)
    await addParticipant(planId, nurse, 'read')
    assertStatus(await nurse.call('GET', `/ehr/${patient.ehrId}/careplan`))
    const path = `/ehr/${patient.ehrId}/careplan/${planId}`
    assert.equal((await nurse.call('PUT', path, { name: 'x' })).status, 403)
    assert.equal((await (await createPerson()).call('GET', path)).status, 404)
  })
  beforeEach(() => context.clearCookies())

  async function logIn(lang: string, secret = password): Promise<void> {
    await page.goto(`${service.url}/ehr/audit?lang=${lang}`)
    await page.fill('input[name=email]', patient.email)
    await page.fill('input[name=password]', secret)
    await page.press('input[name=password]', 'Enter')
    await page.waitForLoadState()
  }
  const rows = async () =>
    Promise.all(
      (await page.locator('tbody tr').all()).map(async (row) =>
        (await row.locator('th, td:not(:first-child)').allInnerTexts()).join(' ').replace(/\s+/g, ' '),
      ),
    )

  it('refuses an EHR that does not exist, and unknown parameters', async () => {
    assertProblem(await patient.call('GET', '/ehr/audit?ehrId=nowhere123'), 404, 'not-found')
    assertProblem(await patient.call('GET', '/ehr/audit?ehr=x'), 400, 'invalid-input')
    assertStatus(await patient.call('GET', `/ehr/audit?ehrId=${patient.ehrId}`))
  })

  it('shows names, accesses and outcomes, the newest first', async () => {
    await logIn('en')
    const lines = await rows()
    assert.match(lines[0] ?? '', /^Name not given \(user \w+\) Viewed care plans – no access an app$/)
    assert.deepEqual(lines.slice(1), [
      '<b>Nurse</b> & "Ann" Changed care plans – not allowed an app',
      '<b>Nurse</b> & "Ann" Listed care plans an app',
    ])
    await page.click('text=Show my own accesses, too')
    const allRows = await rows()
    assert.ok(
      allRows.length > lines.length && allRows.includes('You Added care plans an app'),
      allRows.join('\n'),
    )
    assert.deepEqual(faults, [])
  })

  it('has a Dutch version, and forgets the patient at the logout', async () => {
    await logIn('nl')
    assert.equal(await page.locator('h1').textContent(), 'Wie mijn dossier heeft bekeken')
    assert.equal(await page.locator('html').getAttribute('lang'), 'nl')
    assert.ok((await rows()).includes('<b>Nurse</b> & "Ann" Zorgplannen opgevraagd een app'))
    const [cookie] = await context.cookies()
    assert.ok(cookie?.httpOnly && cookie.secure && cookie.sameSite === 'Strict')
    await page.click('text=Uitloggen')
    await page.waitForSelector('input[name=password]')
    assert.deepEqual(await context.cookies(), [])
    const ended = await request().get('/ehr/audit').set('Cookie', `authToken=${cookie.value}`)
    assert.match(ended.text, /name="password"/)
    assert.deepEqual(faults, [])
  })

  it('reports a failed login, shows nothing, and keeps the e-mail address out of the URL', async () => {
    await logIn('en', 'a wrong password')
    assert.equal(await page.inputValue('input[name=email]'), patient.email)
    assert.equal(await page.inputValue('input[name=password]'), '')
    assert.ok(!decodeURIComponent(page.url()).includes(patient.email))
    assert.match((await page.locator('[role=alert]').textContent()) ?? '', /The login failed/)
    assert.equal(await page.locator('table').count(), 0)
    assert.deepEqual(await context.cookies(), [])
  })

  it('lets no other site log a browser in or out', async () => {
    const form = { email: nurse.email, password }
    const send = (path: string, headers: Record<string, string>) =>
      request()
        .post(path)
        .type('form')
        .set(headers)
        .send(path === '/ehr/audit' ? form : {})
    const foreign: Record<string, string>[] = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ]
    for (const path of ['/ehr/audit', '/ehr/audit-leave'])
      for (const headers of foreign) {
        const { status, headers: sent } = await send(path, headers)
        assert.deepEqual([status, sent['set-cookie']], [403, undefined], JSON.stringify([path, headers]))
      }
    assert.equal((await send('/ehr/audit', {})).status, 303)
    assert.equal((await send('/ehr/audit', { 'sec-fetch-site': 'same-origin', origin: 'null' })).status, 303)
  })

  it('sends the origin of its forms to the service, for browsers without Sec-Fetch-Site', async () => {
    const [sent] = await Promise.all([page.waitForRequest((one) => one.method() === 'POST'), logIn('en')])
    assert.equal(await sent.headerValue('origin'), service.url)
  })

  it('shows the login to the cookie of an ended session, and removes it', async () => {
    const browserHeaders = { cookie: 'authToken=ended', accept: 'text/html', 'sec-fetch-site': 'same-origin' }
    const shown = await request().get('/ehr/audit').set(browserHeaders).expect(200)
    assert.match(shown.text, /name="password"/)
    const left = await request()
      .post('/ehr/audit-leave')
      .type('form')
      .set(browserHeaders)
      .send({})
      .expect(303)
    for (const { headers } of [shown, left])
      assert.match(String(headers['set-cookie']), /^authToken=; Path=\/; Max-Age=0;/)
    const without = await request().get('/ehr/audit').set('accept', 'text/html').expect(200)
    assert.equal(without.headers['set-cookie'], undefined)
    await request().get('/ehr/audit').set('Authorization', 'Bearer ended').expect(401)
  })

  it('shows an error of a form as a page', async () => {
    const headers = { accept: 'text/html', 'sec-fetch-site': 'cross-site' }
    for (const path of ['/ehr/audit', '/ehr/audit-leave']) {
      const refused = await request().post(path).type('form').set(headers).send({}).expect(403)
      assert.match(String(refused.headers['content-type']), /^text\/html/, path)
    }
    const program = await request().post('/ehr/audit-leave').set('sec-fetch-site', 'cross-site').expect(403)
    assert.match(String(program.headers['content-type']), /json/)
  })

  it('shows nobody the record of somebody else', async () => {
    const answer = await request()
      .get(`/ehr/audit?ehrId=${patient.ehrId}&own=true`)
      .set('Authorization', `Bearer ${nurse.authToken}`)
      .expect(404)
    assert.doesNotMatch(answer.text, /– not allowed|– no access/)
    const otherAccesses = { ehrId: patient.ehrId, userId: nurse.mvUid, action: 'query', type: 'Ehr' }
    assert.equal(await service.db.collection('audit.entries').countDocuments(otherAccesses), 0)
    assert.doesNotMatch(answer.text, /<script[^>]+src|\son\w+=/i)
  })

  it('marks a query over many records as such', async () => {
    const [subject, asker] = await Promise.all([createPatient(), createPerson()])
    await addParticipant(await createPlan(subject), asker, 'read')
    for (let i = 0; i < 20; i++)
      assertStatus(await asker.call('POST', '/ehr', { subjectId: `patient ${i}` }), 201)
    assertStatus(await asker.call('GET', `/ehr/${subject.ehrId}/careplan`))
    await createClassClient(asker).list('Task', { name: 'nowhere' }).expect(200)
    const headers = { Authorization: `Bearer ${subject.authToken}` }
    for (const [lang, expected] of Object.entries({
      en: ['Listed care plans', 'Listed tasks in all records that this person can read'],
      nl: ['Zorgplannen opgevraagd', 'Taken opgevraagd in alle dossiers die deze persoon kan inzien'],
    })) {
      const { text } = await request().get(`/ehr/audit?lang=${lang}`).set(headers).expect(200)
      const lines = [...text.matchAll(/<td data-head="(?:What|Wat)">([^<]*)<\/td>/g)].map(([, what]) => what)
      assert.deepEqual(lines.sort(), expected.sort())
    }
  })

  it('continues on a next page', async () => {
    const other = await createPatient()
    for (let i = 0; i < 101; i++) assertStatus(await other.call('GET', 'careplan'))
    const headers = { Authorization: `Bearer ${other.authToken}` }
    const nobody = await request().get('/ehr/audit').set(headers).expect(200)
    assert.match(nobody.text, /Nobody else has looked at your record in this period/)
    const first = await request().get('/ehr/audit?own=true').set(headers).expect(200)
    // Equal accesses are merged into one line.
    assert.match(first.text, /Listed care plans, \d{2} times since <time/)
    const next = /rel="next" href="(audit[^"]+)"/.exec(first.text)?.[1]?.replaceAll(/&#38;|&amp;/g, '&')
    const second = await request().get(`/ehr/${next}`).set(headers).expect(200)
    assert.match(second.text, /<tr><td/)
    const place = new URLSearchParams(next?.split('?')[1]).get('cursor') ?? ''
    const links = [...second.text.matchAll(/rel="(\w*)" href="audit\?([^"]+)"/g)].map(
      ([, rel, query = '']) => [rel, new URLSearchParams(query.replaceAll('&#38;', '&')).get('cursor')],
    )
    assert.deepEqual(links.slice(0, 2), [
      ['', place],
      ['first', null],
    ])
  })

  it('uses the language and time zone of the profile, otherwise of the browser', async () => {
    const reader = await createPatient()
    const headers = {
      Authorization: `Bearer ${reader.authToken}`,
      'Accept-Language': 'nl-BE,nl;q=0.9,en;q=0.5',
    }
    const pageWith = async (more: object = {}) =>
      (
        await request()
          .get('/ehr/audit?own=true')
          .set({ ...headers, ...more })
          .expect(200)
      ).text
    const dutch = await pageWith()
    assert.match(dutch, /<html lang="nl">/)
    assert.match(dutch, /<time class="utc"[^>]*>[\d-]+ [\d:]+ UTC<\/time>/)
    const profile = { name: { displayName: 'Reader' }, language: 'en', timeZone: 'Asia/Tokyo' }
    assertStatus(await reader.call('PUT', `/profile/${reader.mvUid}`, profile))
    const english = await pageWith()
    assert.match(english, /<html lang="en">/)
    const [, iso = '', local = ''] = /<time datetime="([^"]+)">([^<]+)</.exec(english) ?? []
    const expected = new Intl.DateTimeFormat('en-GB', {
      ...({ dateStyle: 'long', timeStyle: 'short', timeZone: 'Asia/Tokyo' } as const),
    })
    assert.equal(local, expected.format(new Date(iso)))
    for (const header of ['nl', 'de', '*'])
      assert.match(
        (await request().get('/').set('Accept-Language', header)).text,
        new RegExp(`<html lang="${header === 'nl' ? 'nl' : 'en'}">`),
      )
  })

  it('passes axe-core, light and dark', async () => {
    await logIn('en')
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      assert.deepEqual(await findAccessibilityViolations(page), [])
    }
  })

  it('shows cards on a small screen, in both languages, with the logout on top', async () => {
    await page.setViewportSize({ width: 360, height: 700 })
    for (const [lang, when] of [
      ['en', 'When'],
      ['nl', 'Wanneer'],
    ] as const) {
      await page.goto(`${service.url}/ehr/audit?lang=${lang}`)
      if (await page.locator('input[name=password]').count()) {
        await page.fill('input[name=email]', patient.email)
        await page.fill('input[name=password]', password)
        await page.press('input[name=password]', 'Enter')
        await page.waitForLoadState()
      }
      const width = await page.evaluate('document.documentElement.scrollWidth')
      assert.ok((width as number) <= 360, `${lang}: ${width}`)
      const style = "getComputedStyle(document.querySelector('tbody td'), '::before')"
      assert.match(String(await page.evaluate(`${style}.content + ${style}.fontWeight`)), /700/)
      assert.equal(await page.locator('tbody td').first().getAttribute('data-head'), when)
      const button = page.locator('.top button')
      const table = page.locator('table')
      assert.ok(((await button.boundingBox())?.y ?? 0) < ((await table.boundingBox())?.y ?? 0))
    }
  })
})
