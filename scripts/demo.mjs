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
import { fillChild } from './demo/child.mjs'
import { addDocuments } from './demo/documents.mjs'
import { fillPatient } from './demo/patient.mjs'
import { createAdministrator, createPeople, PASSWORD } from './demo/people.mjs'
import { answerHelp } from './usage.mjs'

answerHelp(`Usage: npm run demo

Starts the service with people and a year of data in a directory of its own, prints who can log in, and opens the console:
a patient, a parent who acts for a child, two nurses, a physician, an analyst and an administrator, with plans, alerts,
messages and documents. Ctrl+C ends it and removes the directory.

  PORT   port of the service (default: 1337)
`)

const PORT = process.env.PORT ?? '1337'
const url = `http://127.0.0.1:${PORT}`
const ADMIN_EMAIL = 'admin@example.org'

const say = (sentence) => process.stdout.write(`${sentence}\n`)

/** The service as a process; it writes the links of its mails to its log. */
function startDemoService(directory) {
  const env = {
    DATA_DIR: directory,
    PORT,
    ADMIN_EMAIL,
    LOGIN_ATTEMPTS: '1000',
    PATH: process.env.PATH,
    APP_URL: `${url}/console/`,
  }
  const child = spawn(process.execPath, ['bin/health-record-service.mjs', 'start'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const links = []
  const waiting = []
  // Another service may answer at the URL, so only what this one prints tells that it serves.
  const ready = new Promise((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line === 'Sign up:') resolve()
      const link = /"link":"([^"]+token=[^"]+)"/.exec(line)?.[1]
      if (link) waiting.length > 0 ? waiting.shift()(link) : links.push(link)
    })
  })
  /** The token in the next mailed link. */
  const nextToken = async () => {
    const link = links.shift() ?? (await new Promise((resolve) => waiting.push(resolve)))
    return new URL(link).searchParams.get('token')
  }
  return { url, child, ready, nextToken }
}

/** @returns everybody who can log in */
async function fill(service) {
  const administrator = await createAdministrator(service, { email: ADMIN_EMAIL, name: 'Alex Admin' })
  const people = await createPeople(service, [
    { email: 'anna@example.org', name: 'Anna de Vries', birthDate: '1958-04-12' },
    { email: 'peter@example.org', name: 'Peter Smith', birthDate: '1984-09-03' },
    { email: 'emma@example.org', name: 'Emma Smith', birthDate: '2016-06-21' },
    { email: 'bo@example.org', name: 'Nurse Bo' },
    { email: 'kim@example.org', name: 'Nurse Kim' },
    { email: 'jansen@example.org', name: 'Dr Jansen' },
    { email: 'analyst@example.org', name: 'Robin, analyst' },
  ])
  const [patient, parent, child, bo, kim, doctor, analyst] = people
  const params = { path: { mvUid: analyst.mvUid } }
  await administrator.client.update('/auth/account/{mvUid}', { params }, () => ({
    roles: ['analyst', 'modeller'],
  }))
  const planId = await fillPatient(patient, { bo, kim, doctor })
  await addDocuments(analyst, doctor, patient, planId)
  await fillChild(service, child, parent, { kim, doctor })
  return [...people, administrator]
}

/** Opens the page if this machine has a screen. */
function openBrowser(page) {
  const command = { darwin: 'open', win32: 'explorer' }[process.platform] ?? 'xdg-open'
  spawn(command, [page], { stdio: 'ignore', detached: true }).on('error', () => {})
}

function showPeople(people) {
  say(`\nThe console: ${url}/console/\nEverybody’s password: ${PASSWORD}\n`)
  for (const { email, name } of people) say(`  ${email.padEnd(22)} ${name}`)
  say('\nPeter is the parent of Emma, and acts for her: choose “Act for Emma Smith”.')
  say('Ctrl+C ends the demo and removes its data.')
}

const directory = mkdtempSync(join(tmpdir(), 'health-record-demo-'))
process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
const service = startDemoService(directory)
const { child } = service
let isEnding = false
const end = () => {
  isEnding = true
  child.kill('SIGTERM')
}
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, end)
const ended = once(child, 'exit')
const endedEarly = ended.then(() => {
  if (!isEnding) throw new Error('The service has ended.')
  process.exit()
})
try {
  await Promise.race([service.ready, endedEarly])
  say('Adding people and a year of data …')
  showPeople(await Promise.race([fill(service), endedEarly]))
  if (process.stdout.isTTY) openBrowser(`${url}/console/`)
  await endedEarly
} catch (error) {
  process.stderr.write(`The demo failed. ${error.message}\n`)
  process.exitCode = 1
  end()
  await ended
}
