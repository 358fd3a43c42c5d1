/**
 * Starts the service with people and a year of data in a directory of its own, prints who can log in, and opens the console.
 * The directory is removed at the end.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createClient } from 'health-record-client'
import { answerHelp } from './usage.mjs'

answerHelp(`Usage: npm run demo

Starts the service with people and a year of data in a directory of its own, prints who can log in, and opens the console.
Ctrl+C ends it and removes the directory.

  PORT   port of the service (default: 1337)
`)

const DAY_MS = 86_400_000
const DAYS = 365
const BATCH_SIZE = 500
const PASSWORD = 'walk in the park 2026'
const PORT = process.env.PORT ?? '1337'
const url = `http://127.0.0.1:${PORT}`

const say = (sentence) => process.stdout.write(`${sentence}\n`)

/** The service as a process; it writes the links of its mails to its log. */
function startDemoService(directory) {
  const env = {
    ...{ DATA_DIR: directory, PORT, ADMIN_EMAIL: 'admin@example.org', LOGIN_ATTEMPTS: '1000' },
    ...{ PATH: process.env.PATH, APP_URL: `${url}/console/` },
  }
  const child = spawn(process.execPath, ['bin/health-record-service.mjs', 'start'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const links = []
  const waiting = []
  createInterface({ input: child.stdout }).on('line', (line) => {
    const link = /"link":"([^"]+token=[^"]+)"/.exec(line)?.[1]
    if (link) waiting.length > 0 ? waiting.shift()(link) : links.push(link)
  })
  /** The token in the next mailed link. */
  const nextToken = async () => {
    const link = links.shift() ?? (await new Promise((resolve) => waiting.push(resolve)))
    return new URL(link).searchParams.get('token')
  }
  return { child, nextToken }
}

async function waitUntilReady() {
  for (;;) {
    const response = await fetch(`${url}/health/ready`).catch(() => undefined)
    if (response?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

/** Somebody who has logged in, with the own EHR. */
async function logIn(email, name) {
  const client = createClient({ url })
  const { mvUid } = await client.logIn({ email, password: PASSWORD })
  const { items } = (await client.GET('/ehr')).data
  if (name)
    await client.PUT('/profile/{mvUid}', {
      params: { path: { mvUid } },
      body: { name: { displayName: name } },
    })
  return { client, mvUid, email, name, ehrId: items[0]?.id }
}

async function createPerson(nextToken, name, email) {
  const guest = createClient({ url })
  await guest.POST('/auth/account/register/password', { body: { email, password: PASSWORD, name } })
  await guest.POST('/auth/account/register/activate', { body: { token: await nextToken() } })
  return logIn(email, name)
}

async function createAdministrator(nextToken) {
  const body = { token: await nextToken(), newPassword: PASSWORD }
  await createClient({ url }).POST('/auth/account/password/update', { body })
  return logIn('admin@example.org', 'Alex Admin')
}

/** A number that goes up and down over the year, the same in each demo. */
const wave = (day, mean, width) =>
  Math.round((mean + width * Math.sin(day / 17) + (width / 2) * Math.sin(day * 2.3)) * 10) / 10

/** The measurements of a day, `day` days ago. */
function measurementsOf(day, carePlanId) {
  const at = {
    carePlanId,
    timestamp: new Date(Date.now() - day * DAY_MS).toISOString(),
    source: 'self-reported',
  }
  const pressure = {
    ...{ systolic: Math.round(wave(day, 132, 10) + (day === 2 ? 55 : 0)), systolicUnit: 'mm[Hg]' },
    ...{ diastolic: Math.round(wave(day, 82, 6)), diastolicUnit: 'mm[Hg]' },
  }
  return [
    ...(day % 2 === 0 ? [{ ...at, kind: 'bloodpressure', ...pressure }] : []),
    ...(day % 7 === 0 ? [{ ...at, kind: 'bodyweight', weight: wave(day, 81, 2), weightUnit: 'kg' }] : []),
    { ...at, kind: 'bloodglucose', bloodGlucose: wave(day, 7, 1.4), bloodGlucoseUnit: 'mmol/L' },
    { ...at, kind: 'heartrate', heartRate: Math.round(wave(day, 70, 6)), heartRateUnit: '/min' },
  ]
}

const dateIn = (days) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10)

async function addPlan({ client, ehrId }, participants) {
  const ofEhr = { params: { path: { ehrId } } }
  const body = {
    name: 'Diabetes and blood pressure',
    description: 'Below 140/90, and blood sugar from 4 to 8',
  }
  const careplanId = (await client.POST('/ehr/{ehrId}/careplan', { ...ofEhr, body })).data.id
  const path = { ehrId, careplanId }
  for (const { mvUid, role, access } of participants)
    await client.POST('/ehr/{ehrId}/careplan/{careplanId}/participant', {
      params: { path },
      body: { mvUid, role, access },
    })
  await client.PUT('/ehr/{ehrId}/careplan/{careplanId}/thresholds', {
    params: { path },
    body: { bloodpressure: 'esc2018' },
  })
  const goal = { name: 'Walk every day', description: 'Half an hour, five days a week', dueDate: dateIn(90) }
  const goalId = (
    await client.POST('/ehr/{ehrId}/careplan/{careplanId}/goal', { params: { path }, body: goal })
  ).data.id
  for (const task of [
    { name: 'Buy walking shoes', dueDate: dateIn(-2), description: 'With a firm sole' },
    { name: 'Measure blood pressure before breakfast', dueDate: dateIn(0) },
    { name: 'Call the dietician', dueDate: dateIn(6) },
  ])
    await client.POST('/ehr/{ehrId}/careplan/{careplanId}/goal/{goalId}/task', {
      params: { path: { ...path, goalId } },
      body: task,
    })
  return careplanId
}

async function addMeasurements({ client, ehrId }, carePlanId) {
  const all = Array.from({ length: DAYS }, (_, day) => measurementsOf(DAYS - 1 - day, carePlanId)).flat()
  for (let at = 0; at < all.length; at += BATCH_SIZE)
    await client.POST('/ehr/{ehrId}/procedure/batch', {
      params: { path: { ehrId } },
      body: { items: all.slice(at, at + BATCH_SIZE) },
    })
}

async function addRecord({ client, ehrId }) {
  const path = { ehrId }
  for (const body of [
    { name: 'Type 2 diabetes', onset: '2019-05-01', status: 'active', severity: 'moderate' },
    { name: 'High blood pressure', onset: '2021-02-01', status: 'active', severity: 'mild' },
  ])
    await client.POST('/ehr/{ehrId}/diagnosis', { params: { path }, body })
  await client.PUT('/ehr/{ehrId}/adversereaction/{substance}', {
    params: { path: { ehrId, substance: 'Penicillin' } },
    body: { substance: 'Penicillin', criticality: 'high', reactions: [{ manifestation: 'Rash' }] },
  })
}

async function addConversation(patient, nurse) {
  const path = { type: 'ehr', id: patient.ehrId }
  const first = { title: 'The new tablets', text: 'Do they go with the old ones?' }
  const topicId = (await patient.client.POST('/chat/{type}/{id}', { params: { path }, body: first })).data.id
  const answer = { text: 'Yes, they do. Take them in the morning.' }
  await nurse.client
    .POST('/chat/{type}/{id}/{topicId}', { params: { path: { ...path, topicId } }, body: answer })
    // Whoever sees one plan only does not see the conversation about the whole record.
    .catch(() => {})
}

async function fill(nextToken) {
  const administrator = await createAdministrator(nextToken)
  const people = []
  for (const [name, email] of [
    ['Anna de Vries', 'anna@example.org'],
    ['Nurse Bo', 'bo@example.org'],
    ['Nurse Kim', 'kim@example.org'],
    ['Dr Jansen', 'jansen@example.org'],
    ['Robin, analyst', 'analyst@example.org'],
  ])
    people.push(await createPerson(nextToken, name, email))
  const [anna, bo, kim, doctor, analyst] = people
  await administrator.client.update(
    '/auth/account/{mvUid}',
    { params: { path: { mvUid: analyst.mvUid } } },
    () => ({
      roles: ['analyst'],
    }),
  )
  const planId = await addPlan(anna, [
    { ...bo, role: 'Diabetes nurse', access: 'WRITE' },
    { ...kim, role: 'Nurse', access: 'READ' },
    { ...doctor, role: 'Physician', access: 'WRITE' },
  ])
  await addRecord(anna)
  await addMeasurements(anna, planId)
  await addConversation(anna, bo)
  await bo.client.GET('/ehr/{ehrId}/careplan/{careplanId}', {
    params: { path: { ehrId: anna.ehrId, careplanId: planId } },
  })
  return [...people, administrator]
}

/** Opens the page if this machine has a screen. */
function openBrowser(page) {
  const command = { darwin: 'open', win32: 'explorer' }[process.platform] ?? 'xdg-open'
  spawn(command, [page], { stdio: 'ignore', detached: true }).on('error', () => {})
}

const directory = mkdtempSync(join(tmpdir(), 'health-record-demo-'))
const { child, nextToken } = startDemoService(directory)
const ended = once(child, 'exit')
process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill('SIGTERM'))
await Promise.race([waitUntilReady(), ended.then(() => process.exit(1))])
say('Adding people and a year of data …')
const people = await fill(nextToken)
say(`\nThe console: ${url}/console/\nEverybody’s password: ${PASSWORD}\n`)
for (const { email, name } of people) say(`  ${email.padEnd(22)} ${name}`)
say('\nCtrl+C ends the demo and removes its data.')
if (process.stdout.isTTY) openBrowser(`${url}/console/`)
await ended
