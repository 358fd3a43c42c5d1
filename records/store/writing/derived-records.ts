import type { ClientSession, Collection, Document } from 'mongodb'
import { groupBy } from '../batching/group-by.ts'
import type { Caller, Permissions } from '../documents/caller.ts'
import { documentCollection } from '../documents/database.ts'
import type { ParseDocument } from '../documents/parse-format.ts'
import { findDeletedVersion, versionAfterDeletion } from './history.ts'
import type { StoreContext, Transaction } from './transaction.ts'
import { type DerivedWrite, DocumentWrites, type ParentRules } from './write-decision.ts'

/** A change of a record, in the form of the API. `before` is null for a new record, `after` for a removed one. */
export interface RecordTransition<T> {
  before: T | null
  after: T | null
  permissions: Permissions
}

/** Whether the record has never been there before; one that returns has a later version. */
export const isCreation = ({ before, after }: RecordTransition<{ version: number }>): boolean =>
  before === null && after?.version === 1

/** Derives records of other collections, written in the same transaction: an alert from a measurement, say. */
export interface RecordDerivation {
  /** The collections of the rules, with at most one document for each parent, under the parent's id. */
  rulesCollections: readonly string[]
  /** Returns an empty list when the write can affect no derived record. */
  deriveWrites(caller: Caller, transition: RecordTransition<object>): DerivedWrite[]
}

type RulesByParentId = ReadonlyMap<string, ParentRules>

/** Joins the rules to a parent. Most parents have none, so a query of its own would be wasted. */
export const rulesLookupStages = ({ rulesCollections }: RecordDerivation) =>
  rulesCollections.map((from, i) => ({
    $lookup: { from, localField: '_id', foreignField: '_id', as: RULES_FIELD + i },
  }))

const RULES_FIELD = 'rules'

export function joinedRulesOf(
  { rulesCollections }: RecordDerivation,
  parents: ReadonlyMap<string, ParseDocument>,
): RulesByParentId {
  const rulesOf = (parent: ParseDocument) =>
    rulesCollections.map((name, i) => [name, (parent[RULES_FIELD + i] as ParseDocument[] | undefined)?.[0]])
  return new Map([...parents].map(([id, parent]) => [id, Object.fromEntries(rulesOf(parent))]))
}

/** Writes derived records with their history and audit entries, then the records derived from these. */
export async function writeDerivedRecords(
  context: StoreContext,
  tx: Transaction,
  rules: readonly string[],
  writes: readonly DerivedWrite[],
  knownRules: RulesByParentId = new Map(),
): Promise<void> {
  if (writes.length === 0) return
  const unknown = writes.flatMap(({ parentId }) => (knownRules.has(parentId) ? [] : [parentId]))
  const allRules = new Map([...(await findRules(context, tx, rules, unknown)), ...knownRules])
  for (const [name, ofOne] of groupByCollection(writes)) {
    const following = await writeToCollection(context, tx, name, ofOne, allRules)
    await writeDerivedRecords(context, tx, rules, following, allRules)
  }
}

export const groupByCollection = <T extends { collection: string }>(
  records: readonly T[],
): [string, T[]][] => [...groupBy(records, ({ collection }) => collection)]

async function findRules(
  context: StoreContext,
  { session, pending }: Transaction,
  collections: readonly string[],
  parentIds: readonly string[],
): Promise<RulesByParentId> {
  if (parentIds.length === 0) return new Map()
  for (const name of collections) await pending.flushBeforeReading(name)
  const rulesByCollection = await Promise.all(
    collections.map((name) => findDocumentsById(documentCollection(context, name), parentIds, session)),
  )
  const rulesOf = (id: string) => collections.map((name, i) => [name, rulesByCollection[i]?.get(id)])
  return new Map(parentIds.map((id) => [id, Object.fromEntries(rulesOf(id))]))
}

/** @returns the writes derived from these */
async function writeToCollection(
  context: StoreContext,
  tx: Transaction,
  collection: string,
  writes: readonly DerivedWrite[],
  rules: RulesByParentId,
): Promise<DerivedWrite[]> {
  const { db, clock } = context
  const documents = documentCollection({ db }, collection)
  const singleWrites = writes.flatMap((write) => {
    const { id, parentId } = write
    const ids = typeof id === 'string' ? [id] : id(rules.get(parentId) ?? {}, clock())
    return ids.map((one) => ({ ...write, id: one }))
  })
  const there = singleWrites.flatMap(({ id, isNew }) => (isNew ? [] : [id]))
  if (there.length > 0) await tx.pending.flushBeforeReading(collection)
  const documentWrites = new DocumentWrites(await findDocumentsById(documents, there, tx.session))
  const following: DerivedWrite[] = []
  for (const { id, parentId, isNew, decide, moveContents } of singleWrites) {
    const state = { document: documentWrites.find(id), rules: rules.get(parentId) ?? {}, at: clock() }
    let decision = decide({ ...state, first: { version: 1 } })
    const [write] = decision?.writes ?? []
    if (write && !write.filter && !isNew) {
      const ehrId = String(write.document?.ehrId)
      const last = await findDeletedVersion(db, { collection, id, ehrId }, tx)
      if (last) {
        decision = decide({ ...state, first: { version: versionAfterDeletion(last), deleted: last } })
        await moveContents?.(context, tx, false)
      }
    }
    if (write?.document === null) await moveContents?.(context, tx, true)
    documentWrites.add(decision?.writes)
    tx.changes.push(...(decision?.changes ?? []))
    tx.accesses.push(...(decision?.accesses ?? []))
    following.push(...(decision?.derivedWrites ?? []))
  }
  tx.pending.add(documents, documentWrites.operations())
  return following
}

export async function findDocumentsById(
  documents: Collection<ParseDocument>,
  ids: readonly string[],
  session: ClientSession,
  lookups: readonly Document[] = [],
): Promise<Map<string, ParseDocument>> {
  if (ids.length === 0) return new Map()
  const idFilter = { _id: { $in: [...new Set(ids)] } }
  const matches =
    lookups.length > 0
      ? await documents.aggregate<ParseDocument>([{ $match: idFilter }, ...lookups], { session }).toArray()
      : await documents.find(idFilter, { session }).toArray()
  return new Map(matches.map((document) => [document._id, document as ParseDocument]))
}
