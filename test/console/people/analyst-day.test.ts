import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { findAccessibilityViolations } from '../../harness/browser/axe.ts'
import { createPatient, createPlan, createWeight, type Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createPerson, createRoleHolder, type Person } from '../../harness/people/people.ts'
import { createRestSystem } from '../../harness/people/rest-systems.ts'
import { assertNoFaults, button, logInOn, menu, tabTo, useConsoleBrowser } from '../open-console.ts'

const COUNT = 120

/** A patient with more weights than a page of rows has. */
async function createWeighedPatient(): Promise<Patient> {
  const patient = await createPatient()
  const carePlanId = await createPlan(patient)
  const items = Array.from({ length: COUNT }, (_, hour) => ({
    kind: 'bodyweight',
    carePlanId,
    weight: 60 + hour / 10,
    weightUnit: 'kg',
    timestamp: new Date(Date.UTC(2026, 2, 1, hour)).toISOString(),
  }))
  assertStatus(await patient.call('POST', 'procedure/batch', { items }))
  return patient
}

/** A weight that comes first in the order of weights. */
async function createEarlyWeight(patient: Patient): Promise<void> {
  const carePlanId = await createPlan(patient)
  await createWeight(patient, carePlanId, 50)
}

const weightsOf = (ehrId: string): string =>
  `SELECT o/data[at0002]/events[at0003]/data[at0001]/items[at0004]/value/magnitude AS weight
FROM EHR e[ehr_id/value='${ehrId}'] CONTAINS OBSERVATION o[openEHR-EHR-OBSERVATION.body_weight.v2]
ORDER BY weight`

