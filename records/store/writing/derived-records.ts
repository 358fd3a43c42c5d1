import type { ClientSession, Collection } from 'mongodb'
import type { Caller, Permissions } from '../documents/caller.ts'
import { documentCollection } from '../documents/database.ts'
import type { ParseDocument } from '../documents/parse-format.ts'
import { findDeletedVersion, versionAfterDeletion } from './history.ts'
import type { StoreContext, Transaction } from './transaction.ts'
import { type DerivedWrite, DocumentWrites } from './write-decision.ts'

/** A change of a record, in the form of the API. `before` is null for a new record, `after` for a removed one. */
export interface RecordTransition<T> {
  before: T | null
  after: T | null
  permissions: Permissions
}

/** Whether the record has never been there before; one that returns has a later version. */
export const isCreation = ({ before, after }: RecordTransition<{ version: number }>): boolean =>
  before === null && after?.version === 1

/**
 * Derives records of other collections from those of a resource: an alert from a measurement, measurements
 * from a composition. Both are written in one transaction.
 */
export interface RecordDerivation {
  /** The collection of the rules: at most one document for each parent, under the parent's id. */
  rulesCollection: string
  /** Returns an empty list when the write can affect no derived record. */
  deriveWrites(caller: Caller, transition: RecordTransition<object>): DerivedWrite[]
}

/** The rules of parents; `null` for a parent without any. */
type RulesByParentId = ReadonlyMap<string, ParseDocument | null>

/** Joins the rules to a parent. Most parents have none, so a query of its own would be wasted. */
const rulesLookupStage = ({ rulesCollection }: RecordDerivation) => ({
  $lookup: { from: rulesCollection, localField: '_id', foreignField: '_id', as: RULES_FIELD },
})

const RULES_FIELD = 'rules'

export const joinedRulesOf = (parentDocument: ParseDocument): ParseDocument | null =>
  (parentDocument[RULES_FIELD] as ParseDocument[] | undefined)?.[0] ?? null

/** Writes derived records with their history and audit entries, then the records derived from these. */
export async function writeDerivedRecords(
  records: StoreContext,
  tx: Transaction,
  rules: string,
  writes: readonly DerivedWrite[],
  known: RulesByParentId = new Map(),
): Promise<void> {
  if (writes.length === 0) return
  const unknown = writes.flatMap(({ parentId }) => (known.has(parentId) ? [] : [parentId]))
  const others = await findDocumentsById(documentCollection(records, rules), unknown, tx.session)
  const all = new Map([...unknown.map((id) => [id, others.get(id) ?? null] as const), ...known])
  for (const name of new Set(writes.map(({ collection }) => collection))) {
    const ofOne = writes.filter(({ collection }) => collection === name)
    const following = await writeToCollection(records, tx, name, ofOne, all)
    await writeDerivedRecords(records, tx, rules, following, all)
  }
}

/** @returns the writes derived from these */
async function writeToCollection(
  { db, clock }: StoreContext,
  tx: Transaction,
  collection: string,
  writes: readonly DerivedWrite[],
  rules: RulesByParentId,
): Promise<DerivedWrite[]> {
  const documents = documentCollection({ db }, collection)
  const there = writes.flatMap(({ id, isNew }) => (isNew ? [] : [id]))
  const written = new DocumentWrites(await findDocumentsById(documents, there, tx.session))
  const following: DerivedWrite[] = []
  for (const { id, parentId, isNew, decide } of writes) {
    const state = { found: written.find(id), rules: rules.get(parentId) ?? null, at: clock() }
    let decision = decide({ ...state, first: { version: 1 } })
    const [write] = decision?.writes ?? []
    if (write && !write.filter && !isNew) {
      const ehrId = String(write.document?.ehrId)
      const last = await findDeletedVersion(db, { collection, id, ehrId }, tx)
      if (last) decision = decide({ ...state, first: { version: versionAfterDeletion(last), deleted: last } })
    }
    written.add(decision?.writes)
    tx.changes.push(...(decision?.changes ?? []))
    tx.accesses.push(...(decision?.accesses ?? []))
    following.push(...(decision?.derivedWrites ?? []))
  }
  await written.save(documents, tx.session)
  return following
}

export async function findDocumentsById(
  documents: Collection<ParseDocument>,
  ids: readonly string[],
  session: ClientSession,
  recordDerivation?: RecordDerivation,
): Promise<Map<string, ParseDocument>> {
  if (ids.length === 0) return new Map()
  const those = { _id: { $in: [...new Set(ids)] } }
  const found = recordDerivation
    ? await documents
        .aggregate<ParseDocument>([{ $match: those }, rulesLookupStage(recordDerivation)], { session })
        .toArray()
    : await documents.find(those, { session }).toArray()
  return new Map(found.map((document) => [document._id, document as ParseDocument]))
}
