import type { Accounts } from '../../records/accounts/accounts.ts'
import type { Administrators } from '../../records/accounts/administration/administrators.ts'
import type { Invitations } from '../../records/accounts/administration/invitations.ts'
import type { IdentityProvider } from '../../records/accounts/login/identities.ts'
import type { Logins } from '../../records/accounts/login/logins.ts'
import type { Sessions } from '../../records/accounts/login/sessions.ts'
import type { Passwords } from '../../records/accounts/passwords.ts'
import type { Registrations } from '../../records/accounts/registration.ts'
import type { Removals } from '../../records/accounts/removals.ts'
import type { CarePlans } from '../../records/care-plans/care-plans.ts'
import type { Graphs } from '../../records/charts/graphs.ts'
import type { Aggregates } from '../../records/charts/sums/aggregates.ts'
import type { Timelines } from '../../records/charts/timeline.ts'
import type { Chats } from '../../records/chat/chats.ts'
import type { Ehrs } from '../../records/ehrs/ehrs.ts'
import type { Events } from '../../records/events/events.ts'
import type { Followings } from '../../records/live/followings.ts'
import type { ThresholdsOfPlans } from '../../records/measurements/alerts/thresholds-of-plans.ts'
import type { Batches } from '../../records/measurements/batches.ts'
import type { AdverseReaction } from '../../records/of-ehr/adverse-reaction.ts'
import type { Device } from '../../records/of-ehr/device.ts'
import type { KnownRecords } from '../../records/of-ehr/known-records.ts'
import type { Queries } from '../../records/openehr/aql/queries.ts'
import type { StoredQueries } from '../../records/openehr/aql/stored-queries.ts'
import type { Compositions } from '../../records/openehr/compositions/compositions.ts'
import type { EhrStatuses } from '../../records/openehr/ehr-status/ehr-statuses.ts'
import type { Archetypes } from '../../records/openehr/templates/kept-archetypes.ts'
import type { Templates } from '../../records/openehr/templates/kept-templates.ts'
import type { Profiles } from '../../records/profiles/profiles.ts'
import type { TextPacks } from '../../records/questionnaires/text-packs.ts'
import type { Key, Range, Writing } from '../../records/registered/registered.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import type { Page, PageOf } from '../../records/store/reading/listing.ts'
import type { PastChange } from '../../records/store/store.ts'
import type { TypeFamily } from '../../records/types/known-types.ts'
import type { Types } from '../../records/types/types.ts'
import type { UserData } from '../../records/user-data/data-of-users.ts'
import type { JsonWebKey } from '../../schemas/login.ts'

export interface SavedRecord {
  id: string
  version: number
  /** Those of which it tells something, too. */
  others?: readonly { id: string; version: number }[]
}

/** The records of a kind, whatever their fields. */
export interface PlainRecords {
  list(caller: Caller, ehrId: string, range: Range, page: PageOf): Promise<Page<SavedRecord>>
  get(caller: Caller, key: Key): Promise<SavedRecord>
  create(caller: Caller, place: { ehrId: string }, body: object, id: string): Promise<SavedRecord>
  replace(caller: Caller, key: Key, body: object, options: Writing): Promise<SavedRecord>
  remove(caller: Caller, key: Key, options: Writing): Promise<void>
  history(caller: Caller, key: Key, page: PageOf): Promise<Page<PastChange<object>>>
  restore(caller: Caller, key: Key, version: number, options: Writing): Promise<SavedRecord>
}

/** The terms of service that people agree to now. */
export interface Terms {
  version: string
  /** Where they can be read. */
  url: string
}

/** What handlers and access rules work with; the composition root hands it in, each subject adds its line. */
export interface Services {
  /** Where clients reach the service. */
  publicUrl: string
  /** Whether it is the open test environment. */
  open: boolean
  /** Which of the things that the service stands on answer at the moment. */
  readiness(): Promise<Record<string, boolean>>
  accounts: Accounts
  removals: Removals
  invitations: Invitations
  administrators: Administrators
  registrations: Registrations
  passwords: Passwords
  terms: Terms
  logins: Logins
  sessions: Sessions
  identityProvider: IdentityProvider
  /** The public keys of the access tokens that may still be valid, the newest first. */
  publicKeys(): Promise<JsonWebKey[]>
  /** What is kept about the persons behind the accounts. */
  profiles: Profiles
  ehrs: Ehrs
  /** What openEHR says of EHRs. */
  ehrStatuses: EhrStatuses
  /** The care plans of the EHRs, with their goals and tasks. */
  carePlans: CarePlans
  events: Events
  compositions: Compositions
  /** What is asked of compositions and EHRs in AQL. */
  queries: Queries
  /** Those that are kept for everybody. */
  storedQueries: StoredQueries
  /** The operational templates. */
  templates: Templates
  /** The archetypes that they are made of, and others in ADL. */
  archetypes: Archetypes
  /** The texts of the questionnaires. */
  textPacks: TextPacks
  reactions: KnownRecords<typeof AdverseReaction.schema, 'ofEhr'>
  devices: KnownRecords<typeof Device.schema, 'ofEhr'>
  /** Measurements of any kinds, stored together. */
  batches: Batches
  /** What modellers have said of measurements, occurrences and devices. */
  types: Record<TypeFamily, Types>
  /** Measurements and occurrences of those types, by user. */
  userData: UserData
  aggregates: Aggregates
  /** What people say to each other. */
  chats: Chats
  /** Those who follow what happens. */
  changes: Followings
  timelines: Timelines
  graphs: Graphs
  /** Where a record of a class can be shown by itself; undefined: nowhere. */
  addressOf(className: string, record: object): string | undefined
  /** The limits within which the measurements of care plans should be. */
  thresholds: ThresholdsOfPlans
  /** The records of any kind that is registered in EHRs, in so far as they are like any other's. */
  recordsOf(kind: { name: string }): PlainRecords
}
