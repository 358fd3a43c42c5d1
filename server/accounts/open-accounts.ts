import { watchSessions } from '../../cloud/parse-server/adapter/session-watch.ts'
import { createParseCredentials } from '../../cloud/parse-server/parse-credentials.ts'
import { removeExportsOfApp } from '../../fhir/export/stored-exports.ts'
import { fhirBaseOf, smartUrls } from '../../path-api/resources/smart-urls.ts'
import { AccountDeletion, type AccountDeletionDependencies } from '../../records/accounts/account-deletion.ts'
import { Accounts } from '../../records/accounts/accounts.ts'
import { Administrators } from '../../records/accounts/administration/administrators.ts'
import { Invitations } from '../../records/accounts/administration/invitations.ts'
import { AppAuthorizations } from '../../records/accounts/apps/app-authorizations.ts'
import { AppClients } from '../../records/accounts/apps/app-clients.ts'
import { AppGrants } from '../../records/accounts/apps/app-grants.ts'
import { BackendServices } from '../../records/accounts/apps/backend-services.ts'
import { RegisteredApps } from '../../records/accounts/apps/registered-apps.ts'
import { openBackgroundTasks } from '../../records/accounts/background-tasks.ts'
import { EmailChanges } from '../../records/accounts/email-changes.ts'
import { Identities } from '../../records/accounts/login/identities.ts'
import { LoginLockout } from '../../records/accounts/login/login-lockout.ts'
import { type AccessTokens, Logins } from '../../records/accounts/login/logins.ts'
import { appRefreshTokensOf, RefreshTokens } from '../../records/accounts/login/refresh-tokens.ts'
import { SessionGuesses } from '../../records/accounts/login/session-guesses.ts'
import { Sessions } from '../../records/accounts/login/sessions.ts'
import { Passwords } from '../../records/accounts/passwords.ts'
import { Registrations } from '../../records/accounts/registration/registrations.ts'
import { RepeatedRegistrations } from '../../records/accounts/registration/repeated-registrations.ts'
import { ConnectedSystems } from '../../records/accounts/systems/connected-systems.ts'
import type { SendMail } from '../../records/accounts/user/mails.ts'
import { createUserIndexes, usersOf } from '../../records/accounts/user/user.ts'
import { ensureAccountEhr } from '../../records/ehrs/creation/account-ehr.ts'
import { onRoleChange } from '../../records/ehrs/rights/roles.ts'
import type { RateLimiter } from '../../records/limits/rate-limiter.ts'
import { type PeriodicTask, startPeriodicTask } from '../../records/store/batching/periodic-task.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import { HOUR_MS } from '../../schemas/time/durations.ts'
import type { Config } from '../config/config.ts'
import type { DatabaseConnection } from '../database/database-connection.ts'
import { createKeyEncryption } from '../keys/key-encryption.ts'
import { openSigningKeys, type SigningKeys, signingKeyEncryption } from '../keys/signing-keys.ts'
import type { MailQueue } from '../mail/mail-queue.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { createIdentityProvider } from './identity-provider.ts'
import { createMailLinks } from './mail-links.ts'
import { ACCESS_TOKEN_LIFETIME_S, createAccessTokens, createAuthenticator } from './tokens/access-tokens.ts'
import { APP_TOKEN_LIFETIME_S, createAppTokens } from './tokens/app-tokens.ts'
import { createAssertionVerifier } from './tokens/client-assertions.ts'
import { createClientKeys } from './tokens/client-keys.ts'

export interface AccountsOptions {
  config: Config
  publicUrl: string
  database: DatabaseConnection
  context: StoreContext
  log: Log
  metrics: Metrics
  mails: MailQueue
  sendMail: SendMail
  consume: RateLimiter
  /** Cleanups for a deleted account. */
  accountCleanups: readonly Cleanup[]
}

type Cleanup = AccountDeletionDependencies['cleanups'][number]

export type OpenAccounts = Awaited<ReturnType<typeof openAccounts>>

