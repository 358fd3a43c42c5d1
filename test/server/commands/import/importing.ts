import { spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runImportCommand } from '../../../../server/commands/import.ts'
import { createPatient, createPlan, type Patient } from '../../../harness/care/patients.ts'
import { assertStatus } from '../../../harness/clients/path-client.ts'
import { service } from '../../../harness/service/service.ts'

/** The patient and the care plan that measurements are imported into. */
export interface Place extends Patient {
  carePlanId: string
}

export async function newPlace(): Promise<Place> {
  const patient = await createPatient()
  return { ...patient, carePlanId: await createPlan(patient) }
}

export const directory = mkdtempSync(join(tmpdir(), 'import-'))
let files = 0
export function fileOf(
  content: string | Buffer | object,
  ending = typeof content === 'string' ? 'csv' : 'json',
): string {
  const file = join(directory, `${files++}.${ending}`)
  writeFileSync(
    file,
    typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content),
  )
  return file
}

/** The arguments and environment for the patient; the command reads the password from the environment. */
const calledBy = ({ ehrId, carePlanId, email, password }: Place, file: string) => ({
  args: ['--file', file, '--ehr', ehrId, '--care-plan', carePlanId, '--url', service.url, '--user', email],
  env: { PATH: process.env.PATH, IMPORT_PASSWORD: password },
})

/** Runs the command as the patient. */
export const run = (place: Place, file: string, ...more: string[]) => runOn(false, place, file, ...more)

export async function runOn(isTTY: boolean, place: Place, file: string, ...more: string[]) {
  const { args, env } = calledBy(place, file)
  let output = ''
  const stream = { isTTY, write: (text: string) => (output += text) }
  const terminal = { env, stdin: process.stdin, stdout: stream, stderr: stream }
  const code = await runImportCommand([...args, ...more], terminal)
  return { code, output }
}

/** Starts the command as a process, which ends by itself or by a signal. */
export function start(place: Place, file: string) {
  const { args, env } = calledBy(place, file)
  return spawn(process.execPath, ['bin/health-record-service.mjs', 'import', ...args], { env })
}

/** Starts the command without an address of the service, in this environment. */
export function startWithoutUrl(place: Place, file: string, more: NodeJS.ProcessEnv) {
  const { args, env } = calledBy(place, file)
  const argsWithoutUrl = args.filter((arg) => arg !== '--url' && arg !== service.url)
  return spawn(process.execPath, ['bin/health-record-service.mjs', 'import', ...argsWithoutUrl], {
    env: { ...env, ...more },
  })
}

/** The number of records of each kind. */
export const totals = async ({ call, ehrId }: Patient, ...kinds: string[]) =>
  Object.fromEntries(
    await Promise.all(
      kinds.map(async (kind) => {
        const path = `/ehr/${ehrId}/${/^(diagnosis|adversereaction|device|medication|immunisation)$/.test(kind) ? '' : 'procedure/'}${kind}`
        return [kind, assertStatus(await call('GET', `${path}?limit=1&count=true`)).page.total]
      }),
    ),
  )
