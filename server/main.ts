import { parseArgs } from 'node:util'
import packageJson from '../package.json' with { type: 'json' }
import { SERVICE_NAME } from '../schemas/text/service-name.ts'
import { type Config, ConfigError, createConfigurationRows } from './config/config.ts'
import { localUrlOf } from './config/service-urls.ts'
import type { Service } from './service.ts'

const usage = `Usage: health-record-service start         Start the service
       health-record-service open          Start the open test environment: no sessions, no validation, its own database
       health-record-service start --new   Create a new database with the existing keys of DATA_DIR/keys.json

Environment variables:

`

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { open: { type: 'boolean' }, new: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
  })
  if (values.help) {
    process.stdout.write(usage + createConfigurationRows().map(formatHelpEntry).join('\n'))
    return
  }
  // Loaded last, so that help and configuration errors appear immediately.
  const { readStartConfig } = await import('./start-config.ts')
  const config = readStartConfig(process.env, values.open ?? false, { newDatabase: values.new ?? false })
  const { startService } = await import('./service.ts')
  const service = await startService(config)
  // Registered before the ready message, because its reader may stop the service at once.
  stopOn('SIGTERM', service)
  stopOn('SIGINT', service)
  const notice = await offerFirstAdministrator(config, service).catch(async (error: unknown) => {
    await service.stop()
    throw error
  })
  if (config.production) logStart(config, service, notice)
  else process.stdout.write(formatWelcome(config, service, notice))
  service.log.fatal(await service.databaseLost)
  process.exit(1)
}

function stopOn(signal: NodeJS.Signals, service: Service): void {
  process.once(signal, () => {
    service.log.info({ signal }, 'stopping')
    service.stop().then(
      () => process.exit(0),
      (err) => {
        service.log.fatal({ err }, 'Stopping the service failed')
        process.exit(1)
      },
    )
  })
}

interface StartNotice {
  level: 'info' | 'warn'
  text: string
}

/** Explains how to create the first administrator: by mail, by a link, or in production by a command. */
async function offerFirstAdministrator(
  config: Config,
  { accounts }: Service,
): Promise<StartNotice | undefined> {
  const administrators = accounts?.services.administrators
  if (!administrators || (await administrators.hasActiveAdministrator())) return undefined
  if (config.adminEmail !== undefined) {
    return (await administrators.inviteFirst(config.adminEmail))
      ? { level: 'info', text: 'First administrator: a link is on its way to the address of ADMIN_EMAIL' }
      : { level: 'warn', text: 'No administrator can log in: the account of ADMIN_EMAIL is disabled' }
  }
  if (config.production || !['127.0.0.1', 'localhost', '0.0.0.0', '::1', '::'].includes(config.host))
    return {
      level: 'warn',
      text: 'No administrator can log in: set ADMIN_EMAIL, or run health-record-service admin create',
    }
  const page = `${localUrlOf(config)}/auth/administrator?token=${administrators.createOffer()}`
  return {
    level: 'info',
    text: `First administrator: open this link within an hour, on this machine\n  ${page}`,
  }
}

function formatHelpEntry([variable, kind, fallback, description]: string[]): string {
  return `${variable}\n    ${description}.\n    ${kind}${fallback ? `; default: ${fallback}` : ''}\n`
}

/** In production the output is JSON lines only. */
function logStart(
  { termsUrl, open }: Config,
  { log, url, place }: Service,
  notice: StartNotice | undefined,
): void {
  if (notice) log[notice.level](notice.text)
  if (!open && termsUrl === undefined) log.warn('Nobody is asked to agree to terms until TERMS_URL is set')
  log.info({ version: packageJson.version, url, place }, 'started')
}

function formatWelcome(config: Config, { url, place }: Service, notice: StartNotice | undefined): string {
  const terms = config.open || config.termsUrl === undefined ? '' : ',"termsAccepted":true'
  const body = `{"username":"ann@example.org","email":"ann@example.org","password":"a long password"${terms}}`
  const secret = (name: string, value: string) => (config.production ? `$${name}` : value)
  return `
${SERVICE_NAME}${config.open ? ': OPEN TEST ENVIRONMENT, no sessions, no validation, no patient data' : ''}
  class family   ${url}/1${config.open ? '' : `\n  path family    ${url}`}
  documentation  ${url}/docs
  data           ${place}
  mails          ${config.smtpUrl ? 'by SMTP_URL' : `${config.dataDir}/outbox`}${describeTerms(config)}
${notice ? `\n${notice.text}\n` : ''}
Sign up:
  curl -X POST ${url}/1/users -H "X-Parse-Application-Id: ${secret('APPLICATION_ID', config.applicationId)}" \\
    -H "X-Parse-REST-API-Key: ${secret('REST_API_KEY', config.restApiKey)}" -H 'Content-Type: application/json' \\
    -d '${body}'

`
}

/** An operator who forgot TERMS_URL must notice, in production as well. */
const describeTerms = ({ open, termsUrl }: Config): string =>
  open ? '' : `\n  terms          ${termsUrl ?? 'none: nobody is asked to agree until TERMS_URL is set'}`

main().catch((error: unknown) => {
  process.stderr.write(
    `${error instanceof ConfigError ? error.message : `The service did not start: ${(error as Error).message ?? error}`}\n`,
  )
  process.exit(1)
})
