import assert from 'node:assert/strict'
import { createPatient, createPlan } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { assertNoFaults, button, goTo, logInOn, useConsoleBrowser } from '../open-console.ts'

describe('the form for a measurement', () => {
  const opened = useConsoleBrowser()

  it('sends the unit that it shows', async () => {
    const patient = await createPatient()
    await createPlan(patient)
    const page = await opened.open()
    await logInOn(page, patient)
    await goTo(page, 'measure?kind=bmi')
    await page.getByLabel('Weight', { exact: true }).fill('80')
    await page.getByLabel('Height', { exact: true }).fill('175')
    await button(page, 'Save').click()
    await page.getByText('Weight 80 kg, Height 175 cm').waitFor()
    const { items } = assertStatus(await patient.call('GET', 'procedure/bmi'))
    assert.deepEqual([items[0].height, items[0].heightUnit], [175, 'cm'])
    assertNoFaults(page)
  })

  it('refuses a time that the clocks skip', async () => {
    const patient = await createPatient()
    const page = await opened.open({ timezoneId: 'America/St_Johns' })
    await logInOn(page, patient)
    await goTo(page, 'measure?kind=heartrate')
    await page.getByLabel('Heart rate', { exact: true }).fill('72')
    await button(page, 'Another time').click()
    const time = page.getByLabel('When did you measure?')
    await time.fill('2026-03-08T02:30')
    await button(page, 'Save').click()
    await page.getByText('The clocks skip this time when summer time begins.').first().waitFor()
    assert.equal(await time.getAttribute('aria-invalid'), 'true')
    await time.fill('2026-03-08T03:30')
    await button(page, 'Save').click()
    const note = page.getByRole('status').filter({ hasText: '72 per minute' })
    assert.equal(await note.textContent(), 'Heart rate 72 per minute')
    const { items } = assertStatus(await patient.call('GET', 'procedure/heartrate'))
    assert.deepEqual(
      items.map(({ timestamp }: { timestamp: string }) => timestamp),
      ['2026-03-08T06:00:00.000Z'],
    )
    assertNoFaults(page)
  })

  it('gives the focus to the field for another time', async () => {
    const page = await opened.open()
    await logInOn(page, await createPatient())
    await goTo(page, 'measure?kind=bodyweight')
    await button(page, 'Another time').press('Enter')
    await page.locator('[name=timestamp]:focus').waitFor()
    assertNoFaults(page)
  })
})