/** Opens all services for accounts; Parse Server must have started. */
export async function openAccounts(options: AccountsOptions) {
  const { config, publicUrl, database, context, metrics, mails, sendMail, consume, accountCleanups } = options
  const { db } = database
  const clock = () => new Date()
  const { credentials, sessions } = await openSessions(options, clock)
  const keys = await openConfiguredSigningKeys(config, db, clock)
  const accessTokens = createAccessTokens(keys, publicUrl, clock)
  const background = await openConfiguredTasks(options, clock)
  const terms = configuredTerms(config)
  const collections = await openCollections(options, sessions, clock)
  const base = { db, database, credentials, sessions, sendMail, consume, background, clock, ...collections }
  const termsVersion = terms?.version
  const appServices = await openApps({ ...base, config, keys, accessTokens, publicUrl })
  const forgetApps: Cleanup = (session, mvUid) => appServices.appGrants.forget(session, mvUid)
  const cleanups = [...accountCleanups, forgetApps]
  const accountDeletion = new AccountDeletion({ ...base, context, cleanups, forgetMails: mails.forget })
  const creation = openAccountCreation({ ...base, context, links: createMailLinks(publicUrl) })
  const registrations = new Registrations({ ...base, ...creation, accountDeletion, termsVersion })
  background.startPolling()
  const tasks = [...startAccountCleanups(accountDeletion, options.log), background]
  return {
    services: {
      ...creation,
      accountDeletion,
      sessions,
      ...appServices,
      registrations,
      passwords: new Passwords({ ...base, termsVersion }),
      logins: new Logins({
        ...base,
        accessTokens,
        ensureEhr: (mvUid) => ensureEhrOfUser(context, mvUid),
        recordFailure: (reason) => metrics.failedLogins.inc({ reason }),
      }),
      identities: collections.identities,
      terms,
      identityProvider: createIdentityProvider(openIdentityProvider(config)),
      publicKeys: () => keys.publicKeys(),
    },
    authenticate: createAuthenticator(accessTokens, sessions, appServices.systems, appServices.appGrants),
    keys,
    /** Waits for background tasks. */
    close: async () => {
      for (const task of tasks) await task.stop()
    },
  }
}

/** Opens the services that create accounts and invite people. */
function openAccountCreation(
  base: ConstructorParameters<typeof Accounts>[0] &
    Omit<ConstructorParameters<typeof Invitations>[0], 'accounts'> &
    Omit<ConstructorParameters<typeof Administrators>[0], 'accounts' | 'invitations'>,
) {
  const accounts = new Accounts(base)
  const invitations = new Invitations({ ...base, accounts })
  const administrators = new Administrators({ ...base, accounts, invitations })
  return { accounts, invitations, administrators }
}

/** Opens the services for connected systems, and for apps at the FHIR API. */
async function openApps({
  config,
  database,
  sessions,
  keys,
  accessTokens,
  publicUrl,
  clock,
}: Pick<AccountsOptions, 'config' | 'database' | 'publicUrl'> & {
  sessions: Sessions
  keys: SigningKeys
  accessTokens: AccessTokens
  clock: () => Date
}) {
  const { db } = database
  const fhirBase = fhirBaseOf(publicUrl)
  const systems = new ConnectedSystems({ database, accessTokens, clock })
  const apps = new RegisteredApps(database, systems, clock)
  const appAuthorizations = new AppAuthorizations(database, clock)
  const refreshTokens = new RefreshTokens(db, appRefreshTokensOf(db))
  const appTokens = createAppTokens({ keys, issuer: publicUrl, audience: fhirBase, clock })
  const appGrants = new AppGrants({
    database,
    apps,
    sessions,
    systems,
    refreshTokens,
    appTokens,
    fhirBase,
    clock,
    authorizations: appAuthorizations,
    onEnd: (access) => removeExportsOfApp(database, access),
  })
  const findKeys = createClientKeys(config.internalKeyHosts ?? [])
  const verifyAssertion = createAssertionVerifier(smartUrls(publicUrl).token, findKeys, clock)
  const appClients = new AppClients({ apps, authorizations: appAuthorizations, verifyAssertion })
  for (const each of [systems, apps, appAuthorizations, refreshTokens, appGrants]) await each.prepare()
  const backendServices = new BackendServices(systems, appTokens)
  return { systems, apps, appAuthorizations, appGrants, appClients, backendServices }
}

