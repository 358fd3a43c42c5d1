import type { AnyBulkWriteOperation } from 'mongodb'
import type { Access } from '../audit/trail.ts'
import type { ParseDocument } from '../documents/parse-format.ts'
import type { CompanionWrite } from './companions.ts'
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
