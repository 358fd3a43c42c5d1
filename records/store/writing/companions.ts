import type { ClientSession, Collection } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Caller, Permissions } from '../documents/caller.ts'
import { documentsOf } from '../documents/database.ts'
import type { ParseDocument } from '../documents/parse-format.ts'
import type { CompanionWrite } from './decision.ts'
import type { Records, Transaction } from './transaction.ts'

/** What becomes of a record: as the families see it, null where it is not. */
export interface Transition<T> {
  before: T | null
  after: T | null
  permissions: Permissions
}

/**
 * The records of other collections that follow from those of a resource: an alert from a measurement, measurements from a
 * composition. They are written in the same transaction.
 */
export interface Companion {
  /** Where it is said what follows: a document for each that the records are registered in, under its id. */
  rules: string
  /** Empty: nothing can follow from this write. */
  writesFor(caller: Caller, transition: Transition<object>): CompanionWrite[]
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

/** Writes what follows from records that are being written, with its history and audit entries, and what follows from that. */
export async function writeCompanions(
  records: Records,
  tx: Transaction,
  rules: string,
  writes: readonly CompanionWrite[],
  known: KnownRules = new Map(),
): Promise<void> {
  if (writes.length === 0) return
  const unknown = writes.flatMap(({ holderId }) => (known.has(holderId) ? [] : [holderId]))
  const others = await documentsById(documentsOf(records, rules), unknown, tx.session)
  const all = new Map([...unknown.map((id) => [id, others.get(id) ?? null] as const), ...known])
  for (const name of new Set(writes.map(({ collection }) => collection))) {
    const ofOne = writes.filter(({ collection }) => collection === name)
    const following = await writeIn(documentsOf(records, name), tx, ofOne, all, records.clock())
    await writeCompanions(records, tx, rules, following, all)
  }
}

/** @returns what may have to be written beside these */
async function writeIn(
  companions: Collection<ParseDocument>,
  tx: Transaction,
  writes: readonly CompanionWrite[],
  rules: KnownRules,
  at: Date,
): Promise<CompanionWrite[]> {
  const there = writes.flatMap(({ id, isNew }) => (isNew ? [] : [id]))
  const found = await documentsById(companions, there, tx.session)
  const follows = writes.flatMap(
    ({ id, holderId, decide }) => decide(found.get(id) ?? null, rules.get(holderId) ?? null, at) ?? [],
  )
  const operations = follows.flatMap((one) => one.operations)
  if (operations.length === 0) return []
  const done = await companions.bulkWrite(operations, { session: tx.session, ordered: false })
  if (done.insertedCount + done.matchedCount + done.deletedCount < operations.length)
    throw new ServiceError('Conflict', { detail: 'Another request changed it at the same time.' })
  tx.changes.push(...follows.flatMap(({ changes }) => changes))
  tx.accesses.push(...follows.flatMap(({ accesses }) => accesses))
  return follows.flatMap(({ companions: following = [] }) => following)
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
