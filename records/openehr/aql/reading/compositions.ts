import type { Db } from 'mongodb'
import { ServiceError } from '../../../../schemas/errors.ts'
import { type Caller, permitted } from '../../../store/documents/caller.ts'
import { documentsOf } from '../../../store/documents/database.ts'
import type { ParseDocument } from '../../../store/documents/parse-format.ts'
import { ARCHETYPES_INDEX, Composition, FACTS_INDEX } from '../../composition-record.ts'
import { objectOf } from '../../compositions/compositions.ts'
import type { RmObject } from '../../rm/canonical.ts'
import type { Document } from '../evaluation/forest.ts'
import type { Filter } from '../filters.ts'
import { QUERY_MS } from '../pace.ts'
import type { Plan } from '../planner.ts'
import { versionsOf } from './versions.ts'

/** How compositions are found: by which index, and what must be true of them. */
export interface Search {
  index: '_id' | 'list_ofEhr' | typeof ARCHETYPES_INDEX | typeof FACTS_INDEX
  filter: Filter
}

/** What the evaluation does not look at. */
const UNSEEN = { _rperm: 0, _wperm: 0, _acl: 0, facts: 0 }

/** So many have more compositions than there are with a fact, mostly. */
const MANY_EHRS = 100

/** Compositions that are read at once; each may have 4 MB. */
const BATCH = 50

/** @param ehrIds the EHRs that they may be of; undefined: of any */
export function searchOf(
  { candidates, facts }: Plan,
  caller: Caller,
  ehrIds: readonly string[] | undefined,
): Search {
  const of = ehrIds && { ehrId: ehrIds.length === 1 ? ehrIds[0] : { $in: [...ehrIds] } }
  const parts = [of, candidates, facts, permitted('_rperm', caller)].filter(
    (filter): filter is Filter => filter !== undefined && Object.keys(filter).length > 0,
  )
  const filter = parts.length > 1 ? { $and: parts } : (parts[0] ?? {})
  if (demands(candidates, '_id')) return { index: '_id', filter }
  if (demands(facts, 'facts') && (ehrIds?.length ?? MANY_EHRS) >= MANY_EHRS)
    return { index: FACTS_INDEX, filter }
  return { index: demands(candidates, 'archetypes') ? ARCHETYPES_INDEX : 'list_ofEhr', filter }
}

/** Whether nothing fits a filter that does not have one of some values in a field. */
function demands(filter: Filter | undefined, field: string): boolean {
  if (filter === undefined) return false
  if (field in filter) return true
  return ((filter.$and as Filter[] | undefined) ?? []).some((one) => demands(one, field))
}

/** The records of the compositions: by their facts, else one EHR after the other, in each the newest first. */
export async function* records(db: Db, { index, filter }: Search): AsyncGenerator<ParseDocument[]> {
  const options = { maxTimeMS: QUERY_MS, batchSize: BATCH, projection: UNSEEN }
  const found = documentsOf({ db }, Composition.collection).find(filter, options)
  const cursor =
    index === FACTS_INDEX
      ? found.hint(index)
      : (index === '_id' ? found : found.hint(index)).sort({ ehrId: 1, _created_at: -1, _id: -1 })
  let batch: ParseDocument[] = []
  try {
    for await (const one of cursor) {
      if (batch.push(one) < BATCH) continue
      yield batch
      batch = []
    }
    if (batch.length > 0) yield batch
  } finally {
    await cursor.close()
  }
}

/** Compositions that are counted at most. */
const MOST_COUNTED = 100_000

export function countOf(db: Db, { index, filter }: Search): Promise<number> {
  const hint = index === '_id' ? {} : { hint: index }
  const options = { maxTimeMS: QUERY_MS, limit: MOST_COUNTED, ...hint }
  return documentsOf({ db }, Composition.collection).countDocuments(filter, options)
}

const objectIn = ({ _id: id, version, json }: ParseDocument): RmObject | undefined =>
  objectOf({ id, version, json: json as string })

/** What of a record is asked for: its latest version, or all. */
export function documentsIn(
  db: Db,
  { versions, audited }: Plan,
  record: ParseDocument,
): Document[] | Promise<Document[]> {
  const { collection } = Composition
  if (audited)
    return versionsOf(db, { collection, ehrId: String(record.ehrId), now: record }, versions, objectIn)
  const object = objectIn(record)
  return object ? [{ record: record._id, object, latest: true }] : []
}

/** What is held of one EHR at once, as the length of its compositions' text. */
const MOST_OF_AN_EHR = 32 * 1024 * 1024

/** @throws DeadlineExceeded when the compositions of one EHR are more than can be looked at together */
export function requireRoom(held: readonly ParseDocument[]): void {
  const size = held.reduce((sum, { json }) => sum + String(json ?? '').length, 0)
  if (size > MOST_OF_AN_EHR)
    throw new ServiceError('DeadlineExceeded', {
      detail:
        'An EHR has more compositions than can be combined with each other: name their archetypes in FROM.',
    })
}
