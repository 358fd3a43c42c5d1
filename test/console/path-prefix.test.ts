import assert from 'node:assert/strict'
import type { Page, Request } from 'playwright-core'
import { freePort } from '../harness/service/port.ts'
import { type ServiceProcess, startServiceProcess, stopProcess } from '../harness/service/service-process.ts'
import { credentials, registerAt } from './interruptions/registered-person.ts'
import { assertNoFaults, button, logInOn, menu, useConsoleBrowser } from './open-console.ts'

describe('the console below the path of PUBLIC_URL', () => {
  const opened = useConsoleBrowser()
  let service: ServiceProcess
  let url: string
  before(async () => {
    const PORT = String(await freePort())
    url = `http://127.0.0.1:${PORT}/health`
    service = await startServiceProcess({ PORT, PUBLIC_URL: url })
    await registerAt({ ...service, url })
  })
  after(async () => {
    if (service) await stopProcess(service)
  })

  /** Notes what a page asks for outside of the path. */
  function watchRequests(page: Page): string[] {
    const outside: string[] = []
    page.on('request', (request: Request) => {
      if (!request.url().startsWith(`${url}/`)) outside.push(request.url())
    })
    return outside
  }

  it('is led to, and keeps the session and all requests there', async () => {
    const page = await opened.open({ url })
    const outside = watchRequests(page)
    assert.ok(page.url().startsWith(`${url}/console`), page.url())
    await logInOn(page, credentials)
    await menu(page, 'Measure').click()
    await page.getByRole('main').getByRole('link', { name: 'Heart rate' }).click()
    await page.getByLabel('Heart rate', { exact: true }).fill('72')
    await button(page, 'Save').click()
    await page.getByText('Heart rate 72 per minute').waitFor()
    await page.reload()
    await menu(page, 'My record').click()
    await page.getByRole('heading', { name: 'My record' }).waitFor()
    assert.ok(page.url().startsWith(`${url}/console/record`), page.url())
    assert.deepEqual(outside, [])
    assertNoFaults(page)
  })
})
