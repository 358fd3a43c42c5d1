import { watchSessions } from '../../cloud/parse-server/adapter/session-watch.ts'
import { parseCredentials } from '../../cloud/parse-server/credentials.ts'
import { Accounts } from '../../records/accounts/accounts.ts'
import { Administrators } from '../../records/accounts/administration/administrators.ts'
import { Invitations } from '../../records/accounts/administration/invitations.ts'
import { EmailChanges } from '../../records/accounts/email-changes.ts'
import { Identities } from '../../records/accounts/login/identities.ts'
import { Logins } from '../../records/accounts/login/logins.ts'
import { RefreshTokens } from '../../records/accounts/login/refresh-tokens.ts'
import { Sessions } from '../../records/accounts/login/sessions.ts'
import { UnknownAddresses } from '../../records/accounts/login/unknown-addresses.ts'
import { Passwords } from '../../records/accounts/passwords.ts'
import { Registrations } from '../../records/accounts/registration.ts'
import { type RemovalParts, Removals } from '../../records/accounts/removals.ts'
import type { SendMail } from '../../records/accounts/user/mails.ts'
import { indexUsers, usersOf } from '../../records/accounts/user/user.ts'
import { ensureEhrOfAccount } from '../../records/ehrs/beginning/of-account.ts'
import { onRoleChange } from '../../records/ehrs/rights/roles.ts'
import { createBackground } from '../../records/store/batching/background.ts'
import { type Loop, periodically } from '../../records/store/batching/periodically.ts'
import type { Records } from '../../records/store/writing/transaction.ts'
import type { Config } from '../config/config.ts'
import type { Connection } from '../database/connection.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { accessTokenLifetime, authenticator, createAccessTokens } from './access-tokens.ts'
import { createIdentityProvider } from './identity-provider.ts'
import { openSigningKeys } from './keys.ts'
import { linksOf } from './links.ts'
import { createSeal } from './sealed.ts'

export interface AccountsOptions {
  config: Config
  publicUrl: string
  database: Connection
  records: Records
  log: Log
  metrics: Metrics
  sendMail: SendMail
  /** What goes with an account that is deleted. */
  belongings: RemovalParts['belongings']
}

export type OpenAccounts = Awaited<ReturnType<typeof openAccounts>>

/** Everything about accounts, put together; Parse Server must have started. */
export async function openAccounts(options: AccountsOptions) {
  const { config, publicUrl, database, records, log, metrics, sendMail, belongings } = options
  const { db } = database
  const clock = () => new Date()
  const { credentials, sessions } = await openSessions(options, clock)
  const keys = await openKeys(config, db, clock)
  const accessTokens = createAccessTokens(keys, publicUrl, clock)
  const background = createBackground((err) => log.error({ err }, 'Work in the background failed'))
  const { refreshTokens, emailChanges, identities, unknownAddresses } = await collections(options, clock)
  const shared = { db, database, credentials, sessions, emailChanges, sendMail, background, clock }
  const { termsVersion } = config
  const links = linksOf(publicUrl)
  const accounts = new Accounts({ ...shared, links })
  const removals = new Removals({ ...shared, belongings })
  const invitations = new Invitations({ ...shared, accounts, links })
  const administrators = new Administrators({ ...shared, accounts, invitations })
  const cleaning = removeUnconfirmed(removals, log)
  return {
    services: {
      accounts,
      removals,
      invitations,
      administrators,
      registrations: new Registrations({ ...shared, removals, termsVersion }),
      passwords: new Passwords({ ...shared, termsVersion }),
      logins: new Logins({
        ...shared,
        ...{ refreshTokens, accessTokens, identities, unknownAddresses },
        ensureEhr: (mvUid) => ensureEhr(records, mvUid),
        noteFailure: (reason) => metrics.failedLogins.inc({ reason }),
      }),
      sessions,
      terms: { version: termsVersion, url: config.termsUrl ?? `${publicUrl}/auth/terms` },
      identityProvider: createIdentityProvider(providerOf(config)),
      publicKeys: () => keys.publicKeys(),
    },
    authenticate: authenticator(accessTokens, sessions),
    keys,
    /** Waits for the work that goes on after answers. */
    close: async () => {
      await cleaning.end()
      await background.close()
    },
  }
}

const openKeys = (config: Config, db: Connection['db'], clock: () => Date) =>
  openSigningKeys({
    db,
    seal: createSeal(config.keyEncryptionKey, 'signing keys'),
    maxAgeDays: config.signingKeyDays,
    tokenLifetime: accessTokenLifetime,
    clock,
  })

async function openSessions({ config, database, log }: AccountsOptions, clock: () => Date) {
  const credentials = await parseCredentials(config.applicationId, database.db)
  const sessions = new Sessions(database, credentials, clock)
  watchSessions(database.adapter, () => sessions.changed())
  const onFault = (err: unknown) => log.error({ err }, 'Parse Server may use former roles for 5 s')
  onRoleChange(database, () => {
    sessions.changed()
    void credentials.forgetRoles().catch(onFault)
  })
  return { credentials, sessions }
}

const HOUR_MS = 3_600_000

const removeUnconfirmed = (removals: Removals, log: Log): Loop =>
  periodically(
    HOUR_MS,
    () => removals.removeUnconfirmed(),
    (err) => log.error({ err }, 'Unconfirmed accounts could not be removed'),
  )

async function ensureEhr(records: Records, userId: string): Promise<void> {
  const user = await usersOf(records.db).findOne({ _id: userId })
  const caller = { userId, roles: [], application: '', requestId: '' }
  if (user?.ehrId) await ensureEhrOfAccount(records, caller, user.ehrId)
}

async function collections({ config, database: { db } }: AccountsOptions, clock: () => Date) {
  const all = {
    refreshTokens: new RefreshTokens(db, clock),
    emailChanges: new EmailChanges(db, clock),
    identities: new Identities(db, clock),
    unknownAddresses: new UnknownAddresses(db, config.lockoutAttempts, clock),
  }
  for (const each of Object.values(all)) await each.prepare()
  await indexUsers(db)
  return all
}

function providerOf({ oidcIssuer, oidcClientId, oidcClientSecret, oidcAudiences = [] }: Config) {
  if (oidcClientId === undefined || oidcClientSecret === undefined) return undefined
  return {
    issuer: oidcIssuer,
    clientId: oidcClientId,
    clientSecret: oidcClientSecret,
    audiences: oidcAudiences,
  }
}
