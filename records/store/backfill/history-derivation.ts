import { isDeepStrictEqual } from 'node:util'
import { documentCollection } from '../documents/database.ts'
import { type HistoryEntry, historyCollection } from '../writing/history.ts'
import type { Derivation, DerivationContext } from './derivation.ts'

/**
 * Updates the history: former versions get their derived fields. Entries from before 21 November 2026 get
 * keys that start with the EHR, as today's reads expect.
 * @param collections those of records of EHRs, and their derivations
 */
export function createHistoryDerivation(
  collections: readonly string[],
  derivations: readonly Derivation[],
): Derivation {
  const derivationIn = new Map(derivations.map((one) => [one.collection, one]))
  return {
    collection: 'history.changes',
    // It increases when any of the versions does.
    version: derivations.reduce((sum, { version }) => sum + version, 1),
    fields: ['_id', 'before'],
    batchSize: 100,
    areShown: false,
    async writesFor(context, document) {
      const entry = document as unknown as HistoryEntry
      const { collection, _id } = await findCurrentKey(context, collections, entry)
      const derivation = derivationIn.get(collection)
      const before = entry.before && ((await derivation?.complete?.(context, entry.before)) ?? entry.before)
      if (_id !== entry._id)
        return [
          { replaceOne: { filter: { _id }, replacement: { ...document, _id, before }, upsert: true } },
          { deleteOne: { filter: { _id: entry._id } } },
        ]
      if (isDeepStrictEqual(before, entry.before)) return []
      return [{ updateOne: { filter: { _id }, update: { $set: { before } } } }]
    },
  }
}

/** Finds the collection of an entry's record, and the key that the entry should have. */
async function findCurrentKey(
  context: DerivationContext,
  collections: readonly string[],
  { _id, before }: HistoryEntry,
): Promise<{ collection: string; _id: string }> {
  const parts = _id.split('/')
  const [collection = '', id = ''] = parts.length === 4 ? parts : parts.slice(1)
  if (parts.length !== 4 || !collections.includes(collection)) return { collection, _id }
  const ehrId = collection === 'Ehr' ? id : (before?.ehrId ?? (await findEhrId(context, collection, id)))
  return { collection, _id: typeof ehrId === 'string' ? `${ehrId}/${_id}` : _id }
}

/** Finds the EHR of a record, also of a deleted one. */
async function findEhrId({ db }: DerivationContext, collection: string, id: string): Promise<unknown> {
  const record = await documentCollection({ db }, collection).findOne(
    { _id: id },
    { projection: { ehrId: 1 } },
  )
  if (record) return record.ehrId
  const start = `${collection}/${id}/`
  const change = await historyCollection(db).findOne({
    _id: { $gte: start, $lt: `${start}:` },
    before: { $ne: null },
  })
  return change?.before?.ehrId
}
