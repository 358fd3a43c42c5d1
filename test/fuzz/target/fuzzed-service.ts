import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { promisify } from 'node:util'
import { environmentVariableOf } from '../../../server/config/config.ts'
import { SETTINGS, type Setting } from '../../../server/config/service-settings.ts'
import { startSmtpServer } from '../../harness/mail/smtp-server.ts'
import { freePort } from '../../harness/service/port.ts'
import {
  createDataDir,
  type ServiceProcess,
  startServiceProcess,
  stopProcess,
} from '../../harness/service/service-process.ts'

/** The service under test: its own process, configured as in production, with its own data. */
export interface FuzzedService {
  url: string
  /** The keys of its class family. */
  keys: Record<string, string>
  /** Raw mails; readers remove them. */
  mails: string[]
  /** Calls the listener with each further line of output. */
  onOutput(listener: (line: string) => void): void
  /** Resolves when the process ends by itself. */
  ended: Promise<unknown>
  stop(): Promise<void>
}

const UNLIMITED_RATES = {
  ADDRESS_RATE: '1000000',
  ACCOUNT_RATE: '1000000',
  LOGIN_ATTEMPTS: '1000000',
  ACCOUNT_LOGIN_ATTEMPTS: '1000000',
  LOCKOUT_ATTEMPTS: '999',
}

/** @param admin the address to invite as administrator */
export async function startFuzzedService(admin: string): Promise<FuzzedService> {
  const smtp = await startSmtpServer()
  const env = createEnvironment(smtp.url, await freePort())
  const stop = async (): Promise<void> => {
    await smtp.close()
    rmSync(String(env.DATA_DIR), { recursive: true, force: true, maxRetries: 10 })
  }
  try {
    await inviteAdministrator(admin, env)
    const service = await startServiceProcess(env)
    return {
      url: service.url,
      keys: {
        'X-Parse-Application-Id': String(env.APPLICATION_ID),
        'X-Parse-REST-API-Key': String(env.REST_API_KEY),
      },
      mails: smtp.received,
      onOutput: (listener) => readLines(service, listener),
      ended: service.ended,
      stop: () => stopProcess(service).then(stop),
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** All variables that production requires, and limits that no run reaches. */
function createEnvironment(smtpUrl: string, port: number): NodeJS.ProcessEnv {
  const generatedVariables = Object.entries(SETTINGS).flatMap(
    ([name, setting]: [string, Setting<unknown>]) =>
      setting.isGenerated ? [environmentVariableOf(name)] : [],
  )
  return {
    ...Object.fromEntries(generatedVariables.map((name) => [name, randomBytes(24).toString('hex')])),
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    // The line of the start tells that the service is ready.
    LOG_LEVEL: 'info',
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    SMTP_URL: smtpUrl,
    DATA_DIR: createDataDir(),
    PORT: String(port),
    ...UNLIMITED_RATES,
  }
}

const inviteAdministrator = (email: string, env: NodeJS.ProcessEnv) =>
  promisify(execFile)(
    process.execPath,
    ['bin/health-record-service.mjs', 'admin', 'create', '--email', email],
    {
      env,
    },
  )

function readLines({ child }: ServiceProcess, listener: (line: string) => void): void {
  for (const stream of [child.stdout, child.stderr]) {
    let rest = ''
    stream?.on('data', (chunk) => {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) if (line.trim() !== '') listener(line)
    })
  }
}
