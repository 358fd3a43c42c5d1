import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { assertStatus } from '../../harness/clients/path-client.ts'
import { createTemplateXml } from '../../harness/openehr-samples.ts'
import { createRoleHolder, type Person } from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'
import { waitUntil } from '../../harness/wait.ts'
import { assertNoFaults, button, goTo, logInOn, menu, tabTo, useConsoleBrowser } from '../open-console.ts'

describe('the day of a modeller', () => {
  const opened = useConsoleBrowser()
  let modeller: Person
  before(async () => {
    modeller = await createRoleHolder('modeller')
  })

  async function openPage(name: string): Promise<Page> {
    const page = await opened.open()
    await logInOn(page, modeller)
    await menu(page, name).click()
    await page.getByRole('heading', { name, level: 1 }).waitFor()
    return page
  }

  const read = async (type: string) => assertStatus(await modeller.call('GET', `/data/type/data/${type}`))

  it('makes a data type, is told what is wrong, and makes a further version', async () => {
    const page = await openPage('Types')
    await page.getByRole('link', { name: 'Make a new type' }).click()
    await page.getByLabel('Name for programs').fill('Mood Of Tests')
    await page.getByLabel('Name', { exact: true }).fill('Mood of tests')
    await page.getByLabel('Highest value that is accepted').fill('ten')
    await button(page, 'Save').click()
    await page.getByText('Highest value that is accepted: type a number').first().waitFor()
    await page.getByLabel('Highest value that is accepted').fill('10,5')
    await button(page, 'Save').click()
    const type = page.getByLabel('Name for programs')
    await page.locator('[name=type][aria-invalid]').waitFor()
    await type.fill('mood_of_tests')
    const more = page.getByLabel('Everything else, as JSON')
    for (const [text, fault] of [
      ['5', 'This must be an object, such as { "perDay": 5 }.'],
      [
        '{"name": "Mood", "perDay": 5, "retired": true}',
        'The form has fields for this: name and retired. Type it there, and take it out here.',
      ],
    ] as const) {
      await more.fill(text)
      await button(page, 'Save').click()
      await page.locator('[name=more][aria-invalid]').waitFor()
      await page.locator('p.error', { hasText: fault }).waitFor()
    }
    await more.fill('{"perDay": 5}')
    await button(page, 'Save').click()
    await page.getByRole('link', { name: 'Mood of tests', exact: true }).click()
    const { name, ranges, perDay, schema, version } = await read('mood_of_tests')
    assert.deepEqual([name, ranges, perDay, version], ['Mood of tests', { hard: { max: 10.5 } }, 5, 1])
    assert.deepEqual(schema, { type: 'number' })

    assert.equal(await page.getByLabel('Highest value that is accepted').inputValue(), '10.5')
    await page.getByLabel('Description').fill('From 0 to 10')
    await page.getByLabel('Accept no new values of this type').check()
    await button(page, 'Save').click()
    await page.getByRole('row', { name: /Mood of tests mood_of_tests .*Accepts no new values/ }).waitFor()
    const changed = await read('mood_of_tests')
    assert.deepEqual(
      [changed.description, changed.retired, changed.perDay, changed.version],
      ['From 0 to 10', true, 5, 2],
    )
    assertNoFaults(page)
  })

  it('changes the name of a type and leaves its ranges as they are', async () => {
    const ranges = { hard: { min: 0.000123456789, max: 100_000 }, warn: { min: 0, max: 10_000 } }
    const body = { type: 'steps_of_tests', name: 'Steps', schema: { type: 'number' }, ranges }
    assertStatus(await modeller.call('POST', '/data/type/data', body), 201)
    for (const [language, name, label, save, usual] of [
      ['en', 'Name', 'Highest usual value', 'Save', '10,000'],
      ['nl', 'Naam', 'Hoogste gewone waarde', 'Opslaan', '10.000'],
    ] as const) {
      const page = await opened.open({ language })
      await logInOn(page, modeller)
      await goTo(page, 'types/data/steps_of_tests')
      await page.getByLabel(name, { exact: true }).fill(`Steps ${language}`)
      await page.getByLabel(label).fill(usual)
      await button(page, save).click()
      await page.locator('[name=warnMax][aria-invalid]').waitFor()
      await page.getByLabel(label).fill('10000')
      await button(page, save).click()
      await waitUntil(async () => (await read('steps_of_tests')).name === `Steps ${language}`)
      assert.deepEqual((await read('steps_of_tests')).ranges, ranges)
    }
  })

  it('sees the versions when another modeller has changed the type meanwhile', async () => {
    const body = { type: 'pain_of_tests', name: 'Pain', schema: { type: 'number' } }
    assertStatus(await modeller.call('POST', '/data/type/data', body), 201)
    const page = await opened.open()
    await logInOn(page, modeller)
    await page.goto(`${service.url}/console/types/data/pain_of_tests`)
    await page.getByLabel('Name', { exact: true }).fill('Pain, mine')
    const path = '/data/type/data/pain_of_tests'
    const theirs = { ...body, name: 'Pain, theirs' }
    assertStatus(await modeller.call('PUT', path, theirs, { 'if-match': '"1"' }))
    await button(page, 'Save').click()
    for (const text of ['Before: Pain', 'Theirs: Pain, theirs', 'Yours: Pain, mine'])
      await page.getByText(text, { exact: true }).waitFor()
    await button(page, 'Use this in my form').click()
    await button(page, 'Save').click()
    await waitUntil(async () => (await read('pain_of_tests')).name === 'Pain, mine')
    assertNoFaults(page)
  })

  it('stores a template, opens its nodes by keyboard, and sees examples of compositions', async () => {
    const id = 'Pressures of the day'
    const path = join(mkdtempSync(join(tmpdir(), 'template-')), 'template.opt')
    const page = await openPage('Templates')
    writeFileSync(path, '<template>')
    await page.getByLabel('Operational template').setInputFiles(path)
    await button(page, 'Store the template').click()
    await page.getByRole('alert').waitFor()
    writeFileSync(path, createTemplateXml(id))
    await button(page, 'Store the template').click()
    await page.getByText('The file has changed. Choose it again.').first().waitFor()
    await page.getByLabel('Operational template').setInputFiles(path)
    await button(page, 'Store the template').click()
    await page.getByRole('status').getByRole('link', { name: id }).click()
    await page.getByRole('heading', { name: id }).waitFor()
    const systolic = page.locator('code', { hasText: /at0004\]\/value$/ }).first()
    await page.locator('summary').last().waitFor()
    for (let i = 0; i < 20 && !(await systolic.isVisible()); i++) {
      const closed = page.locator('.tree details:not([open]) > summary').first()
      await closed.focus()
      await page.keyboard.press('Enter')
    }
    assert.ok(await systolic.isVisible())
    const example = page.getByRole('textbox', { name: 'Example of a composition' })
    await example.waitFor()
    assert.equal(JSON.parse(await example.inputValue())._type, 'COMPOSITION')
    await tabTo(page, 'Format')
    await page.getByLabel('Format').selectOption('flat')
    await waitUntil(async () => /^\{\s+"[^"]+\//.test(await example.inputValue()))
    await page.getByLabel('Format').selectOption('xml')
    await waitUntil(async () => (await example.inputValue()).startsWith('<'))
    await button(page, `Remove the template ${id}`).click()
    await button(page, 'Yes, remove it').click()
    await page.getByRole('heading', { name: 'Templates' }).waitFor()
    await page.getByRole('link', { name: id }).waitFor({ state: 'detached' })
    assertNoFaults(page)
  })
})
