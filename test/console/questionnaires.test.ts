import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { createPatient, createPlan } from '../harness/care/patients.ts'
import { assertStatus } from '../harness/clients/path-client.ts'
import { assertNoFaults, button, logInOn, menu, tabTo, useConsoleBrowser } from './open-console.ts'

/** Chooses an option and goes to the next question. */
async function answer(page: Page, option: string): Promise<void> {
  await page.getByRole('radio', { name: option, exact: true }).check()
  await button(page, 'Next').click()
}

describe('questionnaires in the console', () => {
  const opened = useConsoleBrowser()

  it('ask one question after the other, keep the answers over a reload, and store them once', async () => {
    const patient = await createPatient()
    const plan = await createPlan(patient)
    const page = await opened.open()
    await logInOn(page, patient)
    await menu(page, 'Measure').click()
    await page.getByRole('link', { name: 'Asthma questionnaire' }).click()
    await page.getByRole('heading', { name: 'Night waking' }).waitFor()
    assert.equal(await page.evaluate('document.activeElement.tagName'), 'H1')
    for (const option of ['1', '2', '3']) await answer(page, option)
    await page.reload()
    await page.getByText('Question 4 of 7.').waitFor()
    await button(page, 'Previous question').click()
    assert.ok(await page.getByRole('radio', { name: '3', exact: true }).isChecked())
    await page.goBack()
    await page.getByRole('heading', { name: 'Breathlessness' }).waitFor()
    await button(page, 'Next').click()
    for (const option of ['0, none', '6, most']) await answer(page, option)
    await button(page, 'Next').click()
    await page.getByText('Some answers are missing').waitFor()
    await page.getByText('Breathlessness: no answer').waitFor()
    await button(page, 'Change Breathlessness').click()
    await answer(page, '4')
    for (const _ of [5, 6, 7]) await button(page, 'Next').click()
    assert.equal(await page.getByText('Some answers are missing').count(), 0)
    await button(page, 'Send').dblclick()
    await page.getByText('Your answers are saved.').waitFor()

    const { items } = assertStatus(await patient.call('GET', 'procedure/acq'))
    assert.equal(items.length, 1)
    const { answers, version, score, carePlanId, source } = items[0]
    assert.deepEqual([answers, version], [[1, 2, 3, 4, 0, 6], 6])
    assert.deepEqual([carePlanId, source, typeof score], [plan, 'self-reported', 'number'])
    await menu(page, 'Measure').click()
    await page.getByRole('link', { name: 'Asthma questionnaire' }).click()
    assert.equal(await page.getByRole('radio', { checked: true }).count(), 0)
    assertNoFaults(page)
  })

  it('tell that there may be no score, also if no item is required or a last one has an answer', async () => {
    const page = await opened.open()
    await logInOn(page, await createPatient())
    for (const [name, skipped, last] of [
      ['Asthma questionnaire', 6, 7],
      ['Anxiety and depression questionnaire', 14, 14],
    ] as const) {
      await menu(page, 'Measure').click()
      await page.getByRole('link', { name }).click()
      for (let i = 1; i <= last; i++) {
        await page.getByText(`Question ${i} of ${last}.`).waitFor()
        if (i !== skipped) await page.getByRole('radio').first().check()
        await button(page, 'Next').click()
      }
      await page.getByText('Some answers are missing, so there may be no score').waitFor()
    }
    assertNoFaults(page)
  })

  it('can be answered by keyboard, with "not part of my treatment" and in Dutch', async () => {
    const patient = await createPatient()
    const page = await opened.open({ language: 'nl' })
    await logInOn(page, patient)
    await menu(page, 'Meten').click()
    await tabTo(page, 'Vragenlijst diabetes')
    await page.keyboard.press('Enter')
    for (let i = 1; i <= 16; i++) {
      await page.getByText(`Vraag ${i} van 16.`).waitFor()
      await page.keyboard.press('Tab')
      await page.keyboard.press(i === 4 ? 'Space' : 'ArrowUp')
      await page.keyboard.press('Enter')
    }
    await page.getByRole('heading', { name: 'Uw antwoorden' }).waitFor()
    await tabTo(page, 'Versturen')
    await page.keyboard.press('Enter')
    await page.getByText('Uw antwoorden zijn opgeslagen.').waitFor()
    const { items } = assertStatus(await patient.call('GET', 'procedure/dsmq'))
    assert.equal(items[0].answers.length, 16)
    assert.equal(items[0].answers[3], 0)
    assert.ok(items[0].answers.includes('NR'))
    assertNoFaults(page)
  })
})
