import type { AnyBulkWriteOperation } from 'mongodb'
import type { Access } from '../audit/trail.ts'
import type { ParseDocument } from '../documents/parse-format.ts'
import type { Change } from './history.ts'

/** What a write comes to, when the records that it depends on are at hand. */
export interface Decision<R> {
  /** Each touches one document that is there, or the transaction ends. */
  operations: AnyBulkWriteOperation<ParseDocument>[]
  changes: Change[]
  accesses: Access[]
  /** What may have to be written beside it. */
  companions?: CompanionWrite[]
  result: R
}

/** A write beside another one, which is decided when the rules and the companion itself are at hand. */
export interface CompanionWrite {
  collection: string
  id: string
  /** Under which the rules are. */
  holderId: string
  /** There is no companion yet: what it follows from is new, too. */
  isNew: boolean
  /** undefined: nothing is to be written. */
  decide(
    found: ParseDocument | null,
    rules: ParseDocument | null,
    at: Date,
  ): Omit<Decision<unknown>, 'result'> | undefined
}
