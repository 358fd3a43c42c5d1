import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import {
  addParticipant,
  createAlert,
  createGoal,
  createPatient,
  createPlan,
  type Patient,
} from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'
import {
  createAddress,
  createPerson,
  logIn,
  nameProfile,
  type Person,
  password,
} from '../../harness/people/people.ts'
import { service } from '../../harness/service/service.ts'
import { waitFor } from '../../harness/wait.ts'
import {
  activate,
  assertNoFaults,
  button,
  logInByKeyboard,
  logInOn,
  menu,
  pressAndLoseAnswer,
  register,
  registerByKeyboard,
  tabTo,
  useConsoleBrowser,
} from '../open-console.ts'

const PRESSURE = { systolic: 185, systolicUnit: 'mm[Hg]', diastolic: 112, diastolicUnit: 'mm[Hg]' }
const ALERT = 'Blood pressure 185/112 mmHg: Much too high'

/** A patient with a name, a reaction, a plan with a goal, and an alert. */
async function createAlarmingPatient(): Promise<{ patient: Patient; planId: string; goalId: string }> {
  const patient = await createPatient()
  const planId = await createPlan(patient)
  const goalId = await createGoal(patient, planId, { description: 'Half an hour' })
  const person = { name: { displayName: 'Anna de Vries' }, birthDate: '1961-04-30', gender: 'FEMALE' }
  assertStatus(await patient.call('PUT', `/profile/${patient.mvUid}`, person))
  const reaction = { substance: 'Penicillin', criticality: 'high' }
  assertStatus(await patient.call('PUT', 'adversereaction/Penicillin', reaction), 201)
  await createAlert(patient, planId)
  return { patient, planId, goalId }
}

const statesIn = async ({ ehrId, call }: Patient): Promise<string[]> => {
  const { items } = assertStatus(await call('GET', `/med/${ehrId}/event?type=measurement-alert`))
  return items.map(({ alertState }: { alertState: string }) => alertState)
}

