import type { Caller } from '../../records/store/documents/caller.ts'
import type { ExpectedVersions } from '../../records/store/write-decider.ts'
import type { InterfaceLanguage } from '../../schemas/code-lists.ts'
import type { ContentCoding } from '../reply/cacheable-text.ts'
import type { Access, Principal } from './access.ts'
import type { Services } from './services.ts'

/** The type depends on the access: absent (public), optional, or always present. */
type ForAccess<A extends Access, T> = A extends 'public'
  ? undefined
  : A extends 'optional'
    ? T | undefined
    : T

/** The part of a changed resource in the response (`Prefer`). */
export type Preference = 'minimal' | 'identifier' | 'representation'

/** Committal metadata that a client of the openEHR REST API sent in headers. */
export interface CommitDetails {
  /** Code of openEHR. */
  changeType?: string
  /** Code of openEHR. */
  lifecycle?: string
  description?: string
  /** Name of the committer. */
  committer?: string
  /** Reference to the committer: id, namespace and type. */
  committerId?: string
  committerNamespace?: string
  committerType?: string
}

/** The preferences of a client of the FHIR API for its response. */
export interface FhirPreferences {
  /** `strict`: refuse unknown parameters. `lenient`: accept elements that are not kept. */
  handling: 'strict' | 'lenient' | undefined
  /** The content of the response to a write. */
  return: 'minimal' | 'representation' | 'OperationOutcome' | undefined
  /** The client will fetch the result later. */
  respondAsync: boolean
  /** `If-None-Exist`: create only if this search finds nothing. */
  ifNoneExist: string | undefined
}

/** Facts about the request that handlers get besides the input. */
export interface RequestFacts<A extends Access> {
  principal: ForAccess<A, Principal>
  /** The principal in the form of the stores. */
  caller: ForAccess<A, Caller>
  requestId: string
  /** Client address according to `trust proxy`. */
  address: string
  userAgent: string
  /** Preferred language of the client among those of pages and mails. */
  language: InterfaceLanguage
  /** Preferred media type of the client among those of the response. */
  accepted: string
  /** Whether the client accepts a media type of the response. */
  accepts(mediaType: string): boolean
  /** Media type of the body, in lower case, without parameters. */
  sentAs: string
  /** Content coding that the client accepts; only large documents are compressed. */
  coding: ContentCoding | undefined
  /** Versions from `If-Match`; the store compares and sets. */
  ifMatch: ExpectedVersions
  /** Versions of an object from an `If-Match` of version uids; only in the openEHR REST API. */
  ifMatchOf(id: string): ExpectedVersions
  /** `Prefer`; only in the openEHR REST API. */
  preference: Preference
  /** The template of a composition in a simplified format; only in the openEHR REST API. */
  templateId: string | undefined
  /** The only EHR that a query searches, from `openEHR-EHR-id`; only in the openEHR REST API. */
  ehrIdHeader: string | undefined
  /** Committal metadata; only in the openEHR REST API. */
  commitDetails: CommitDetails
  /** Preferences and conditions of FHIR; only in the FHIR API. */
  fhirPreferences: FhirPreferences
  /** `Authorization: Basic`. */
  basicCredentials: { name: string; secret: string } | undefined
  /** The refresh token in the cookie of a page of ours. @throws CrossSiteRequest */
  refreshCookie(): string | undefined
  /** The resource before a PUT that repeats its read-only properties. */
  current: Readonly<Record<string, unknown>> | undefined
  /** `Last-Event-ID`: the stream resumes after this event. */
  lastEventId: string | undefined
  /** Whether the client has a version already, so that the response needs no body; absent without `If-None-Match`. */
  isKnown: ((version: number | string) => boolean) | undefined
  /** Whether the request has `If-None-Match: *`: create only. */
  createOnly: boolean
  /**
   * Returns an id for a new document. Under an Idempotency-Key it is the same for each attempt, so that a
   * retry after a crash finds the document of the first attempt.
   */
  newId(): string
  /** Like newId, but a UUID. */
  newUuid(): string
  /**
   * Whether an earlier attempt under this Idempotency-Key ended without a response and may have been carried
   * out. Creations detect that by the id. Operations that would fail the second time must check it.
   */
  isRetry: boolean
  /** Whether the client has disconnected, so that nobody reads the response. */
  isAbandoned(): boolean
}

/** A spread of a context has no services and no parsed headers: they are inherited, see context-class.ts. */
export type Context<A extends Access = Access> = Services & RequestFacts<A>
