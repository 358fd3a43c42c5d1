import type { Expected } from '../../records/store/decisions.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import type { Language } from '../../schemas/code-lists.ts'
import type { Access, Principal } from './access.ts'
import type { Services } from './services.ts'

/** Nobody, perhaps somebody, or surely somebody: as the operation's access says. */
type Known<A extends Access, T> = A extends 'public' ? undefined : A extends 'optional' ? T | undefined : T

/** What a handler may know about the request besides its input. */
interface RequestFacts<A extends Access> {
  principal: Known<A, Principal>
  /** The same one as the records know them. */
  caller: Known<A, Caller>
  requestId: string
  /** The client's address, as `trust proxy` sees it. */
  address: string
  userAgent: string
  /** Of the languages of the pages and mails the one that the client likes best. */
  language: Language
  /** Of the media types of the answer the one that the client likes best. */
  accepted: string
  /** The versions that the client accepts to overwrite, as `If-Match` names them; the store compares and sets. */
  expected: Expected
  /** The last event that a stream goes on behind: `Last-Event-ID`. */
  lastEventId: string | undefined
  /** Whether the client wants to make something new only: `If-None-Match: *`. */
  createOnly: boolean
  /**
   * An id for a document about to be created. Under an Idempotency-Key it is the same each time, so that a
   * repetition after a crash finds the document of the first attempt instead of making a second one.
   */
  newId(): string
  /** The same as a UUID. */
  newUuid(): string
  /**
   * An earlier attempt under the same Idempotency-Key ended without an answer: the work may be done. What creates finds
   * that out by the id; what else would be refused the second time has to look.
   */
  again: boolean
  /** Whether the client has gone: nobody will read the answer. */
  isAbandoned(): boolean
}

export type Context<A extends Access = Access> = Services & RequestFacts<A>