const openConfiguredTasks = ({ config, database, mails, log }: AccountsOptions, clock: () => Date) =>
  openBackgroundTasks({
    db: database.db,
    inputEncryption: createKeyEncryption(config.keyEncryptionKey, 'background tasks'),
    waitForMails: () => mails.waitUntilStored(),
    clock,
    onFault: (err) => log.error({ err }, 'A background task failed'),
  })

const configuredTerms = ({ termsUrl, termsVersion }: Config) =>
  termsUrl === undefined ? undefined : { version: termsVersion, url: termsUrl }

const openConfiguredSigningKeys = (config: Config, db: DatabaseConnection['db'], clock: () => Date) =>
  openSigningKeys({
    db,
    encryption: signingKeyEncryption(config.keyEncryptionKey),
    maxAgeDays: config.signingKeyDays,
    tokenLifetime: Math.max(ACCESS_TOKEN_LIFETIME_S, APP_TOKEN_LIFETIME_S),
    clock,
  })

async function openSessions({ config, database, log }: AccountsOptions, clock: () => Date) {
  const credentials = await createParseCredentials(config.applicationId, database.db)
  const sessions = new Sessions(database, credentials, clock)
  await sessions.prepare()
  watchSessions(database.adapter, () => {
    sessions.invalidateCache()
    return credentials.forgetSessions()
  })
  const onFault = (err: unknown) =>
    log.error({ err }, 'The role cache was not cleared; Parse Server may use former roles for 5 s')
  onRoleChange(database, () => {
    sessions.invalidateCache()
    void credentials.forgetRoles().catch(onFault)
  })
  return { credentials, sessions }
}

const LATE_WRITE_CHECK_INTERVAL_MS = 5_000

const startAccountCleanups = (accountDeletion: AccountDeletion, log: Log): PeriodicTask[] => [
  startPeriodicTask(
    HOUR_MS,
    () => accountDeletion.removeExpiredAccounts(),
    (err) => log.error({ err }, 'Removing unconfirmed accounts failed'),
  ),
  startPeriodicTask(
    LATE_WRITE_CHECK_INTERVAL_MS,
    () => accountDeletion.eraseLateWrites(),
    (err) => log.error({ err }, 'Erasing late writes of deleted accounts failed'),
  ),
]

async function ensureEhrOfUser(context: StoreContext, userId: string): Promise<void> {
  const user = await usersOf(context.db).findOne({ _id: userId })
  const caller = { userId, roles: [], application: '', requestId: '' }
  if (user?.ehrId) await ensureAccountEhr(context, caller, user.ehrId)
}

async function openCollections(
  { config, context, sendMail }: AccountsOptions,
  sessions: Sessions,
  clock: () => Date,
) {
  const { db } = context
  const identities = new Identities(context, sessions, sendMail, clock)
  const collections = {
    refreshTokens: new RefreshTokens(db),
    emailChanges: new EmailChanges(db, identities, clock),
    identities,
    lockout: new LoginLockout(db, config.lockoutAttempts, clock),
    repeated: new RepeatedRegistrations(db, clock),
    guesses: new SessionGuesses(db, config.lockoutAttempts, clock),
  }
  for (const each of Object.values(collections)) await each.prepare()
  await createUserIndexes(db)
  return collections
}

function openIdentityProvider({ oidcIssuer, oidcClientId, oidcClientSecret, oidcAudiences = [] }: Config) {
  if (oidcClientId === undefined || oidcClientSecret === undefined) return undefined
  return {
    issuer: oidcIssuer,
    clientId: oidcClientId,
    clientSecret: oidcClientSecret,
    audiences: oidcAudiences,
  }
}
