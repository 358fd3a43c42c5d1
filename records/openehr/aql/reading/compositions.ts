import type { Db } from 'mongodb'
import { ServiceError } from '../../../../schemas/errors.ts'
import { type Caller, permitted } from '../../../store/documents/caller.ts'
import { documentsOf } from '../../../store/documents/database.ts'
import type { ParseDocument } from '../../../store/documents/parse-format.ts'
import { ARCHETYPES_INDEX, Composition, FACTS_INDEX, START_INDEX } from '../../composition-record.ts'
import { objectOf } from '../../compositions/compositions.ts'
import { factsOfRange, type Range } from '../../compositions/facts.ts'
import type { RmObject } from '../../rm/canonical.ts'
import { START } from '../fact-filter.ts'
import { demands, type Filter, retold } from '../filters.ts'
import { QUERY_MS } from '../pace.ts'
import type { Plan } from '../planner.ts'
import { type Found, foundIn } from './versions.ts'

/** How compositions are found: by which index, and what must be true of them. */
export interface Search {
  index: '_id' | 'list_ofEhr' | typeof ARCHETYPES_INDEX | typeof FACTS_INDEX | typeof START_INDEX
  filter: Filter
}

/** What the evaluation does not look at. */
const UNSEEN = { _rperm: 0, _wperm: 0, _acl: 0, facts: 0 }

/** So many have more compositions than there are with a fact, mostly. */
const MANY_EHRS = 100

/** Whether EHRs are so many that what they have of a value is found by that rather than by them. */
export const areMany = (ehrIds: readonly string[] | undefined): boolean =>
  (ehrIds?.length ?? MANY_EHRS) >= MANY_EHRS

/** Compositions that are read at once; each may have 4 MB. */
const BATCH = 50

/** @param ehrIds the EHRs that they may be of; undefined: of any */
export function searchOf(
  { candidates, facts }: Plan,
  caller: Caller,
  ehrIds: readonly string[] | undefined,
): Search {
  const of = ehrIds && { ehrId: ehrIds.length === 1 ? ehrIds[0] : { $in: [...ehrIds] } }
  const told = facts && (retold(facts, kept) as Filter)
  const parts = [of, candidates, told, permitted('_rperm', caller)].filter(
    (filter): filter is Filter => filter !== undefined && Object.keys(filter).length > 0,
  )
  const filter = parts.length > 1 ? { $and: parts } : (parts[0] ?? {})
  if (demands(candidates, '_id')) return { index: '_id', filter }
  if (demands(told, 'facts') && areMany(ehrIds)) return { index: FACTS_INDEX, filter }
  if (demands(told, 'start') && areMany(ehrIds)) return { index: START_INDEX, filter }
  return { index: demands(candidates, 'archetypes') ? ARCHETYPES_INDEX : 'list_ofEhr', filter }
}

/** What facts are asked for, as they are kept. */
const kept = (place: string, range: unknown): Filter =>
  place === START ? { start: range } : { facts: factsOfRange(place, range as Range) }

/** The records of the compositions: by their facts or their start, else one EHR after the other, in each the newest first. */
export async function* records(db: Db, { index, filter }: Search): AsyncGenerator<ParseDocument[]> {
  const options = { maxTimeMS: QUERY_MS, batchSize: BATCH, projection: UNSEEN }
  const found = documentsOf({ db }, Composition.collection).find(filter, options)
  const cursor =
    index === FACTS_INDEX || index === START_INDEX
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
export const MOST_COUNTED = 100_000

export function countOf(db: Db, { index, filter }: Search): Promise<number> {
  const hint = index === '_id' ? {} : { hint: index }
  const options = { maxTimeMS: QUERY_MS, limit: MOST_COUNTED, ...hint }
  return documentsOf({ db }, Composition.collection).countDocuments(filter, options)
}

const objectIn = ({ _id: id, version, json }: ParseDocument): RmObject | undefined =>
  objectOf({ id, version, json: json as string })

/** What of records is asked for. */
export const compositionsIn = (db: Db, plan: Plan, of: readonly ParseDocument[]): AsyncGenerator<Found[]> =>
  foundIn(db, plan, { collection: Composition.collection, of, objectOf: objectIn })

export async function* compositions(db: Db, plan: Plan, search: Search): AsyncGenerator<Found[]> {
  for await (const batch of records(db, search)) yield* compositionsIn(db, plan, batch)
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