describe('the first day of a nurse', () => {
  const opened = useConsoleBrowser()

  async function openWorklist(nurse: Person): Promise<Page> {
    const page = await opened.open()
    await logInOn(page, nurse)
    await menu(page, 'Worklist').click()
    await page.getByRole('heading', { name: 'Worklist' }).waitFor()
    return page
  }

  it('leads by mouse from the registration to resolved alerts, live', async () => {
    const { patient, planId } = await createAlarmingPatient()
    const page = await opened.open()
    const email = createAddress()
    await register(page, email, 'Nurse Bo')
    await activate(page, email)
    const { body: nurse } = await logIn(email)
    await addParticipant(planId, nurse, 'write')
    await logInOn(page, { email, password })
    await menu(page, 'Worklist').click()
    await page.getByText('Born on 30 April 1961.').waitFor()
    await page.getByLabel(ALERT).waitFor()

    await page.getByLabel('What did you do?').waitFor({ state: 'detached' })
    await page.getByLabel(ALERT).check()
    await page.getByLabel('What did you do?').fill('Called her')
    const second = { carePlanId: planId, ...PRESSURE, systolic: 190, timestamp: new Date().toISOString() }
    assertStatus(await patient.call('POST', 'procedure/bloodpressure', second), 201)
    await page.getByLabel('Blood pressure 190/112 mmHg: Much too high').waitFor()
    // What is typed and ticked stays.
    assert.equal(await page.getByLabel('What did you do?').inputValue(), 'Called her')
    await page.getByLabel('Blood pressure 190/112').check()
    await page.getByRole('region', { name: '2 alerts are ticked' }).waitFor()
    await button(page, 'Resolve').click()
    await page.getByText('Nobody needs you now.').waitFor()
    assert.deepEqual(await statesIn(patient), ['RESOLVED', 'RESOLVED'])
    assertNoFaults(page)
  })

  it('shows a patient with banner, plan and charts, records beside them, and restores a version', async () => {
    const { patient, planId } = await createAlarmingPatient()
    const nurse = await createPerson()
    await addParticipant(planId, nurse, 'write')
    const page = await openWorklist(nurse)
    await page.getByRole('link', { name: 'Anna de Vries' }).click()
    const banner = page.getByRole('region', { name: 'Patient' })
    await banner.getByRole('heading', { name: 'Anna de Vries' }).waitFor()
    assert.match((await banner.textContent()) ?? '', /Born on 30 April 1961, \d\d years old, woman/)
    await banner.getByText('Penicillin (dangerous)').waitFor()
    await button(page, `Take ${ALERT}`).click()
    await page.getByText('1 taken by you').waitFor()
    await button(page, 'All').click()
    await page.locator('.plot canvas').first().waitFor()

    await page.getByLabel('Which measurement?').selectOption('bloodpressure')
    await page.getByLabel('Upper pressure', { exact: true }).fill('138')
    await page.getByLabel('Lower pressure', { exact: true }).fill('84')
    assert.ok(await page.locator('.plot canvas').first().isVisible())
    await button(page, 'Save').click()
    await page.getByText(/Upper pressure: last 138 mmHg on .* 2 values/).waitFor()

    await page.getByRole('link', { name: 'Blood pressure', exact: true }).click()
    await page
      .getByRole('link', { name: /^Show \d/ })
      .last()
      .click()
    await page.getByRole('heading', { name: 'History: Blood pressure' }).waitFor()
    const [id = ''] = (await page.evaluate<string>('location.pathname')).split('/').slice(-1)
    const corrected = { carePlanId: planId, ...PRESSURE, systolic: 158, timestamp: '2026-03-01T08:30:00Z' }
    assertStatus(await patient.call('PUT', `procedure/bloodpressure/${id}`, corrected))
    const row = page.getByRole('row', { name: 'Upper pressure 185 158' })
    await row.waitFor()
    await button(page, 'Restore Version 1').click()
    await page.getByRole('row', { name: 'Upper pressure 158 185' }).waitFor()
    const { systolic } = assertStatus(await patient.call('GET', `procedure/bloodpressure/${id}`))
    assert.equal(systolic, 185)
    assertNoFaults(page)
  })

  it('resolves an alert by a list that was read before the alert was seen', async () => {
    const { patient, planId } = await createAlarmingPatient()
    const nurse = await createPerson()
    await addParticipant(planId, nurse, 'write')
    const page = await openWorklist(nurse)
    await page.getByLabel(ALERT).waitFor()
    const handlingResponse = page.waitForResponse(/\/alert\/\w+\/handle$/)
    await page.getByRole('link', { name: 'Anna de Vries' }).click()
    await handlingResponse
    // The list that the console has kept is shown until the new one comes.
    await page.route(/\/worklist(\?|$)/, async (route) => {
      await sleep(3_000)
      await route.continue().catch(() => {})
    })
    await menu(page, 'Worklist').click()
    await page.getByLabel(ALERT).check()
    await page.getByLabel('What did you do?').fill('Called')
    await button(page, 'Resolve').click()
    await page.getByText('Nobody needs you now.').waitFor()
    assert.deepEqual(await statesIn(patient), ['RESOLVED'])
    assertNoFaults(page)
  })

  it('can be done by keyboard only, from the registration', async () => {
    const { patient, planId } = await createAlarmingPatient()
    const page = await opened.open()
    const email = createAddress()
    await registerByKeyboard(page, email, 'Nurse Bo')
    const { body: nurse } = await logIn(email)
    await addParticipant(planId, nurse, 'write')
    await logInByKeyboard(page, email)
    await tabTo(page, 'Worklist')
    await page.keyboard.press('Enter')
    await page.getByLabel(ALERT).waitFor()
    await tabTo(page, /^Anna de Vries/)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Anna de Vries' }).waitFor()
    await tabTo(page, 'Worklist', 'Shift+Tab')
    await page.keyboard.press('Enter')
    await page.getByLabel(ALERT).waitFor()
    await tabTo(page, /^Blood pressure 185\/112/)
    await page.keyboard.press('Space')
    await tabTo(page, 'What did you do?')
    await page.keyboard.type('Called')
    await tabTo(page, 'Resolve')
    await page.keyboard.press('Enter')
    await page.getByText('Nobody needs you now.').waitFor()
    assert.deepEqual(await statesIn(patient), ['RESOLVED'])
    assertNoFaults(page)
  })

  it('keeps filters in the URL and saves views of them', async () => {
    const { planId } = await createAlarmingPatient()
    const nurse = await createPerson()
    await addParticipant(planId, nurse, 'write')
    const page = await openWorklist(nurse)
    await page.getByLabel('Why', { exact: true }).selectOption('TASK')
    await page.getByText('Nobody needs you now.').waitFor()
    assert.match(await page.evaluate<string>('location.search'), /reason=TASK/)
    await page.getByText('Save this view').click()
    await page.getByLabel('Name of this view').fill('Tasks')
    await button(page, 'Save').click()
    await page.getByRole('link', { name: 'Tasks' }).waitFor()
    await page.goto(`${service.url}/console/worklist`)
    await page.getByLabel(ALERT).waitFor()
    await page.getByRole('link', { name: 'Tasks' }).click()
    await page.getByText('Nobody needs you now.').waitFor()
    assertNoFaults(page)
  })

  it('hands the list over to a colleague, who gets the alerts', async () => {
    const { patient, planId } = await createAlarmingPatient()
    const nurse = await createPerson()
    const colleague = await createPerson()
    for (const one of [nurse, colleague]) await addParticipant(planId, one, 'write')
    await nameProfile(colleague, 'Nurse Bo')
    const escalation = { afterMinutes: 30, participants: [nurse.mvUid] }
    assertStatus(await patient.call('PUT', `careplan/${planId}/alert-rules`, { escalation }))
    const page = await openWorklist(nurse)
    await page.getByText('Hand over my list').click()
    await page.getByText('Takes part in 1 of your 1 care plan.').waitFor()
    await page.getByLabel('Until').fill('2099-01-01T08:00')
    await button(page, 'Hand over').click()
    await page.getByRole('alert').waitFor()
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 16)
    await page.getByLabel('Until').fill(tomorrow)
    await pressAndLoseAnswer(page, 'Hand over', '**/worklist/handover')
    await button(page, 'Hand over').click()
    await page.getByText('This is in the list now.').waitFor()
    await page.getByText('You handed over your list to Nurse Bo').waitFor()
    const other = await openWorklist(colleague)
    await other.getByText('1 for you').waitFor()
    await button(page, 'End it Nurse Bo').click()
    await page.getByText('1 for you').waitFor()
    await page.getByText('1 former handover').click()
    await page.locator('summary', { hasText: 'History Nurse Bo' }).click()
    await page.getByText(/^Changed, .*, You$/).waitFor()
    await page.getByText(/^Added, .*, You$/).waitFor()
    for (const one of [page, other]) assertNoFaults(one)
  })

  it('shows a handover to come behind many that have ended, and all of these', async () => {
    const { planId } = await createAlarmingPatient()
    const [nurse, colleague] = await Promise.all([createPerson(), createPerson()])
    for (const one of [nurse, colleague]) await addParticipant(planId, one, 'write')
    await nameProfile(colleague, 'Nurse Bo')
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
    const handOver = async (from: number | undefined, until: number) => {
      const period = { ...(from && { from: inDays(from) }), until: inDays(until) }
      const body = { to: colleague.mvUid, ...period }
      return assertStatus(await nurse.call('POST', '/worklist/handover', body), 201).id
    }
    await handOver(30, 31)
    for (let i = 0; i < 21; i++)
      assertStatus(await nurse.call('POST', `/worklist/handover/${await handOver(undefined, 1)}/end`))
    const page = await openWorklist(nurse)
    await page.getByText('21 former handovers').waitFor()
    await button(page, 'End it Nurse Bo').waitFor()
    assertNoFaults(page)
  })

  it('shows the versions when a patient and a nurse change a plan at the same time', async () => {
    const { patient, planId, goalId } = await createAlarmingPatient()
    const nurse = await createPerson()
    await addParticipant(planId, nurse, 'write')
    const one = await opened.open()
    const two = await opened.open()
    await logInOn(one, nurse)
    await logInOn(two, patient)
    await one.goto(`${service.url}/console/patients/${patient.ehrId}/plan/${planId}/goal/${goalId}`)
    await two.goto(`${service.url}/console/plan/${planId}/goal/${goalId}`)
    for (const [page, text] of [
      [one, 'An hour'],
      [two, 'Twenty minutes'],
    ] as const)
      await page.getByLabel('Description', { exact: true }).fill(text)
    await button(two, 'Save').click()
    await two.getByRole('heading', { name: 'My plan' }).waitFor()
    for (const text of ['Before: Half an hour', 'Theirs: Twenty minutes', 'Yours: An hour'])
      await one.getByText(text).waitFor()
    await button(one, 'Use this in my form').click()
    await button(one, 'Save').click()
    await one.getByRole('heading', { name: 'Anna de Vries' }).waitFor()
    await two.getByText('Walk').first().waitFor()
    const { goals } = assertStatus(await patient.call('GET', `careplan/${planId}`))
    assert.equal(goals[0].description, 'An hour')
    for (const page of [one, two]) assertNoFaults(page)
  })

  it('expects a measurement, mutes alerts for a while, and says who takes them', async () => {
    const { patient, planId } = await createAlarmingPatient()
    const nurse = await createPerson()
    const participation = { mvUid: nurse.mvUid, access: 'WRITE', role: 'Nurse' }
    assertStatus(await patient.call('POST', `careplan/${planId}/participant`, participation), 201)
    const rules = async () => assertStatus(await patient.call('GET', `careplan/${planId}/alert-rules`))
    const page = await openWorklist(nurse)
    await page.getByRole('link', { name: 'Anna de Vries' }).click()
    await page.getByRole('link', { name: 'Alerts of “Lower blood pressure”' }).click()

    await page.getByLabel('Which measurement?').selectOption({ label: 'Weight' })
    await page.getByLabel('Every how many days?').fill('often')
    await button(page, 'Expect this measurement').click()
    await page.getByRole('alert').waitFor()
    assert.equal(await page.getByLabel('Every how many days?').getAttribute('aria-invalid'), 'true')
    await page.getByLabel('Every how many days?').fill('7')
    await button(page, 'Expect this measurement').click()
    await page.getByText('Weight: every 7 days, before 20:00').first().waitFor()

    await page.getByLabel('Muted until when?').fill('2099-03-01T08:00')
    await page.getByLabel('Why?').fill('In hospital')
    // What somebody else saves meanwhile stays.
    const { expected, ...others } = await rules()
    const second = { kind: 'heartrate', from: '2026-03-01', everyDays: 1, by: '09:00' }
    const next = { ...others, expected: [...expected, second] }
    assertStatus(await patient.call('PUT', `careplan/${planId}/alert-rules`, next))
    await button(page, 'Mute').click()
    await page.getByText('All alerts, until 1 March 2099 at 08:00: In hospital').first().waitFor()
    await page.getByLabel('You', { exact: true }).check()
    await page.getByLabel('After how many minutes?').fill('45')
    await button(page, 'Save').click()
    await page.getByLabel('You (1)').waitFor()
    await waitFor(async () => ((await rules()).escalation ? true : undefined))
    const savedRules = await rules()
    assert.deepEqual(savedRules.escalation, { afterMinutes: 45, participants: [nurse.mvUid] })
    assert.deepEqual(
      savedRules.expected.map(({ kind, everyDays }: { kind: string; everyDays: number }) => [
        kind,
        everyDays,
      ]),
      [
        ['bodyweight', 7],
        ['heartrate', 1],
      ],
    )

    await page.getByRole('button', { name: /^End the mute/ }).click()
    await page.getByText('No alert is muted.').waitFor()
    await page.getByRole('button', { name: /^Stop expecting it Weight/ }).click()
    await button(page, 'Yes, stop').click()
    await page.getByText('Weight: every 7 days').first().waitFor({ state: 'detached' })
    const left = await rules()
    assert.deepEqual([left.expected.length, left.mutes[0].reason], [1, 'In hospital'])
    assert.ok(new Date(left.mutes[0].until) <= new Date())
    assertNoFaults(page)
  })

  it('sets thresholds, and shows what somebody else has set meanwhile', async () => {
    const { patient, planId } = await createAlarmingPatient()
    const nurse = await createPerson()
    await addParticipant(planId, nurse, 'write')
    const page = await opened.open()
    await logInOn(page, nurse)
    await page.goto(`${service.url}/console/patients/${patient.ehrId}/plan/${planId}/thresholds`)
    const pressure = page.getByRole('region', { name: 'Blood pressure', exact: true })
    const weight = page.getByRole('region', { name: 'Weight', exact: true })
    await weight.getByLabel('Weight', { exact: true }).selectOption('limits')
    await weight.getByLabel('Weight: highest (kg)').fill('75,5')
    await weight.getByRole('button', { name: 'Save' }).click()
    await waitFor(
      async () => (await page.evaluate('sessionStorage.length')) === 0 || undefined,
      'the end of the draft',
    )
    const path = `careplan/${planId}/thresholds`
    const both = { bloodpressure: 'esc2018', bodyweight: { weightHigh: 75.5, unit: 'kg' } }
    assert.deepEqual(assertStatus(await patient.call('GET', path)), both)
    await pressure.getByLabel('Blood pressure', { exact: true }).selectOption('aha2017')
    assertStatus(await patient.call('PUT', path, { ...both, bloodpressure: 'esc2024' }))
    await pressure.getByRole('button', { name: 'Save' }).click()
    await pressure.getByText('Theirs: ESC 2024').waitFor()
    assertNoFaults(page)
  })
})
