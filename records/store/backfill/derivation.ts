import { isDeepStrictEqual } from 'node:util'
import type { AnyBulkWriteOperation } from 'mongodb'
import type { ParseDocument } from '../documents/parse-format.ts'
import type { StoreContext } from '../writing/transaction.ts'

/** The lookups that a derivation may use. */
export type DerivationContext = Pick<StoreContext, 'db' | 'definitions'>

/** Stored data that the service computes. Queries, charts and other programs rely on it. */
export interface Derivation {
  collection: string
  /** Increase it when the same document would now be stored differently: documents are then derived again. */
  version: number
  /** The stored names of the derived fields. */
  fields: readonly string[]
  /** Documents per batch. */
  batchSize: number
  /** Clients see these fields; otherwise only queries use them. */
  areShown: boolean
  /** The writes that update a stored document. */
  writesFor(
    context: DerivationContext,
    document: ParseDocument,
  ): Promise<AnyBulkWriteOperation<ParseDocument>[]>
  /** Returns a document as it will be stored; absent if a derivation does more than set fields. */
  complete?(context: DerivationContext, document: ParseDocument): Promise<ParseDocument>
}

interface FieldDerivationOptions extends Omit<Derivation, 'writesFor' | 'complete'> {
  /** Computes the derived fields of a document. A field missing from the result is removed. */
  derive(context: DerivationContext, document: ParseDocument): Promise<Readonly<Record<string, unknown>>>
}

/** Creates the usual derivation, which sets fields. Version and history of the record do not change. */
export function createFieldDerivation({ derive, ...options }: FieldDerivationOptions): Derivation {
  const { fields } = options
  return {
    ...options,
    async complete(context, document) {
      const derivedFields = await derive(context, document)
      const otherFields = Object.entries(document).filter(([name]) => !fields.includes(name))
      return { ...Object.fromEntries(otherFields), ...derivedFields } as ParseDocument
    },
    async writesFor(context, document) {
      const derivedFields = await derive(context, document)
      const set = Object.entries(derivedFields).filter(
        ([name, value]) => !isDeepStrictEqual(value, document[name]),
      )
      const unset = fields.filter((name) => !(name in derivedFields) && document[name] !== undefined)
      if (set.length === 0 && unset.length === 0) return []
      const update = {
        ...(set.length > 0 && { $set: Object.fromEntries(set) }),
        ...(unset.length > 0 && { $unset: Object.fromEntries(unset.map((name) => [name, ''])) }),
      }
      const filter = { _id: document._id, version: document.version }
      return [{ updateOne: { filter, update: update as object } }]
    },
  }
}
