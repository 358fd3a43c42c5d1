import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { addParticipant, createPatient, createPlan, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, nameProfile, type Person } from '../../harness/people/people.ts'
import { waitUntil } from '../../harness/wait.ts'
import { assertNoFaults, button, goTo, logInOn, useConsoleBrowser } from '../open-console.ts'

describe('the facts about a patient in the console', () => {
  const opened = useConsoleBrowser()
  let patient: Patient
  let nurse: Person
  let planId: string
  before(async () => {
    ;[patient, nurse] = await Promise.all([createPatient(), createPerson()])
    planId = await createPlan(patient)
    await addParticipant(planId, nurse, 'write')
    await nameProfile(patient, 'Anna de Vries', { birthDate: '1958-04-12' })
  })

  async function openAt(path: string, options: Parameters<typeof opened.open>[0] = {}): Promise<Page> {
    const page = await opened.open(options)
    await logInOn(page, nurse)
    await goTo(page, `patients/${patient.ehrId}${path}`)
    return page
  }

  it('say of diagnoses and reactions whether they are true, and how sure that is', async () => {
    for (const certainty of ['refuted', 'entered-in-error', 'unconfirmed', 'confirmed'])
      assertStatus(await patient.call('POST', 'diagnosis', { name: `HIV ${certainty}`, certainty }), 201)
    for (const [substance, terms] of [
      ['Penicillin', { criticality: 'high' }],
      ['Latex', { verification: 'refuted' }],
      ['Nuts', { status: 'resolved', verification: 'confirmed' }],
      ['Pollen', { verification: 'unconfirmed', criticality: 'low' }],
    ] as const)
      assertStatus(await patient.call('PUT', `adversereaction/${substance}`, { substance, ...terms }), 201)
    const page = await openAt('/record')
    const banner = page.getByRole('region', { name: 'Patient' }).getByRole('listitem')
    const reactions = ['Penicillin (dangerous)', 'Nuts (over)', 'Pollen (not confirmed, not dangerous)']
    const shownReactions = await banner.allTextContents()
    assert.deepEqual(shownReactions.toSorted(), reactions.toSorted())
    assert.equal(shownReactions[0], 'Penicillin (dangerous)')
    const section = page.locator('section', { hasText: 'Allergies and other reactions' }).last()
    assert.equal(await section.locator('s, strong').first().textContent(), 'Penicillin')

    const rows = page.getByRole('listitem')
    for (const [name, facts, isStruck] of [
      ['HIV refuted', 'ruled out', true],
      ['HIV entered-in-error', 'entered by mistake', true],
      ['HIV unconfirmed', 'not confirmed, now', false],
      ['HIV confirmed', 'now', false],
      ['Latex', 'ruled out', true],
    ] as const) {
      const row = rows.filter({ hasText: name }).filter({ has: page.locator('.help') })
      assert.equal(await row.locator('.help').textContent(), facts)
      assert.equal(await row.locator('s').count(), isStruck ? 1 : 0, name)
    }
    const names = await page
      .locator('section', { hasText: 'Diagnoses' })
      .locator('s, strong')
      .allTextContents()
    assert.match(names.slice(0, 2).join(), /^HIV (un)?confirmed,HIV (un)?confirmed$/)
    await goTo(page, `patients/${patient.ehrId}/record/timeline`)
    await page.getByRole('cell', { name: 'HIV refuted (ruled out)' }).waitFor()
    await page.getByRole('cell', { name: 'Latex (ruled out)' }).waitFor()
    assertNoFaults(page)
  })

  it('show dates without a time as the same day west of Greenwich', async () => {
    const diagnosis = { name: 'Diabetes', onset: '2021-02-01' }
    assertStatus(await patient.call('POST', 'diagnosis', diagnosis), 201)
    const page = await openAt('/record', { timezoneId: 'America/New_York' })
    await page.getByText('Born on 12 April 1958').waitFor()
    await page.getByText('1 February 2021').waitFor()
  })

  it('mark a value as good only where its thresholds call it normal', async () => {
    const timestamp = new Date().toISOString()
    for (const [kind, values] of [
      ['bloodglucose', { bloodGlucose: 1.8, bloodGlucoseUnit: 'mmol/L' }],
      ['oxygensaturation', { oxygenSaturation: 82, oxygenSaturationUnit: '%' }],
      ['bodytemperature', { temperature: 37.6, temperatureUnit: 'Cel' }],
      ['bloodpressure', { systolic: 125, systolicUnit: 'mm[Hg]', diastolic: 82, diastolicUnit: 'mm[Hg]' }],
    ] as const)
      assertStatus(
        await patient.call('POST', `procedure/${kind}`, { carePlanId: planId, timestamp, ...values }),
        201,
      )
    const page = await openAt('')
    const signs = async () =>
      Object.fromEntries(
        await Promise.all(
          (await page.locator('.cards li').all()).map(async (card) => [
            await card.locator('h3').textContent(),
            await card.locator('.band').textContent(),
          ]),
        ),
      )
    assert.deepEqual(await signs(), {
      'Blood sugar': '◆ Low',
      'Oxygen in the blood': '◆ Low',
      'Body temperature': '▲ Raised',
      'Blood pressure': '✓ Normal',
    })
    await button(page, 'All').click()
    await page.getByText('◆ Low below 3 mmol/L').waitFor()
  })

  it('keep the unit of thresholds, and save other kinds beside them', async () => {
    const path = `careplan/${planId}/thresholds`
    const pounds = { unit: '[lb_av]', weightLow: 150.123456, weightHigh: 200 }
    const rate = { unit: '/min', heartRateLow: 50 }
    assertStatus(await patient.call('PUT', path, { bodyweight: pounds, heartrate: rate }))
    const page = await openAt(`/plan/${planId}/thresholds`)
    const weight = page.getByRole('region', { name: 'Weight', exact: true })
    assert.equal(await weight.getByLabel('Weight: lowest (lb)').inputValue(), '150.123456')
    await weight.getByLabel('Weight: highest (lb)').fill('201')
    const otherThresholds = { bodyweight: pounds, bloodpressure: 'esc2024' }
    assertStatus(await patient.call('PUT', path, otherThresholds))
    const pressure = page.getByRole('region', { name: 'Blood pressure', exact: true })
    await pressure.locator('option[value=esc2024]:checked').waitFor({ state: 'attached' })
    assert.equal(await page.getByText('Somebody else changed this').count(), 0)
    await weight.getByRole('button', { name: 'Save' }).click()
    const stored = async () => assertStatus(await patient.call('GET', path))
    await waitUntil(async () => (await stored()).bodyweight.weightHigh === 201)
    assert.deepEqual(await stored(), { ...otherThresholds, bodyweight: { ...pounds, weightHigh: 201 } })

    // Limits in another unit are taken over as a whole.
    await weight.getByLabel('Weight: highest (lb)').fill('202')
    const kilograms = { unit: 'kg', weightLow: 68, weightHigh: 91 }
    assertStatus(await patient.call('PUT', path, { ...otherThresholds, bodyweight: kilograms }))
    await weight.getByLabel('Theirs: kg').check()
    await weight.getByRole('button', { name: 'Use this in my form' }).click()
    assert.equal(await weight.getByLabel('Weight: highest (kg)').inputValue(), '91')
    assertNoFaults(page)
  })
})
