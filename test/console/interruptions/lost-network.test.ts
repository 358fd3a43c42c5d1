import assert from 'node:assert/strict'
import type { Locator, Page, Route } from 'playwright-core'
import { findAccessibilityViolations } from '../../harness/browser/axe.ts'
import { addParticipant, createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createHelper } from '../../harness/people/helper-invitations.ts'
import { createPerson, endOtherSessions, nameProfile, type Person } from '../../harness/people/people.ts'
import { waitUntil } from '../../harness/wait.ts'
import { button, goTo, logInOn, menu, tabTo, useConsoleBrowser } from '../open-console.ts'
import { readRates } from './stored-rates.ts'

const texts = {
  en: {
    setting: 'Keep measurements on this device while there is no network',
    title: 'Waiting for the network',
    kept: 'Kept on this device',
    rate: 'Heart rate',
    save: 'Save',
    delete: 'Delete',
    logOut: 'Log out',
  },
  nl: {
    setting: 'Metingen op dit apparaat bewaren als er geen netwerk is',
    title: 'Wacht op het netwerk',
    kept: 'Bewaard op dit apparaat',
    rate: 'Hartslag',
    save: 'Opslaan',
    delete: 'Verwijderen',
    logOut: 'Uitloggen',
  },
}

const waiting = (page: Page, { title } = texts.en) => page.getByRole('region', { name: title })

async function turnOn(page: Page, { setting } = texts.en): Promise<void> {
  await goTo(page, 'account')
  await page.getByLabel(setting).check()
}

/** Enters a heart rate in the open form. */
async function saveRate(page: Page, rate: number, { rate: label, save } = texts.en): Promise<void> {
  await page.getByLabel(label, { exact: true }).fill(String(rate))
  await button(page, save).click()
}

/** Measures without a network, with the setting turned on before. */
async function queueRate(page: Page, rate: number, words = texts.en): Promise<void> {
  await goTo(page, 'measure')
  await goTo(page, 'measure?kind=heartrate')
  await page.context().setOffline(true)
  await saveRate(page, rate, words)
  await page.getByRole('heading', { name: words.kept }).waitFor()
}

/** Has so many copies of the measurement that waits wait, too. */
const copyQueued = `(copies) => new Promise((resolve) => {
  indexedDB.open('/console:measurement-queue').onsuccess = ({ target: { result } }) => {
    const transaction = result.transaction('records', 'readwrite')
    const records = transaction.objectStore('records')
    records.getAll().onsuccess = ({ target: { result: [queued] } }) => {
      for (let i = 0; i < copies; i++) records.put({ ...queued, key: 'copy-' + i })
    }
    transaction.oncomplete = () => resolve(result.close())
  }
})`

/** Waits until the service has them, and nothing waits any more. */
async function assertSent(page: Page, patient: Patient, rates: readonly number[]): Promise<void> {
  await waitUntil(async () => (await readRates(patient)).length >= rates.length)
  await goTo(page, '')
  await waiting(page).waitFor({ state: 'detached' })
  const stored = (await readRates(patient)).map(({ heartRate }) => heartRate)
  assert.deepEqual(stored.sort(), [...rates].sort())
}

