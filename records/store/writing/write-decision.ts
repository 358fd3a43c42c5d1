import type { AuditedAccess } from '../audit/audit-log.ts'
import type { ParseDocument } from '../documents/parse-format.ts'
import type { DocumentOperation } from './document-writes.ts'
import type { HistoryEntry } from './history.ts'

/** The effects of a write, computed once the records that it depends on are loaded. */
export interface WriteDecision<R> {
  /** Each operation must affect one document; otherwise the transaction fails. */
  operations: DocumentOperation[]
  changes: HistoryEntry[]
  accesses: AuditedAccess[]
  /** Derived records that the write may affect. */
  derivedWrites?: DerivedWrite[]
  result: R
}

/** A write of a derived record, decided once the rules and the record itself are loaded. */
export interface DerivedWrite {
  collection: string
  id: string
  /** Id of the parent, which is also the id of the rules. */
  parentId: string
  /** The record has no derived record yet, because it is new. */
  isNew: boolean
  /** Returns undefined when nothing has to be written. */
  decide(
    found: ParseDocument | null,
    rules: ParseDocument | null,
    at: Date,
  ): Omit<WriteDecision<unknown>, 'result'> | undefined
}