describe('the day of an analyst', () => {
  const opened = useConsoleBrowser()
  let analyst: Person
  let patient: Patient
  before(async () => {
    ;[analyst, patient] = await Promise.all([createRoleHolder('analyst'), createWeighedPatient()])
  })

  async function openQueries(who: Person): Promise<Page> {
    const page = await opened.open()
    await logInOn(page, who)
    await menu(page, 'Queries').click()
    await page.getByRole('heading', { name: 'Queries', level: 1 }).waitFor()
    return page
  }

  const type = (page: Page, q: string) => page.getByLabel('Query in AQL').fill(q)

  it('shows the rows of a query by pages, and saves all of them as a file', async () => {
    const page = await openQueries(analyst)
    await type(page, weightsOf(patient.ehrId))
    await button(page, 'Run').click()
    await page.getByText('Rows 1 to 100. There are more.').waitFor()
    await page.getByRole('row', { name: '1 60', exact: true }).waitFor()
    assert.deepEqual(await findAccessibilityViolations(page), [])
    await button(page, 'Next page').click()
    await page.getByText('Rows 101 to 120. These are the last ones.').waitFor()
    await page.getByRole('row', { name: '120 71.9', exact: true }).waitFor()
    const download = page.waitForEvent('download')
    await button(page, 'Save as a file for spreadsheets').click()
    const lines = readFileSync(await (await download).path(), 'utf8')
      .trim()
      .split('\r\n')
    assert.deepEqual([lines.length, lines[0], lines[COUNT]], [COUNT + 1, 'weight', '71.9'])
    assert.equal(await page.evaluate('location.search'), '')
    await createEarlyWeight(patient)
    await button(page, 'Run').click()
    await page.getByRole('row', { name: '1 50', exact: true }).waitFor()
    await button(page, 'Next page').click()
    await page.getByRole('row', { name: '121 71.9', exact: true }).waitFor()
    assertNoFaults(page)
  })

  it('runs a query that has a LIMIT of its own, and says when nothing is found', async () => {
    const page = await openQueries(analyst)
    await type(page, `${weightsOf(patient.ehrId)} LIMIT 2`)
    await button(page, 'Run').click()
    await page.getByText('Rows 1 to 2. These are the last ones.').waitFor()
    await type(page, weightsOf('nobody'))
    await button(page, 'Run').click()
    await page.getByText('The query found nothing.').waitFor()
    assertNoFaults(page)
  })

  it('marks a fault in the text, and keeps the text over a reload, by keyboard', async () => {
    const page = await openQueries(analyst)
    await tabTo(page, 'Query in AQL')
    await page.keyboard.press('Control+A')
    await page.keyboard.type('SELECT c\nFROM EHR e CONTAIN COMPOSITION c')
    await tabTo(page, 'Run')
    await page.keyboard.press('Enter')
    await page.getByText('Line 2, column 12:').waitFor()
    assert.equal(await page.locator('mark').textContent(), 'CONTAIN')
    assert.deepEqual(await findAccessibilityViolations(page), [])
    await tabTo(page, 'Go to the fault')
    await page.keyboard.press('Enter')
    const marked =
      'document.activeElement.value.slice(document.activeElement.selectionStart, document.activeElement.selectionEnd)'
    assert.equal(await page.evaluate(marked), 'CONTAIN')
    await page.keyboard.type('CONTAINS')
    await page.reload()
    assert.match(await page.getByLabel('Query in AQL').inputValue(), /EHR e CONTAINS COMPOSITION c$/)
    await button(page, 'Run').click()
    await page.getByRole('heading', { name: 'Result' }).waitFor()
    assertNoFaults(page)
  })

  it('names parameters that are not JSON, and runs with those that are', async () => {
    const page = await openQueries(analyst)
    await type(page, weightsOf('x').replace("'x'", '$ehr'))
    const parameters = page.getByLabel('Values of the parameters, as JSON')
    await parameters.fill('{ehr}')
    await button(page, 'Run').click()
    await page.getByText('This is not JSON.').first().waitFor()
    await parameters.fill('{"ehr": "1", "ehr": "2"}')
    await button(page, 'Run').click()
    await page.getByText('An object has the same name twice.').first().waitFor()
    await parameters.fill(JSON.stringify({ ehr: patient.ehrId }))
    await button(page, 'Run').click()
    await page.getByText('Rows 1 to 100.').waitFor()
    assertNoFaults(page)
  })

  it('opens queries that a modeller has stored, but stores none', async () => {
    const modeller = await createRoleHolder('modeller')
    const { rest } = await createRestSystem(['modeller'])
    const json = { 'content-type': 'application/json' }
    const path = '/definition/query/org.example::weights/1.0.0'
    assertStatus(await rest('PUT', path, { q: weightsOf('x') }, json))
    const storing = await openQueries(modeller)
    await type(storing, weightsOf('x').replace("'x'", '$ehr'))
    await storing.getByText('Stored queries').click()
    await storing.getByLabel('Name of the query').fill('weights.v1')
    await button(storing, 'Store this query').click()
    const page = await openQueries(analyst)
    await page.getByText('Stored queries').click()
    await button(page, 'Open weights.v1').click()
    assert.match(await page.getByLabel('Query in AQL').inputValue(), /\$ehr/)
    assert.equal(await page.getByLabel('Values of the parameters, as JSON').inputValue(), '{"ehr":""}')
    assert.equal(await page.getByLabel('Name of the query').count(), 0)
    await button(storing, 'Remove weights.v1').click()
    await button(storing, 'Yes, remove it').click()
    await button(storing, 'Remove weights.v1').waitFor({ state: 'detached' })
    // Nobody can remove a version that the openEHR REST API has stored.
    await button(storing, 'Open org.example::weights/1.0.0').waitFor()
    assert.equal(await button(storing, 'Remove org.example::weights/1.0.0').count(), 0)
    for (const one of [page, storing]) assertNoFaults(one)
  })

  it('is the only one who has this page, with modellers', async () => {
    const page = await opened.open()
    await logInOn(page, await createPerson())
    assert.equal(await menu(page, 'Queries').count(), 0)
  })
})