describe('the console without a network', () => {
  const opened = useConsoleBrowser()

  async function openLoggedIn(person: Person, language: 'en' | 'nl' = 'en'): Promise<Page> {
    const page = await opened.open({ language })
    await logInOn(page, person)
    return page
  }

  it('keeps nothing on the device unless the person has turned it on', async () => {
    const patient = await createPatient()
    const page = await openLoggedIn(patient)
    await goTo(page, 'measure?kind=heartrate')
    await page.context().setOffline(true)
    await saveRate(page, 71)
    await page.getByText('There is no connection. Check your internet, then try again.').waitFor()
    assert.equal(await page.getByLabel('Heart rate', { exact: true }).inputValue(), '71')
    assert.deepEqual(await page.evaluate('indexedDB.databases()'), [])
    await page.context().setOffline(false)
    await button(page, 'Save').click()
    await page.getByRole('heading', { name: 'Saved' }).waitFor()
    assert.equal((await readRates(patient)).length, 1)
  })

  it('says that there is no connection when a part of a page cannot be loaded', async () => {
    const page = await openLoggedIn(await createPatient())
    await page.context().setOffline(true)
    await menu(page, 'My record').click()
    await page.getByText('There is no connection. Check your internet, then try again.').waitFor()
    assert.equal(await page.getByText('There is a new version').count(), 0)
    await page.context().setOffline(false)
    await button(page, 'Load again').click()
    await page.getByRole('heading', { name: 'My record' }).waitFor()
  })

  it('says once on a page that there is no connection, and loads all its parts again', async () => {
    const page = await opened.open()
    const parts = /\/ehr\/\w+\//
    await page.route(parts, (route) => route.abort())
    await logInOn(page, await createPatient())
    await page.getByText('There is no connection. Check your internet, then try again.').waitFor()
    await waitUntil(async () => (await page.getByText('This is not loaded yet.').count()) === 4)
    assert.equal(await page.getByRole('alert').count(), 1)
    assert.deepEqual(await findAccessibilityViolations(page), [])
    await page.unroute(parts)
    await button(page, 'Try again').click()
    await page.getByText('Nothing has been measured yet.').waitFor()
    await page.getByText('This is not loaded yet.').first().waitFor({ state: 'detached' })
    assert.equal(await page.getByRole('alert').count(), 0)
  })

  it('keeps measurements over a closed tab, and sends each once with its time', async () => {
    const patient = await createPatient()
    const page = await openLoggedIn(patient)
    const context = page.context()
    await turnOn(page)
    const startTime = Date.now()
    await queueRate(page, 72)
    await queueRate(page, 73)
    const ended = Date.now()
    await page.close()
    assert.deepEqual(await readRates(patient), [])

    await context.setOffline(false)
    const [later, beside] = await Promise.all([opened.open({}, context), opened.open({}, context)])
    await assertSent(later, patient, [72, 73])
    await assertSent(beside, patient, [72, 73])
    for (const { timestamp } of await readRates(patient)) {
      const at = Date.parse(timestamp)
      assert.ok(startTime <= at && at <= ended, timestamp)
    }
    const { items } = assertStatus(await patient.call('GET', 'careplan'))
    assert.equal(items.length, 1)
  })

  it('stores a measurement once if only the answers are lost', async () => {
    const patient = await createPatient()
    const page = await openLoggedIn(patient)
    await turnOn(page)
    await goTo(page, 'measure?kind=heartrate')
    let lost = 0
    const loseAnswer = async (route: Route) => {
      lost++
      await route.fetch()
      await route.abort('connectionreset')
    }
    await page.route('**/procedure/heartrate', loseAnswer)
    await saveRate(page, 74)
    await page.getByRole('heading', { name: 'Kept on this device' }).waitFor()
    assert.ok(lost >= 3)
    await page.unroute('**/procedure/heartrate', loseAnswer)
    await goTo(page, '')
    await assertSent(page, patient, [74])
  })

  it('keeps at most 100 measurements, and leaves the next one in its form', async () => {
    const patient = await createPatient()
    const page = await openLoggedIn(patient)
    await turnOn(page)
    await queueRate(page, 70)
    await page.evaluate(`(${copyQueued})(99)`)
    await goTo(page, 'measure?kind=heartrate&more')
    await saveRate(page, 71)
    await page.getByText('100 measurements are already waiting. They must be sent first.').waitFor()
    assert.equal(await page.getByLabel('Heart rate', { exact: true }).inputValue(), '71')
    assert.deepEqual(await readRates(patient), [])
  })

  it('shows a refused measurement in its form again, with what is wrong', async () => {
    const patient = await createPatient()
    await createPlan(patient)
    const page = await openLoggedIn(patient)
    await turnOn(page)
    await goTo(page, 'measure?kind=bloodpressure')
    await page.context().setOffline(true)
    await page.getByLabel('Upper pressure', { exact: true }).fill('100')
    await page.getByLabel('Lower pressure', { exact: true }).fill('110')
    await page.getByLabel('Remark').fill('After a walk')
    await button(page, 'Save').click()
    await page.getByRole('heading', { name: 'Kept on this device' }).waitFor()
    await page.context().setOffline(false)
    await page.getByRole('alert').getByText('A measurement was not accepted.').waitFor()
    await tabTo(page, 'Show me')
    await page.keyboard.press('Enter')
    const region = page.getByRole('region', { name: 'Not accepted' })
    await region.getByText('This was not accepted.').waitFor()
    assert.deepEqual(await findAccessibilityViolations(page), [])
    await tabTo(page, 'Look at it and change it')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('The lower pressure must be below the upper pressure.').waitFor()
    assert.equal(await page.getByLabel('Remark').inputValue(), 'After a walk')
    assert.deepEqual(await findAccessibilityViolations(page), [])
    await page.getByLabel('Upper pressure', { exact: true }).fill('120')
    await page.getByLabel('Lower pressure', { exact: true }).fill('80')
    await button(page, 'Save').click()
    await page.getByText('Upper pressure 120 mmHg, Lower pressure 80 mmHg').waitFor()
    await goTo(page, '')
    await region.waitFor({ state: 'detached' })
    const { items } = assertStatus(await patient.call('GET', 'procedure/bloodpressure'))
    assert.deepEqual(
      items.map((one: Record<string, unknown>) => [one.systolic, one.diastolic, one.comment]),
      [[120, 80, 'After a walk']],
    )
  })

  it('asks before a log-out deletes what waits, by keyboard', async () => {
    const patient = await createPatient()
    const page = await openLoggedIn(patient)
    await turnOn(page)
    await queueRate(page, 75)
    await button(page, 'Log out').focus()
    await page.keyboard.press('Enter')
    const question = page.getByRole('alertdialog', { name: 'Log out and delete?' })
    await question.getByText('One measurement waits for the network.').waitFor()
    assert.deepEqual(await findAccessibilityViolations(page), [])
    await page.keyboard.press('Enter')
    await question.waitFor({ state: 'detached' })
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Log out')
    await page.keyboard.press('Enter')
    await tabTo(page, 'Yes, delete and log out')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    await page.context().setOffline(false)
    await logInOn(page, patient)
    await goTo(page, '')
    await page.getByText('Nothing has been measured yet.').waitFor()
    assert.equal(await waiting(page).count(), 0)
    assert.deepEqual(await readRates(patient), [])
  })

  it('shows and sends nothing to another account on the device', async () => {
    const [patient, other] = await Promise.all([createPatient(), createPatient()])
    const page = await openLoggedIn(patient)
    await turnOn(page)
    await queueRate(page, 76)
    await endOtherSessions(patient)
    await page.context().setOffline(false)
    await page.getByText('You were logged out. Log in to continue. Your entries are kept.').waitFor()
    await logInOn(page, other)
    await turnOn(page)
    await goTo(page, '')
    await page.getByText('Nothing has been measured yet.').waitFor()
    assert.equal(await waiting(page).count(), 0)
    await button(page, 'Log out').click()
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    assert.deepEqual([await readRates(patient), await readRates(other)], [[], []])
    await logInOn(page, patient)
    await assertSent(page, patient, [76])
  })

  it('stops sending when the user changes, also what is on its way', async () => {
    const [patient, other] = await Promise.all([createPatient(), createPatient()])
    await createPlan(patient)
    const page = await openLoggedIn(patient)
    await turnOn(page)
    await queueRate(page, 82)
    await queueRate(page, 83)
    const urls: string[] = []
    const heldRoute = new Promise<Route>((resolve) => {
      const hold = (route: Route) => {
        urls.push(route.request().url())
        resolve(route)
      }
      void page.route('**/procedure/heartrate', hold)
    })
    await page.context().setOffline(false)
    const firstRequest = (await heldRoute).request()
    await endOtherSessions(patient)
    await page.getByText('You were logged out. Log in to continue. Your entries are kept.').waitFor()
    await waitUntil(async () => firstRequest.failure() !== null)
    await logInOn(page, other)
    await goTo(page, '')
    await page.getByText('Nothing has been measured yet.').waitFor()
    assert.equal(urls.length, 1)
    assert.match(firstRequest.failure()?.errorText ?? '', /ABORTED/)
    assert.deepEqual([await readRates(patient), await readRates(other)], [[], []])
    await page.unroute('**/procedure/heartrate')
    await button(page, 'Log out').click()
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    await logInOn(page, patient)
    await assertSent(page, patient, [82, 83])
  })

  it('sends what a helper entered for a person, also when the helper has stopped', async () => {
    const [anna, piet] = await Promise.all([createPatient(), createPatient()])
    await createPlan(anna)
    await nameProfile(anna, 'Anna')
    await createHelper(anna, piet, ['READ', 'RECORD'])
    const page = await openLoggedIn(piet)
    await turnOn(page)
    await button(page, 'Act for Anna').click()
    await page.getByRole('heading', { name: 'Record of Anna' }).waitFor()
    await queueRate(page, 77)
    await button(page, 'Stop').click()
    await goTo(page, '')
    await waiting(page).getByText('For Anna').waitFor()
    await page.context().setOffline(false)
    await assertSent(page, anna, [77])
    assert.deepEqual(await readRates(piet), [])
    const { items } = assertStatus(await anna.call('GET', 'procedure/heartrate'))
    const path = `procedure/heartrate/${items[0].id}/history`
    const [version] = assertStatus(await anna.call('GET', path)).items
    assert.deepEqual([version.userId, version.onBehalfOf], [piet.mvUid, anna.mvUid])
  })

  it('keeps what a nurse enters at the page of one patient', async () => {
    const [patient, other, nurse] = await Promise.all([createPatient(), createPatient(), createPerson()])
    for (const one of [patient, other]) await addParticipant(await createPlan(one), nurse, 'write')
    const page = await openLoggedIn(nurse)
    await turnOn(page)
    for (const { ehrId } of [other, patient]) {
      await goTo(page, `patients/${ehrId}`)
      await page.getByLabel('Which measurement?').waitFor()
    }
    await page.context().setOffline(true)
    await page.getByLabel('Which measurement?').selectOption('heartrate')
    await saveRate(page, 78)
    await page.getByText('Kept on this device', { exact: true }).waitFor()
    await waiting(page).getByRole('paragraph').getByText('Heart rate 78 per minute').waitFor()
    await goTo(page, `patients/${other.ehrId}`)
    await page.getByLabel('Which measurement?').waitFor()
    assert.equal(await waiting(page).count(), 0)
    await page.context().setOffline(false)
    await waitUntil(async () => (await readRates(patient)).length === 1)
    assert.deepEqual(await readRates(other), [])
  })

  it("shows a nurse's refused measurement in its form again, with the reason at the field", async () => {
    const [patient, nurse] = await Promise.all([createPatient(), createPerson()])
    const planId = await createPlan(patient)
    await addParticipant(planId, nurse, 'write')
    const page = await openLoggedIn(nurse)
    await turnOn(page)
    await goTo(page, `patients/${patient.ehrId}`)
    await page.getByLabel('Which measurement?').selectOption('bloodpressure')
    await page.context().setOffline(true)
    const [upper, lower] = ['Upper', 'Lower'].map((one) =>
      page.getByLabel(`${one} pressure`, { exact: true }),
    ) as [Locator, Locator]
    await upper.fill('100')
    await lower.fill('110')
    await page.getByLabel('Remark').fill('After a walk')
    await button(page, 'Save').click()
    await page.getByText('Kept on this device', { exact: true }).waitFor()
    await page.context().setOffline(false)
    await page.getByRole('link', { name: 'Look at it and change it' }).click()
    const reason = 'The lower pressure must be below the upper pressure.'
    const readForm = async () => {
      await page.locator('.field.invalid').getByText(reason).waitFor()
      const remark = await page.getByLabel('Remark').inputValue()
      return [await upper.inputValue(), await lower.inputValue(), remark]
    }
    assert.deepEqual(await readForm(), ['100', '110', 'After a walk'])
    assert.deepEqual(await findAccessibilityViolations(page), [])
    // The service refuses it in the same way when it is sent from the form.
    await upper.fill('101')
    await button(page, 'Save').click()
    assert.deepEqual(await readForm(), ['101', '110', 'After a walk'])
    await upper.fill('120')
    await lower.fill('80')
    await button(page, 'Save').click()
    await page.getByText('Saved', { exact: true }).waitFor()
    assert.equal(await waiting(page).count(), 0)
    const { items } = assertStatus(await patient.call('GET', 'procedure/bloodpressure'))
    assert.deepEqual(
      items.map((one: Record<string, unknown>) => [one.systolic, one.diastolic, one.comment, one.carePlanId]),
      [[120, 80, 'After a walk', planId]],
    )
  })

  for (const language of ['en', 'nl'] as const)
    it(`shows what waits, and deletes it on request, in the language ${language}`, async () => {
      const words = texts[language]
      const patient = await createPatient()
      const page = await openLoggedIn(patient, language)
      await turnOn(page, words)
      await queueRate(page, 79, words)
      await queueRate(page, 81, words)
      for (const path of ['measure', '']) {
        await goTo(page, path)
        await waiting(page, words).waitFor()
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          assert.deepEqual(await findAccessibilityViolations(page), [], `${path}, ${colorScheme}`)
        }
        await page.setViewportSize({ width: 320, height: 800 })
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320)
      }
      await waiting(page, words).getByRole('button', { name: words.delete }).first().click()
      await page.getByRole('alertdialog').locator('.primary').click()
      await waitUntil(async () => (await waiting(page, words).getByRole('listitem').count()) === 1)
      await goTo(page, 'account')
      await page.getByLabel(words.setting).click()
      assert.deepEqual(await findAccessibilityViolations(page), [])
      await page.getByRole('alertdialog').locator('.primary').click()
      await page.getByLabel(words.setting).and(page.locator(':not(:checked)')).waitFor()
      await page.context().setOffline(false)
      await goTo(page, '')
      assert.equal(await waiting(page, words).count(), 0)
      assert.deepEqual(await readRates(patient), [])
    })
})
