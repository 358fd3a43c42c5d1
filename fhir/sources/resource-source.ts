import type { TObject } from '@sinclair/typebox'
import type { Participants } from '../../records/care-plans/participants/participants.ts'
import type { EhrRecords } from '../../records/ehr-records/ehr-records.ts'
import type { Ehrs } from '../../records/ehrs/ehrs.ts'
import type { FhirResource } from '../../records/fhir/mapping.ts'
import type { FhirSearchParameter } from '../../records/fhir/search/search-parameters.ts'
import type { ChangedRecord, RecordChange } from '../../records/history/changes.ts'
import type { ChangeFeed } from '../../records/live/change-feed.ts'
import type { Profiles } from '../../records/profiles/profiles.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import type { PageRequest } from '../../records/store/reading/pages.ts'
import type { ExpectedVersions } from '../../records/store/write-decider.ts'
import type { AuditedReads, StoreContext, Transaction } from '../../records/store/writing/transaction.ts'
import type { ErrorName } from '../../schemas/errors.ts'
import type { ResourceSearch, SearchCriteria } from './resource-search.ts'

/** A page of found resources, in the order of the search. */
export interface FoundResources {
  resources: FhirResource[]
  /** The position of the next page; undefined on the last one. */
  next?: string | undefined
  total?: number | undefined
}

/** A version of a resource in a history; a deletion has no resource. */
export interface ResourceVersion {
  type: string
  id: string
  version: number
  at: string
  action: 'create' | 'update' | 'delete'
  /** The patient, where an access tells it. */
  ehrId?: string | null
  /** The author; the user is empty for the service itself. */
  author?: { userId: string; application: string }
  resource: FhirResource | undefined
}

export interface ResourceWrite {
  expected?: ExpectedVersions
  tx?: Transaction | undefined
  /** The transaction is rolled back. */
  isValidation?: true
  /** Accepts elements that the service drops. Called with their paths. */
  onDropped?: ((paths: readonly string[]) => void) | undefined
}

/** The name and the effect of a search parameter of a resource type. */
interface SearchParameterDescription extends Pick<FhirSearchParameter, 'type' | 'description'> {
  /** The types to which it refers, and the path of the reference; absent if no resource can be included by it. */
  references?: { types: readonly string[]; path: string } | undefined
}

/** Interactions of FHIR with a resource type. */
export type Interaction =
  | 'read'
  | 'vread'
  | 'history-instance'
  | 'history-type'
  | 'search-type'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'

/** A resource type with its interactions. Routes, capabilities and documentation follow from it. */
export interface ResourceDescription {
  type: string
  /** For sentences: `observations`. */
  plural: string
  profiles: readonly string[]
  interactions: readonly Interaction[]
  /** Operations in addition to the interactions: the URIs of their definitions by name. */
  operations?: Readonly<Record<string, string>>
  /** The codes of the resources as tokens, if all have one of some codes. */
  codes?: readonly string[]
  /** Errors of a search beyond those of every search. */
  searchErrors?: readonly ErrorName[]
  /** The users of the resources, if these are not data of a patient; `account`: nobody on behalf of somebody else. */
  readers?: 'user' | 'account'
  /** Media types of the content that a resource wraps, which a client may read instead. */
  contentTypes?: readonly string[]
  /** Canonical URIs of the topics to which clients can subscribe. */
  topics?: readonly string[]
  parameters: Readonly<Record<string, SearchParameterDescription>>
  /** The parameter of the order; without one the order cannot be chosen. */
  sortedBy: string | undefined
}

/** The content that a resource wraps. */
export interface ResourceContent {
  type: string
  content: string
  versionId: string
  lastUpdated: string
}

/** A row of the table of resource types. */
export interface ResourceType extends ResourceDescription {
  open(services: FhirServices): ResourceSource
}

/** Encrypts cursors that may name what an app may not find. */
interface CursorEncryption {
  encrypt(cursor: string): string
  /** @returns undefined for another text */
  decrypt(text: string): string | undefined
}

/** The sources of the resources. */
export interface FhirServices {
  context: StoreContext
  recordsOf: RecordsOf
  ehrs: Ehrs
  profiles: Profiles
  participants: Pick<Participants, 'list'>
  /** The URL of the service, without a slash at its end; undefined in exports. */
  publicUrl: string | undefined
  /** undefined in exports, which list no versions. */
  cursorEncryption?: CursorEncryption | undefined
  /** The changes of records; undefined in exports. */
  feed?: Pick<ChangeFeed, 'position' | 'changesBetween'> | undefined
  /** The canonical JSON of an openEHR composition. */
  toCompositionJson(composition: {
    id: string
    version: number
    json?: string | undefined
  }): string | undefined
}

/** Finds the store of a kind. */
export type RecordsOf = (kind: { name: string }) => EhrRecords<TObject, string>

/** A page of an export. */
interface ExportPageRequest {
  ehrId: string
  /** The resource types of the export. */
  types: readonly string[]
  /** Only resources that have changed since. */
  since: Date | null
  /** The end of the previous page. */
  after: string | null
  /** The number of records, which may have several resources. */
  limit: number
}

/** A part of an export: the resources of one type, or what was deleted. */
export interface ExportSource {
  /** The resources of a patient that the caller may read, in any order. @param reads collects the entries of the audit */
  exportPage(caller: Caller, page: ExportPageRequest, reads: AuditedReads): Promise<FoundResources>
}

/** Where the resources of one type come from. */
export interface ResourceSource extends Partial<ExportSource> {
  /** The current version. @throws NotFound; Gone when it is deleted */
  read(caller: Caller, id: string): Promise<FhirResource>
  /** @throws as read */
  readContent?(caller: Caller, id: string): Promise<ResourceContent>
  /** @throws InvalidInput for a value that a parameter does not understand */
  search(caller: Caller, search: ResourceSearch): Promise<FoundResources>
  /** The ids of the deleted resources that match, and that the caller could read. @param deletedKeys with the version of the deletion */
  searchDeleted?(
    caller: Caller,
    search: SearchCriteria,
    deletedKeys: readonly ChangedRecord[],
  ): Promise<string[]>
  /** @throws NotFound; Gone when the version is a deletion */
  readVersion?(caller: Caller, id: string, version: number): Promise<FhirResource>
  /** The versions, newest first. @throws NotFound */
  history?(
    caller: Caller,
    id: string,
    page: PageRequest,
  ): Promise<{ versions: ResourceVersion[]; next: string | null; total?: number | undefined }>
  /** The collections of the records that it shows. */
  collections?: readonly string[]
  /** Those whose records have parts that are resources: an update may delete one. */
  partCollections?: readonly string[]
  /** The versions of resources that a change of a record created. */
  versionsOf?(change: RecordChange): ResourceVersion[]
  /** A transaction may create resources of one group at the same time; undefined: alone. */
  creationGroupOf?(resource: FhirResource): string | undefined
  create?(caller: Caller, resource: FhirResource, id: string, options: ResourceWrite): Promise<FhirResource>
  /** @throws NotFound; PreconditionFailed; RuleViolated */
  update?(caller: Caller, id: string, resource: FhirResource, options: ResourceWrite): Promise<FhirResource>
  remove?(caller: Caller, id: string, options: ResourceWrite): Promise<void>
}
