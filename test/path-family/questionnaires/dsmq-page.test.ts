import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { BrowserContext, Page } from 'playwright-core'
import { collectFaults, useBrowser } from '../../harness/browser/browser.ts'
import { createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { password } from '../../harness/people/people.ts'
import { request, service } from '../../harness/service/service.ts'
import { waitUntil } from '../../harness/wait.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** A developer's page on the service's own origin; only scripts of that origin may run. */
const hostPage = (lang: string, ids: string) => `<!doctype html>
<html lang="${lang}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Clinic</title>
<script src="/ehr/procedure/dsmq/dsmq.js" defer></script></head>
<body><main><h1>Clinic</h1><div id="here" ${ids}></div></main></body></html>`

describe('the script that embeds the DSMQ in a page', () => {
  const browser = useBrowser()
  let context: BrowserContext
  let page: Page
  let patient: Patient
  let carePlanId: string
  let authToken: string
  const faults: string[] = []

  before(async () => {
    patient = await createPatient()
    carePlanId = await createPlan(patient)
    const { body } = await request().post('/auth/login/password').send({ email: patient.email, password })
    authToken = body.authToken
  })
  beforeEach(async () => {
    context = await browser().newContext({ viewport: { width: 360, height: 740 } })
    await context.addCookies([{ name: 'authToken', value: authToken, url: service.url }])
    page = await context.newPage()
    faults.length = 0
    collectFaults(page, faults)
  })
  afterEach(() => context?.close())

  async function open(
    lang: string,
    ids = `data-dsmq data-ehr-id="${patient.ehrId}" data-care-plan-id="${carePlanId}"`,
  ) {
    await page.route('**/clinic', (route) =>
      route.fulfill({
        contentType: 'text/html',
        headers: {
          'content-security-policy':
            "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'",
        },
        body: hostPage(lang, ids),
      }),
    )
    await page.goto(`${service.url}/clinic`)
  }
  const heading = () => page.locator('h3:visible').textContent()
  const focused = () => page.evaluate('document.activeElement.textContent || document.activeElement.name')
  const stored = async () =>
    assertStatus(await patient.call('GET', `/ehr/${patient.ehrId}/procedure/dsmq?carePlanId=${carePlanId}`))
      .items

  async function assertAccessible(): Promise<void> {
    const { violations } = (await page.evaluate(`${axe};axe.run()`)) as AxeResults
    assert.deepEqual(
      violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`),
      [],
    )
    assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'it is too wide')
  }

  /** Answers the questions with the keyboard only. */
  async function answerByKeyboard(from: number, to: number): Promise<void> {
    for (let item = from; item <= to; item++) {
      await page.keyboard.press('Tab')
      await page.keyboard.press('Space')
      for (let step = 0; step < item % 4; step++) await page.keyboard.press('ArrowDown')
    }
  }
  async function press(name: string): Promise<void> {
    for (let i = 0; i < 30 && (await focused()) !== name; i++) await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
  }

  it('works with the keyboard only, in a narrow window, under a strict policy', async () => {
    await open('en')
    await page.waitForSelector('h3:visible')
    await assertAccessible()
    await page.keyboard.press('Tab')
    assert.equal(await heading(), 'Questions 1 to 4')
    await page.evaluate("document.querySelector('h3').focus()")
    for (const [from, to] of [
      [1, 4],
      [5, 8],
      [9, 12],
      [13, 16],
    ] as const) {
      await answerByKeyboard(from, to)
      if (to < 16) await press('Next')
      if (to < 16) assert.equal(await focused(), `Questions ${to + 1} to ${to + 4}`)
    }
    assert.equal(await page.locator('progress').getAttribute('max'), '16')
    assert.match(String(await page.locator('form > label').textContent()), /16 of 16 answered/)
    await page.evaluate("addEventListener('dsmq:result', ({ detail }) => { globalThis.told = detail })")
    await press('Send')
    await page.waitForSelector('text=Your answers have been stored.')
    await assertAccessible()
    const [latest] = await stored()
    assert.deepEqual(
      latest.answers,
      Array.from({ length: 16 }, (_, i) => (i + 1) % 4),
    )
    assert.equal(await page.evaluate('globalThis.told.id'), latest.id)
    assert.deepEqual(faults, [])
  })

  it('has a Dutch version, reports unanswered questions and links to them', async () => {
    await open('nl-BE')
    await page.locator('legend').first().waitFor()
    assert.match(String(await page.locator('legend').first().textContent()), /Glucose meten/)
    await page.getByLabel('Hoort niet bij mijn behandeling').first().check()
    for (const _ of [1, 2, 3]) await page.getByRole('button', { name: 'Verder' }).click()
    await page.getByRole('button', { name: 'Versturen' }).click()
    const alert = page.getByRole('alert')
    assert.match(String(await alert.textContent()), /^Nog niet beantwoord:\s*2\. Keuze van voeding/)
    assert.equal(await alert.locator('li').count(), 15)
    await assertAccessible()
    await alert.getByRole('button', { name: /^7\./ }).click()
    assert.deepEqual(
      [await heading(), await focused()],
      [
        'Vragen 5 tot en met 8',
        await page.locator('fieldset').nth(6).locator('input').first().getAttribute('name'),
      ],
    )
    for (const _ of [1, 2]) await page.getByRole('button', { name: 'Verder' }).click()
    await page.getByRole('button', { name: 'Versturen' }).click()
    await page.getByRole('button', { name: 'Versturen zonder deze' }).click()
    await page.waitForSelector('text=Uw antwoorden zijn opgeslagen.')
    assert.deepEqual((await stored())[0].answers, ['NR', ...Array(15).fill(null)])
    assert.deepEqual(faults, [])
  })

  it('renders into the element and with the options of a script, and a retry after a failure stores once', async () => {
    await open('en', '')
    const before = (await stored()).length
    await page.evaluate(`
      globalThis.told = []
      Dsmq.render(document.getElementById('here'), {
        ehrId: '${patient.ehrId}', carePlanId: '${carePlanId}', headers: { authorization: 'Bearer ${authToken}' },
        onResult: ({ id }) => told.push(id), onError: ({ name }) => told.push(name),
      })`)
    for (const _ of [1, 2, 3]) await page.getByRole('button', { name: 'Next' }).click()
    await page.getByRole('button', { name: 'Send' }).click()
    let requests = 0
    await page.route('**/procedure/dsmq', async (route) => {
      requests += 1
      if (requests > 3) return route.continue()
      // The first request is stored, but its answer is lost. The later ones arrive while it is still running,
      // or time out.
      if (requests === 1) await route.fetch()
      if (requests === 1) return route.abort()
      const [status, code] = requests === 2 ? [409, 'idempotency-key-in-use'] : [408, 'deadline-exceeded']
      return route.fulfill({ status, json: { code } })
    })
    for (const tried of [1, 2, 3]) {
      await page.getByRole('button', { name: 'Send without these' }).click()
      await page.waitForSelector('text=Please try again')
      assert.equal(requests, tried)
      await page.getByRole('button', { name: 'Send' }).click()
    }
    await page.getByRole('button', { name: 'Send without these' }).click()
    await page.waitForSelector('text=Your answers have been stored.')
    const items = await stored()
    assert.equal(items.length, before + 1)
    assert.deepEqual(await page.evaluate('told'), ['TypeError', 'Refused', 'Refused', items[0].id])
  })

  it('sends once despite repeated clicks, and stays unchanged until the answer', async () => {
    await open('nl', '')
    const before = (await stored()).length
    await page.evaluate(`Dsmq.render(document.getElementById('here'),
      { ehrId: '${patient.ehrId}', carePlanId: '${carePlanId}', language: 'EN-gb' })`)
    for (const _ of [1, 2, 3]) await page.getByRole('button', { name: 'Next' }).click()
    await page.getByRole('button', { name: 'Send' }).click()
    let requests = 0
    let answer = () => {}
    await page.route('**/procedure/dsmq', async (route) => {
      requests += 1
      await new Promise<void>((resolve) => {
        answer = resolve
      })
      await route.continue()
    })
    await page.evaluate(`{
      const anyway = [...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Send without these')
      anyway.click()
      anyway.click()
      document.querySelector('form').requestSubmit()
    }`)
    await page.getByRole('status').getByText('Sending').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Back' }).isDisabled(), true)
    assert.equal(await page.locator('section:visible').getAttribute('inert'), '')
    await waitUntil(() => requests > 0)
    answer()
    await page.waitForSelector('text=Your answers have been stored.')
    assert.deepEqual([requests, (await stored()).length - before], [1, 1])
  })

  it('reports that a retry does not help if the service rejects the answers', async () => {
    const closed = await createPlan(patient)
    assertStatus(await patient.call('POST', `careplan/${closed}/close`, {}))
    await open('nl', `data-dsmq data-ehr-id="${patient.ehrId}" data-care-plan-id="${closed}"`)
    for (const _ of [1, 2, 3]) await page.getByRole('button', { name: 'Verder' }).click()
    await page.getByRole('button', { name: 'Versturen' }).click()
    await page.getByRole('button', { name: 'Versturen zonder deze' }).click()
    await page.waitForSelector('text=Opnieuw proberen helpt niet.')
  })

  it('tells a reader without the right that nothing was stored, and shows no markup from texts', async () => {
    await context.clearCookies()
    await open('en', '')
    await page.evaluate(`Dsmq.render(document.getElementById('here'), {
      ehrId: '../x', carePlanId: 'y',
      definition: {
        language: 'en', title: '<img src=x onerror=alert(1)>', textPack: { notice: '<b>n</b>' }, instruction: null,
        recallPeriod: { label: 'r' }, scale: [{ value: 0, label: '<i>0</i>' }], notRequired: null,
        pages: [{ title: 'p', items: [{ number: 1, label: '<s>l</s>', required: true, allowNotRequired: false }] }],
        submit: { method: 'POST', hrefTemplate: '/ehr/{ehrId}/procedure/dsmq', contentType: 'application/json' },
      },
    })`)
    assert.equal(await page.locator('#here :is(img, b, i, s)').count(), 0)
    await page.getByRole('button', { name: 'Send' }).click()
    assert.equal(await page.getByRole('button', { name: 'Send without these' }).count(), 0)
    await page.getByLabel('<i>0</i>').check()
    await page.getByRole('button', { name: 'Send' }).click()
    await page.waitForSelector('text=you are not logged in')
  })
})
