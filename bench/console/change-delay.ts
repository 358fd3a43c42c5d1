import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import type { BrowserContext, CDPSession, Page } from 'playwright-core'
import { setPlanRole } from '../../records/ehrs/rights/roles.ts'
import { postJson, type Side, signInByPathFamily } from '../frame/compare-sides.ts'
import type { Patient } from '../measurements/measurement-data.ts'
import { account, signUp } from '../peers/parse-side.ts'

const WRITES = 30
const PAUSE_MS = 500
const SLOW_DOWNS = [1, 4]

/** Logs the time at which a text is in the page and painted, by the clock that the driver also uses. */
const FOLLOWER = `
  new MutationObserver(() => {
    const { awaited } = globalThis
    if (!awaited || !document.body.textContent.includes(awaited)) return
    globalThis.awaited = undefined
    requestAnimationFrame(() => setTimeout(() => console.debug('seen', awaited, Date.now())))
  }).observe(document, { childList: true, subtree: true, characterData: true })
`

/** Creates another user, who may write in the patient's care plan. */
async function createNurse(side: Side, uri: string, { ehrId, carePlanId }: Patient): Promise<Side> {
  const email = 'nurse@example.org'
  const { userId } = await signUp(side, uri, email)
  const client = await MongoClient.connect(uri)
  const role = { ehrId, carePlanId, right: 'write' as const }
  await client.withSession((session) =>
    session.withTransaction(() => setPlanRole({ client, db: client.db() }, session, userId, role, true)),
  )
  await client.close()
  return signInByPathFamily(side, { ...account, email })
}

/** @returns milliseconds from the answer to a write until the open page shows it */
async function measureDelay(
  page: Page,
  nurse: Side,
  { ehrId, carePlanId }: Patient,
  weight: number,
): Promise<number> {
  const text = `${weight} kilograms`
  await page.evaluate(`globalThis.awaited = '${text}'`)
  const seeing = page.waitForEvent('console', (message) => message.text().startsWith(`seen ${text} `))
  const body = { carePlanId, weight, weightUnit: 'kg', timestamp: new Date().toISOString() }
  await postJson(nurse, `/ehr/${ehrId}/procedure/bodyweight`, body)
  const answeredAt = Date.now()
  const seenAt = Number((await seeing).text().split(' ').at(-1))
  await sleep(PAUSE_MS)
  return Math.max(0, seenAt - answeredAt)
}

const setSlowDown = (session: CDPSession, rate: number) =>
  session.send('Emulation.setCPUThrottlingRate', { rate })

/**
 * Measures the delay until the open home page of a patient shows a measurement by a nurse.
 * @param context a browser context in which the patient is logged in
 * @returns the delays in ms, for each factor by which the processor is slower
 */
export async function measureChangeDelays(
  context: BrowserContext,
  side: Side,
  uri: string,
  patient: Patient,
): Promise<Map<number, number[]>> {
  const nurse = await createNurse(side, uri, patient)
  const page = await context.newPage()
  await page.addInitScript(FOLLOWER)
  const session = await context.newCDPSession(page)
  await page.goto(`${side.url}/console/`)
  await page.locator('main:not(:has(.skeleton)) .cards').waitFor()
  let weight = 60
  const delays = new Map<number, number[]>()
  for (const slowDown of SLOW_DOWNS) {
    await setSlowDown(session, slowDown)
    await sleep(PAUSE_MS)
    const some: number[] = []
    for (let i = 0; i < WRITES; i++) some.push(await measureDelay(page, nurse, patient, ++weight))
    delays.set(slowDown, some)
  }
  await page.close()
  return delays
}
