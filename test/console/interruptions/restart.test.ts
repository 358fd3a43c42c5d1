import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { freePort } from '../../harness/service/port.ts'
import {
  createDataDir,
  type ServiceProcess,
  startServiceProcess,
  stopProcess,
} from '../../harness/service/service-process.ts'
import { button, goTo, logInOn, useConsoleBrowser } from '../open-console.ts'
import { credentials, registerAt } from './registered-person.ts'

describe('the console of a service that is killed', () => {
  const opened = useConsoleBrowser()
  let env: NodeJS.ProcessEnv
  let running: ServiceProcess
  before(async () => {
    env = { PORT: String(await freePort()), DATA_DIR: createDataDir() }
    running = await startServiceProcess(env)
    await registerAt(running)
  })
  after(async () => {
    if (running) await stopProcess(running)
  })

  async function openLoggedIn(): Promise<Page> {
    const page = await opened.open({ url: running.url })
    await logInOn(page, credentials)
    return page
  }

  /** Kills the service, and then saves a heart rate. */
  async function saveWithoutService(page: Page, rate: string): Promise<void> {
    await goTo(page, 'measure?kind=heartrate')
    await page.getByLabel('Heart rate', { exact: true }).fill(rate)
    running.child.kill('SIGKILL')
    await running.ended
    await button(page, 'Save').click()
  }

  it('says that there is no connection, and saves what was typed after the restart', async () => {
    const page = await openLoggedIn()
    await saveWithoutService(page, '72')
    await page.getByText('There is no connection. Check your internet, then try again.').waitFor()
    assert.equal(await page.getByLabel('Heart rate', { exact: true }).inputValue(), '72')
    running = await startServiceProcess(env)
    await button(page, 'Save').click()
    await page.getByText('Heart rate 72 per minute').waitFor()
  })

  it('sends what it has kept by itself after the restart', async () => {
    const page = await openLoggedIn()
    await goTo(page, 'account')
    await page.getByLabel('Keep measurements on this device while there is no network').check()
    await saveWithoutService(page, '83')
    await page.getByRole('heading', { name: 'Kept on this device' }).waitFor()
    running = await startServiceProcess(env)
    await goTo(page, 'overview?kind=heartrate')
    const rows = page.getByRole('table', { name: 'The latest values' }).getByRole('row')
    await rows.filter({ hasText: '83 per minute' }).waitFor()
    assert.equal(await rows.filter({ hasText: '83 per minute' }).count(), 1)
  })
})
