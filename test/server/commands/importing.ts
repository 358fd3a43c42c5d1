import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newPatient, newPlan, type Patient } from '../../harness/care/patients.ts'
import { ok } from '../../harness/clients/path-client.ts'
import { service } from '../../harness/service/service.ts'

/** Where measurements are imported into, as whom. */
export interface Place extends Patient {
  carePlanId: string
}

export async function newPlace(): Promise<Place> {
  const patient = await newPatient()
  return { ...patient, carePlanId: await newPlan(patient) }
}

export const directory = mkdtempSync(join(tmpdir(), 'import-'))
let files = 0
export function fileOf(
  content: string | object,
  ending = typeof content === 'string' ? 'csv' : 'json',
): string {
  const file = join(directory, `${files++}.${ending}`)
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

/** Runs the command as the patient, with the password where the command takes it from. */
export async function run(place: Place, file: string, ...more: string[]) {
  const { child, ended } = start(place, file, ...more)
  await once(child, 'close')
  return ended()
}

export function start({ ehrId, carePlanId, email, password }: Place, file: string, ...more: string[]) {
  const args = [
    '--file',
    file,
    '--ehr',
    ehrId,
    '--care-plan',
    carePlanId,
    '--url',
    service.url,
    '--user',
    email,
  ]
  const child = spawn(process.execPath, ['dist/server/commands/import.js', ...args, ...more], {
    env: { PATH: process.env.PATH, IMPORT_PASSWORD: password },
  })
  let said = ''
  child.stdout.on('data', (chunk) => {
    said += chunk
  })
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  return { child, ended: () => ({ code: child.exitCode, said }) }
}

/** How many of each kind are there. */
export const totals = async ({ call, ehrId }: Patient, ...kinds: string[]) =>
  Object.fromEntries(
    await Promise.all(
      kinds.map(async (kind) => {
        const path = `/ehr/${ehrId}/${/^(diagnosis|adversereaction|device)$/.test(kind) ? '' : 'procedure/'}${kind}`
        return [kind, ok(await call('GET', `${path}?limit=1&count=true`)).page.total]
      }),
    ),
  )
