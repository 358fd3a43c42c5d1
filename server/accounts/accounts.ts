import { watchSessions } from '../../cloud/parse-server/adapter/session-watch.ts'
import { parseCredentials } from '../../cloud/parse-server/credentials.ts'
import { type AccountParts, Accounts } from '../../records/accounts/accounts.ts'
import { EmailChanges } from '../../records/accounts/email-changes.ts'
import { Invitations } from '../../records/accounts/invitations.ts'
import { Identities } from '../../records/accounts/login/identities.ts'
import { Logins } from '../../records/accounts/login/logins.ts'
import { RefreshTokens } from '../../records/accounts/login/refresh-tokens.ts'
import { Sessions } from '../../records/accounts/login/sessions.ts'
import { UnknownAddresses } from '../../records/accounts/login/unknown-addresses.ts'
import { Passwords } from '../../records/accounts/passwords.ts'
import { Registrations } from '../../records/accounts/registration.ts'
import { createBackground } from '../../records/accounts/user/background.ts'
import type { SendMail } from '../../records/accounts/user/mails.ts'
import { onRoleChange } from '../../records/ehrs/roles.ts'
import type { Config } from '../config/config.ts'
import type { Connection } from '../database/connection.ts'
import type { Log } from '../telemetry/log.ts'
import { accessTokenLifetime, authenticator, createAccessTokens } from './access-tokens.ts'
import { createIdentityProvider } from './identity-provider.ts'
import { openSigningKeys } from './keys.ts'
import { linksOf } from './links.ts'
import { createSeal } from './sealed.ts'

export interface AccountsOptions {
  config: Config
  publicUrl: string
  database: Connection
  log: Log
  sendMail: SendMail
  /** What goes with an account that is deleted. */
  removals: AccountParts['removals']
}

export type OpenAccounts = Awaited<ReturnType<typeof openAccounts>>

/** Everything about accounts, put together; Parse Server must have started. */
export async function openAccounts(options: AccountsOptions) {
  const { config, publicUrl, database, log, sendMail, removals } = options
  const { db } = database
  const clock = () => new Date()
  const credentials = await parseCredentials(config.applicationId, db)
  const keys = await openSigningKeys({
    db,
    seal: createSeal(config.keyEncryptionKey, 'signing keys'),
    maxAgeDays: config.signingKeyDays,
    tokenLifetime: accessTokenLifetime,
    clock,
  })
  const accessTokens = createAccessTokens(keys, publicUrl, clock)
  const sessions = new Sessions(database, credentials, clock)
  watchSessions(database.adapter, () => sessions.changed())
  const onFault = (err: unknown) => log.error({ err }, 'Parse Server may know former roles for 5 s')
  onRoleChange(database, () => {
    sessions.changed()
    void credentials.forgetRoles().catch(onFault)
  })
  const background = createBackground((err) => log.error({ err }, 'Work after an answer has failed'))
  const { refreshTokens, emailChanges, identities, unknownAddresses } = await collections(options, clock)
  const shared = { db, database, credentials, sessions, emailChanges, sendMail, background, clock }
  const { termsVersion } = config
  const links = linksOf(publicUrl)
  const accounts = new Accounts({ ...shared, links, removals })
  return {
    services: {
      accounts,
      invitations: new Invitations({ ...shared, accounts, links }),
      registrations: new Registrations({ ...shared, termsVersion }),
      passwords: new Passwords({ ...shared, termsVersion }),
      logins: new Logins({ ...shared, refreshTokens, accessTokens, identities, unknownAddresses }),
      sessions,
      identityProvider: createIdentityProvider(providerOf(config)),
      publicKeys: () => keys.publicKeys(),
    },
    authenticate: authenticator(accessTokens, sessions),
    keys,
    /** Waits for the work that goes on after answers. */
    close: () => background.close(),
  }
}

async function collections({ config, database: { db } }: AccountsOptions, clock: () => Date) {
  const all = {
    refreshTokens: new RefreshTokens(db, clock),
    emailChanges: new EmailChanges(db, clock),
    identities: new Identities(db, clock),
    unknownAddresses: new UnknownAddresses(db, config.lockoutAttempts, clock),
  }
  for (const each of Object.values(all)) await each.prepare()
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
