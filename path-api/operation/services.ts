import type { BulkExports } from '../../fhir/export/bulk-exports.ts'
import type { BundleRequests } from '../../fhir/requests/bundle-requests.ts'
import type { FhirResources } from '../../fhir/requests/fhir-resources.ts'
import type { SubscriptionNotifications } from '../../fhir/subscriptions/subscription-notifications.ts'
import type { Queries } from '../../openehr/aql/queries.ts'
import type { StoredQueries } from '../../openehr/aql/stored-queries.ts'
import type { Compositions } from '../../openehr/compositions/compositions.ts'
import type { Contributions } from '../../openehr/contributions/contributions.ts'
import type { Directories } from '../../openehr/directories/directories.ts'
import type { EhrStatuses } from '../../openehr/ehr-status/ehr-statuses.ts'
import type { ArchetypeStore } from '../../openehr/templates/archetype-store.ts'
import type { TemplateStore } from '../../openehr/templates/template-store.ts'
import type { AccountDeletion } from '../../records/accounts/account-deletion.ts'
import type { Accounts } from '../../records/accounts/accounts.ts'
import type { Administrators } from '../../records/accounts/administration/administrators.ts'
import type { Invitations } from '../../records/accounts/administration/invitations.ts'
import type { AppAuthorizations } from '../../records/accounts/apps/app-authorizations.ts'
import type { AppClients } from '../../records/accounts/apps/app-clients.ts'
import type { AppGrants } from '../../records/accounts/apps/app-grants.ts'
import type { BackendServices } from '../../records/accounts/apps/backend-services.ts'
import type { RegisteredApps } from '../../records/accounts/apps/registered-apps.ts'
import type { Helpers } from '../../records/accounts/helpers/helpers.ts'
import type { Identities, IdentityProvider } from '../../records/accounts/login/identities.ts'
import type { Logins } from '../../records/accounts/login/logins.ts'
import type { Sessions } from '../../records/accounts/login/sessions.ts'
import type { Passwords } from '../../records/accounts/passwords.ts'
import type { Registrations } from '../../records/accounts/registration/registrations.ts'
import type { ConnectedSystems } from '../../records/accounts/systems/connected-systems.ts'
import type { BackgroundVerification } from '../../records/administration/background-verification.ts'
import type { CarePlans } from '../../records/care-plans/care-plans.ts'
import type { Aggregates } from '../../records/charts/aggregates/aggregates.ts'
import type { Graphs } from '../../records/charts/graphs.ts'
import type { Timelines } from '../../records/charts/timeline.ts'
import type { Chats } from '../../records/chat/chats.ts'
import type { AdverseReaction } from '../../records/conditions/adverse-reaction.ts'
import type { Device } from '../../records/conditions/device.ts'
import type { NaturallyKeyedRecords } from '../../records/conditions/naturally-keyed-records.ts'
import type { EhrRecordKey, EhrWriteOptions, RecordFilter } from '../../records/ehr-records/ehr-records.ts'
import type { Ehrs } from '../../records/ehrs/ehrs.ts'
import type { Events } from '../../records/events/events.ts'
import type { Handovers } from '../../records/handovers/handovers.ts'
import type { DeletedRecords } from '../../records/history/deleted-records.ts'
import type { Subscriptions } from '../../records/live/subscriptions.ts'
import type { PlanAlertRulesStore } from '../../records/measurements/alerts/alert-rules.ts'
import type { PlanThresholdStore } from '../../records/measurements/alerts/plan-threshold-store.ts'
import type { MeasurementBatches } from '../../records/measurements/measurement-batches.ts'
import type { Profiles } from '../../records/profiles/profiles.ts'
import type { TextPacks } from '../../records/questionnaires/text-packs.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import type { Page, PageRequest } from '../../records/store/reading/pages.ts'
import type { RecordHistoryEntry } from '../../records/store/store.ts'
import type { TypeDefinitions } from '../../records/types/type-definitions.ts'
import type { TypeFamily } from '../../records/types/type-registry.ts'
import type { UserData } from '../../records/user-data/user-data.ts'
import type { PatientCards } from '../../records/worklist/patient-cards.ts'
import type { Worklists } from '../../records/worklist/worklist.ts'
import type { WorklistViewsStore } from '../../records/worklist/worklist-views-store.ts'
import type { JsonWebKey } from '../../schemas/accounts/login.ts'
import type { ServiceStatus } from '../../schemas/administration/service-status.ts'

export interface RepresentedRecord {
  id: string
  version: number
  /** Versions of other records that the representation includes. */
  others?: readonly { id: string; version: number }[]
}

