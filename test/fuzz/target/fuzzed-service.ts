import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { promisify } from 'node:util'
import { variableOf } from '../../../server/config/config.ts'
import { settings } from '../../../server/config/known-settings.ts'
import { startSmtp } from '../../harness/people/smtp.ts'
import { freePort } from '../../harness/service/port.ts'
import { newDataDir, type ServiceProcess, startServing, stopProcess } from '../../harness/service/process.ts'

/** The service that is fuzzed: a process of its own, as in production, on data of its own. */
export interface FuzzedService {
  url: string
  /** Of its class family. */
  keys: Record<string, string>
  /** Mails, raw; who reads them takes them away. */
  mails: string[]
  /** Everything that it writes from now on. */
  onOutput(listener: (line: string) => void): void
  /** Resolves when it has ended by itself. */
  ended: Promise<unknown>
  stop(): Promise<void>
}

const unlimited = {
  ...{ ADDRESS_RATE: '1000000', ACCOUNT_RATE: '1000000' },
  ...{ LOGIN_ATTEMPTS: '1000000', ACCOUNT_LOGIN_ATTEMPTS: '1000000', LOCKOUT_ATTEMPTS: '999' },
}

/** @param admin the address of somebody who is invited as an administrator */
export async function startService(admin: string): Promise<FuzzedService> {
  const smtp = await startSmtp()
  const env = environment(smtp.url, await freePort())
  const stop = async (): Promise<void> => {
    await smtp.close()
    rmSync(String(env.DATA_DIR), { recursive: true, force: true, maxRetries: 10 })
  }
  try {
    await invite(admin, env)
    const service = await startServing(env)
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

/** All that production demands, and limits that no run reaches. */
function environment(smtpUrl: string, port: number): NodeJS.ProcessEnv {
  const made = Object.entries(settings).flatMap(([name, setting]) =>
    'made' in setting ? [variableOf(name)] : [],
  )
  return {
    ...Object.fromEntries(made.map((name) => [name, randomBytes(24).toString('hex')])),
    ...{ PATH: process.env.PATH, NODE_ENV: 'production', LOG_LEVEL: 'error' },
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    ...{ SMTP_URL: smtpUrl, DATA_DIR: newDataDir(), PORT: String(port) },
    ...unlimited,
  }
}

const invite = (email: string, env: NodeJS.ProcessEnv) =>
  promisify(execFile)(process.execPath, ['dist/server/commands/admin.js', 'create', '--email', email], {
    env,
  })

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
