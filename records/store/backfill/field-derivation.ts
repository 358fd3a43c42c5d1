import type { AnyBulkWriteOperation } from 'mongodb'
import type { ParseDocument } from '../documents/parse-format.ts'
import type { StoreContext } from '../writing/transaction.ts'

/** The lookups that a derivation may use. */
export type DerivationContext = Pick<StoreContext, 'db' | 'definitions'>

/**
 * Fields that the service computes from other fields and stores beside them. Queries, charts and other
 * programs rely on them.
 */
export interface FieldDerivation {
  collection: string
  /**
   * Increase it when the same document would now get other fields: stored documents are then derived again.
   */
  version: number
  /** The stored names of the derived fields. */
  fields: readonly string[]
  /** Documents per batch. */
  batchSize: number
  /** Clients see these fields; otherwise only queries use them. */
  areShown: boolean
  /** Computes the derived fields of a document. A field missing from the result is removed. */
  derive(context: DerivationContext, document: ParseDocument): Promise<Readonly<Record<string, unknown>>>
  /** The writes that update a document, when setting fields does not suffice. */
  rewrite?(
    context: DerivationContext,
    document: ParseDocument,
  ): Promise<AnyBulkWriteOperation<ParseDocument>[]>
}