/** Store of the records of a kind, independent of its fields. */
export interface PlainRecords {
  list(
    caller: Caller,
    ehrId: string,
    range: RecordFilter,
    page: PageRequest,
  ): Promise<Page<RepresentedRecord>>
  get(caller: Caller, key: EhrRecordKey): Promise<RepresentedRecord>
  create(caller: Caller, parentIds: { ehrId: string }, body: object, id: string): Promise<RepresentedRecord>
  replace(
    caller: Caller,
    key: EhrRecordKey,
    body: object,
    options: EhrWriteOptions,
  ): Promise<RepresentedRecord>
  remove(caller: Caller, key: EhrRecordKey, options: EhrWriteOptions): Promise<void>
  history(caller: Caller, key: EhrRecordKey, page: PageRequest): Promise<Page<RecordHistoryEntry<object>>>
  restore(
    caller: Caller,
    key: EhrRecordKey,
    version: number,
    options: EhrWriteOptions,
  ): Promise<RepresentedRecord>
}

/** Published terms of service. */
export interface Terms {
  version: string
  /** URL of the text. */
  url: string
}

/** Services for handlers and access rules. The composition root provides them; each subject adds a line. */
export interface Services {
  /** Public URL of the service. */
  publicUrl: string
  /** Path of the public URL, without a slash at its end. */
  pathPrefix: string
  /** URL of the app in which people log in. */
  appUrl: string | undefined
  /** Whether this is the open test environment. */
  open: boolean
  /** Readiness by dependency, such as the database. */
  readiness(): Promise<Record<string, boolean>>
  /** Queues and database, for administrators. */
  status(): Promise<ServiceStatus>
  /** Verifies the audit beside the requests. */
  auditVerification: BackgroundVerification
  accounts: Accounts
  accountDeletion: AccountDeletion
  invitations: Invitations
  administrators: Administrators
  registrations: Registrations
  passwords: Passwords
  /** undefined while the operator has not published any; then nobody is asked to agree. */
  terms: Terms | undefined
  logins: Logins
  sessions: Sessions
  identities: Identities
  /** Systems that may use the openEHR REST API. */
  systems: ConnectedSystems
  /** Apps that people can admit to the FHIR API. */
  apps: RegisteredApps
  /** Finds out which app sends a request. */
  appClients: AppClients
  backendServices: BackendServices
  /** The steps between the login of a person and the tokens of an app. */
  appAuthorizations: AppAuthorizations
  /** Apps that people have admitted. */
  appGrants: AppGrants
  identityProvider: IdentityProvider
  /** Public keys of the access tokens that may still be valid, newest first. */
  publicKeys(): Promise<JsonWebKey[]>
  /** Agreements that users act for others. */
  helpers: Helpers
  /** Data of the persons behind the accounts. */
  profiles: Profiles
  ehrs: Ehrs
  /** openEHR status of each EHR. */
  ehrStatuses: EhrStatuses
  /** Care plans with their goals and tasks. */
  carePlans: CarePlans
  events: Events
  compositions: Compositions
  /** The records as resources of FHIR R4. */
  fhir: FhirResources
  /** Batches and transactions of FHIR. */
  fhirBundles: BundleRequests
  /** Events of the subscriptions of FHIR. */
  fhirNotifications: SubscriptionNotifications
  /** Exports of many patients for FHIR. */
  fhirExports: BulkExports
  /** Folders of each EHR. */
  directories: Directories
  /** Commits of several versions at once. */
  contributions: Contributions
  /** Runs AQL queries. */
  queries: Queries
  /** AQL queries stored for all users. */
  storedQueries: StoredQueries
  /** The operational templates. */
  templates: TemplateStore
  /** Archetypes of the templates, and archetypes stored in ADL. */
  archetypes: ArchetypeStore
  /** Texts of the questionnaires. */
  textPacks: TextPacks
  reactions: NaturallyKeyedRecords<typeof AdverseReaction.schema, 'ofEhr'>
  devices: NaturallyKeyedRecords<typeof Device.schema, 'ofEhr'>
  /** Stores measurements of several kinds at once. */
  batches: MeasurementBatches
  /** Data types, event types and device types. */
  types: Record<TypeFamily, TypeDefinitions>
  /** Measurements and occurrences of these types by user. */
  userData: UserData
  aggregates: Aggregates
  /** Chat topics and messages. */
  chats: Chats
  /** Records that were deleted and have not returned. */
  deletedRecords: DeletedRecords
  /** Subscriptions to changes. */
  subscriptions: Subscriptions
  /** The patients who need action from a user. */
  worklists: Worklists
  /** The people whom EHRs are about, for those who care for them. */
  patients: PatientCards
  /** Worklists that their owners have handed over. */
  handovers: Handovers
  /** The saved views of worklists. */
  worklistViews: WorklistViewsStore
  timelines: Timelines
  graphs: Graphs
  /** Path of a record of a class; undefined if it has none. */
  recordPathOf(className: string, record: object): string | undefined
  /** Path of the history of a record, deleted or not; undefined if its kind has none. */
  historyPathOf(kind: string, record: object): string | undefined
  /** Thresholds for the measurements of care plans. */
  thresholds: PlanThresholdStore
  /** Rules of care plans for their alerts. */
  alertRules: PlanAlertRulesStore
  /** Generic store of any kind of record that is registered in EHRs. */
  recordsOf(kind: { name: string }): PlainRecords
}
