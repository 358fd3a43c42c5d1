import { readFileSync } from 'node:fs'
import { newId } from '../../../records/store/documents/ids.ts'
import type { AppCreate } from '../../../schemas/accounts/app.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { parseJsonFile } from '../../../schemas/json/json-file.ts'
import type { OpenAccounts } from '../../accounts/open-accounts.ts'
import { describeFault } from '../terminal.ts'
import { checkOptions, describeOptionFaults, requireClient } from './option-faults.ts'

/** The options of a command line about an app. */
export interface AppOptions {
  id: string
  name: string | undefined
  scopes: string
  redirectUris: string
  authentication: string
  /** A file with the public keys. */
  jwks: string | undefined
  /** The URL of the public keys. */
  jwksUri: string | undefined
  launchUrl: string | undefined
  /** The connected system for which a backend service acts. */
  systemId: string | undefined
}

const words = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean)

function readKeys(file: string): unknown {
  try {
    return parseJsonFile(readFileSync(file))
  } catch (error) {
    throw new Error(`--jwks must be a JSON file with public keys: ${describeFault(error)}`)
  }
}

/** @throws Error with all violations */
async function readApp(options: AppOptions): Promise<AppCreate> {
  const { AppCreate: schema } = await import('../../../schemas/accounts/app.ts')
  const { name, scopes, redirectUris, authentication, jwks, jwksUri, launchUrl, systemId } = options
  const app = {
    ...(name !== undefined && { name }),
    authentication,
    scopes: words(scopes),
    redirectUris: words(redirectUris),
    ...(jwks !== undefined && { jwks: readKeys(jwks) }),
    ...(jwksUri !== undefined && { jwksUri }),
    ...(launchUrl !== undefined && { launchUrl }),
    ...(systemId !== undefined && { systemId }),
  }
  await checkOptions(schema, app)
  return app as AppCreate
}

/** @throws Error with all violations */
export async function registerApp(
  { services: { apps } }: OpenAccounts,
  options: AppOptions,
): Promise<string> {
  const registration = await apps.register(newId(), await readApp(options)).catch((error: unknown) => {
    if (error instanceof ServiceError) throw new Error(error.detail ?? describeOptionFaults(error.violations))
    throw error
  })
  const { id, clientSecret } = registration.app
  return clientSecret === undefined
    ? `client id:     ${id}`
    : `client id:     ${id}\nclient secret: ${clientSecret}\nThe secret is not shown again.`
}

const MAX_LISTED_APPS = 1000

export async function listApps({ services: { apps } }: OpenAccounts): Promise<string> {
  const { items } = await apps.list({ limit: MAX_LISTED_APPS })
  const lines = items.map(
    ({ id, authentication, name, scopes }) => `${id}  ${authentication}  ${name}  ${scopes.join(' ')}`,
  )
  return lines.length > 0 ? lines.join('\n') : 'There is no app.'
}

export async function removeApp(
  { services: { apps, appGrants } }: OpenAccounts,
  { id }: AppOptions,
): Promise<string> {
  await requireClient('app', id, apps.remove(id, undefined))
  await appGrants.endOfApp(id)
  return `Removed ${id}. All access of the app has ended.`
}
