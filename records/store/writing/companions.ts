import type { AnyBulkWriteOperation, ClientSession, Collection } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Access } from '../audit/trail.ts'
import type { Caller, Permissions } from '../documents/caller.ts'
import { documentsOf } from '../documents/database.ts'
import type { ParseDocument } from '../documents/parse-format.ts'
import type { Change } from './history.ts'
import type { Records, Transaction } from './transaction.ts'

/** What becomes of a record: as the families see it, null where it is not. */
export interface Written<T> {
  before: T | null
  after: T | null
  permissions: Permissions
}

/**
 * The records of another collection that follow from those of a resource, each under the id of its own: an alert from a
 * measurement. They are written in the same transaction.
 */
export interface Companion {
  collection: string
  /** Where it is said what follows: a document for each that the records are registered in, under its id. */
  rules: string
  /** undefined: nothing can follow from this write. */
  writeFor(caller: Caller, written: Written<object>): CompanionWrite | undefined
}

/** A write beside another one, which is decided when the rules and the companion itself are at hand. */
export interface CompanionWrite {
  /** Of both records. */
  id: string
  /** Under which the rules are. */
  holderId: string
  /** There is no companion yet: the record is new, too. */
  isNew: boolean
  /** undefined: nothing is to be written. */
  decide(found: ParseDocument | null, rules: ParseDocument | null, at: Date): Follows | undefined
}

interface Follows {
  operations: AnyBulkWriteOperation<ParseDocument>[]
  changes: Change[]
  accesses: Access[]
}

/** The rules that came with the holders of new records: `null` where there are none. */
export type KnownRules = ReadonlyMap<string, ParseDocument | null>

/** The stage that has a holder bring its rules along: no command of their own is needed for what is mostly not there. */
export const withRules = ({ rules }: Pick<Companion, 'rules'>) => ({
  $lookup: { from: rules, localField: '_id', foreignField: '_id', as: RULES },
})

const RULES = 'rules'

/** The rules that a holder has brought along. */
export const rulesIn = (holder: ParseDocument): ParseDocument | null =>
  (holder[RULES] as ParseDocument[] | undefined)?.[0] ?? null

/** Writes what follows from records that are being written, with its history and its audit entries. */
export async function writeCompanions(
  records: Records,
  tx: Transaction,
  companion: Companion,
  writes: readonly CompanionWrite[],
  known: KnownRules = new Map(),
): Promise<void> {
  const { session } = tx
  const [companions, rules] = [
    documentsOf(records, companion.collection),
    documentsOf(records, companion.rules),
  ]
  const unknown = writes.flatMap(({ holderId }) => (known.has(holderId) ? [] : [holderId]))
  const others = await documentsById(rules, unknown, session)
  const there = writes.flatMap(({ id, isNew }) => (isNew ? [] : [id]))
  const found = await documentsById(companions, there, session)
  const follows = writes.flatMap(
    ({ id, holderId, decide }) =>
      decide(found.get(id) ?? null, known.get(holderId) ?? others.get(holderId) ?? null, records.clock()) ??
      [],
  )
  const operations = follows.flatMap((one) => one.operations)
  if (operations.length === 0) return
  const done = await companions.bulkWrite(operations, { session, ordered: false })
  if (done.insertedCount + done.matchedCount + done.deletedCount < operations.length)
    throw new ServiceError('Conflict', { detail: 'Another request changed it at the same time.' })
  tx.changes.push(...follows.flatMap(({ changes }) => changes))
  tx.accesses.push(...follows.flatMap(({ accesses }) => accesses))
}

export async function documentsById(
  documents: Collection<ParseDocument>,
  ids: readonly string[],
  session: ClientSession,
  companion?: Companion,
): Promise<Map<string, ParseDocument>> {
  if (ids.length === 0) return new Map()
  const those = { _id: { $in: [...new Set(ids)] } }
  const found = companion
    ? await documents
        .aggregate<ParseDocument>([{ $match: those }, withRules(companion)], { session })
        .toArray()
    : await documents.find(those, { session }).toArray()
  return new Map(found.map((document) => [document._id, document as ParseDocument]))
}
