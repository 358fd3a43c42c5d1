import type { Accounts } from '../../records/accounts/accounts.ts'
import type { Invitations } from '../../records/accounts/invitations.ts'
import type { IdentityProvider } from '../../records/accounts/login/identities.ts'
import type { Logins } from '../../records/accounts/login/logins.ts'
import type { Sessions } from '../../records/accounts/login/sessions.ts'
import type { Passwords } from '../../records/accounts/passwords.ts'
import type { Registrations } from '../../records/accounts/registration.ts'
import type { CarePlans } from '../../records/care-plans/care-plans.ts'
import type { Ehrs } from '../../records/ehrs/ehrs.ts'
import type { Events } from '../../records/events/events.ts'
import type { Profiles } from '../../records/profiles/profiles.ts'
import type { JsonWebKey } from '../../schemas/login.ts'

/** What handlers and access rules work with; the composition root hands it in, each subject adds its line. */
export interface Services {
  /** Which of the things that the service stands on answer at the moment. */
  readiness(): Promise<Record<string, boolean>>
  accounts: Accounts
  invitations: Invitations
  registrations: Registrations
  passwords: Passwords
  logins: Logins
  sessions: Sessions
  identityProvider: IdentityProvider
  /** The public keys of the access tokens that may still be valid, the newest first. */
  publicKeys(): Promise<JsonWebKey[]>
  /** What is kept about the persons behind the accounts. */
  profiles: Profiles
  ehrs: Ehrs
  /** The care plans of the EHRs, with their goals and tasks. */
  carePlans: CarePlans
  events: Events
}
