import assert from 'node:assert/strict'
import { createPatient } from '../../harness/care/patients.ts'
import { assertNoFaults, button, goTo, logInOn, useConsoleBrowser } from '../open-console.ts'

/** As a browser does that blocks all cookies. */
const refuseStorage = `
  for (const name of ['localStorage', 'sessionStorage'])
    Object.defineProperty(window, name, { get() { throw new DOMException('refused', 'SecurityError') } })`
const fillStorage = `
  Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') }`

describe('the console', () => {
  const opened = useConsoleBrowser()

  it('keeps the fields of the registration when somebody chooses the other language', async () => {
    const page = await opened.open()
    await page.getByRole('link', { name: 'Make a new account' }).click()
    await page.getByLabel('Your name').fill('Anna de Vries')
    await page.getByLabel('Password').fill('correct horse')
    await button(page, 'Nederlands').click()
    assert.equal(await page.getByLabel('Uw naam').inputValue(), 'Anna de Vries')
    assert.equal(await page.getByLabel('Wachtwoord').inputValue(), 'correct horse')
    assert.equal(await page.title(), `${await page.locator('h1').textContent()} – Gezondheidsdossier`)
    assertNoFaults(page)
  })

  it('works in browsers that refuse to store anything, or have no room for it', async () => {
    const patient = await createPatient()
    for (const script of [refuseStorage, fillStorage]) {
      const page = await opened.open()
      await page.addInitScript(script)
      await page.reload()
      await logInOn(page, patient)
      await goTo(page, 'messages/new')
      await page.getByLabel('Your message').fill('A long story')
      await goTo(page, 'record')
      await goTo(page, 'messages/new')
      assert.equal(await page.getByLabel('Your message').inputValue(), 'A long story')
      assertNoFaults(page)
      await page.context().close()
    }
  })

  it('says in browsers that are too old that they are', async () => {
    const page = await opened.open()
    await page.addInitScript('delete Map.groupBy')
    await page.reload()
    await page.getByRole('heading', { name: 'This browser is too old' }).waitFor()
    assertNoFaults(page)
  })
})
