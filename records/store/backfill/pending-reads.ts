import { ServiceError } from '../../../schemas/errors.ts'
import type { ParseDocument } from '../documents/parse-format.ts'
import type { ReadCheck } from '../reading/read-checks.ts'
import type { Backfill } from './backfill.ts'
import type { Derivation } from './derivation.ts'

/**
 * Keeps reads correct while a backfill is pending. Whole documents get their derived fields on the fly. A
 * query that filters, sorts or sums by derived fields gets a 503, because it would miss documents.
 */
export const guardPendingReads =
  (backfill: Backfill): ReadCheck =>
  ({ collection }) => {
    if (backfill.isDone) return {}
    return {
      beforeSending({ query, map }) {
        requireDerivedFields(backfill, collection, query)
        const pending = backfill.pendingIn(collection)
        if (pending?.areShown)
          map((document) => (isWholeDocument(document) ? backfill.complete(pending, document) : document))
      },
    }
  }

/** The document was not reduced by a projection or created by a pipeline. */
const isWholeDocument = (document: ParseDocument): boolean =>
  '_rperm' in document && '_created_at' in document

/** @throws Unavailable for a query on derived fields of a pending collection, or with a join to one */
function requireDerivedFields(backfill: Backfill, name: string, query: unknown): void {
  const pending = backfill.pendingIn(name)
  if ((pending && hasDerivedField(query, pending)) || hasPendingJoin(query, backfill))
    throw new ServiceError('Unavailable', {
      detail: 'Data of an earlier version of the service is still being prepared for queries.',
      retryAfter: BACKFILL_RETRY_AFTER_S,
    })
}

const BACKFILL_RETRY_AFTER_S = 5

const hasDerivedField = (query: unknown, { fields }: Derivation): boolean => {
  const isDerived = (path: string) => fields.includes(path.split('.')[0] as string)
  return hasPart(
    query,
    (name, value) =>
      isDerived(name) || (typeof value === 'string' && value.startsWith('$') && isDerived(value.slice(1))),
  )
}

/** A stage of the pipeline reads another, pending collection. */
const hasPendingJoin = (query: unknown, backfill: Backfill): boolean =>
  hasPart(query, (name, value) => {
    const { from, coll } = Object(value)
    const other = name === '$lookup' ? from : name === '$unionWith' ? (coll ?? value) : undefined
    return typeof other === 'string' && backfill.pendingIn(other) !== undefined
  })

/** Whether the condition holds for a name in the query and its value, at any depth. */
function hasPart(query: unknown, holds: (name: string, value: unknown) => boolean): boolean {
  if (query instanceof Map) return hasPart(Object.fromEntries(query), holds)
  if (typeof query !== 'object' || query === null || '_bsontype' in query) return false
  return Object.entries(query).some(([name, value]) => holds(name, value) || hasPart(value, holds))
}
