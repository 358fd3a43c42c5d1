import type { Db } from 'mongodb'
import { ServiceError } from '../../../../schemas/errors.ts'
import { TYPED_IN } from '../../../measurements/compositions/held.ts'
import type { MeasurementKind } from '../../../measurements/measurement.ts'
import { type Caller, permitted } from '../../../store/documents/caller.ts'
import { documentsOf } from '../../../store/documents/database.ts'
import type { ParseDocument } from '../../../store/documents/parse-format.ts'
import { compositionOf, headOf } from '../../measured/composition-of.ts'
import type { Document } from '../evaluation/forest.ts'
import type { Filter } from '../filters.ts'
import { QUERY_MS } from '../pace.ts'
import type { Plan } from '../planner.ts'
import { versionsOf } from './versions.ts'

/** Measurements that are read at once. */
const BATCH = 200

interface Measured {
  db: Db
  caller: Caller
  plan: Plan
  kinds: readonly MeasurementKind[]
}

/** The measurements that a plan lets in, as compositions; one EHR after the other, one kind after the other. */
export async function* measured(
  { db, caller, plan, kinds }: Measured,
  ehrIds: readonly string[] | undefined,
): AsyncGenerator<{ ehrId: string; documents: Document[] }> {
  for (const kind of kinds) {
    const candidates = candidatesOf(plan, kind)
    if (candidates === false) continue
    const of = ehrIds && { ehrId: { $in: [...ehrIds] } }
    const parts = [of, candidates === true ? undefined : candidates, permitted('_rperm', caller)]
    // What a composition holds is read with that.
    const filter = { $and: [{ compositionId: null }, ...parts.filter((part) => part !== undefined)] }
    const found = documentsOf({ db }, kind.collection)
      .find(filter, { maxTimeMS: QUERY_MS, batchSize: BATCH })
      .hint(TYPED_IN)
      .sort({ ehrId: 1, timestamp: -1, _id: -1 })
    try {
      for await (const record of found)
        yield { ehrId: String(record.ehrId), documents: await documentsIn(db, plan, kind, record) }
    } finally {
      await found.close()
    }
  }
}

const candidatesOf = ({ candidates }: Plan, kind: MeasurementKind): Filter | boolean =>
  candidates === undefined || left(candidates, headOf(kind))

/** Whether measurements of a kind may matter. */
export const isLetIn = (plan: Plan, kind: MeasurementKind): boolean =>
  plan.compositions && candidatesOf(plan, kind) !== false

/** Measurements that are held at once when EHRs are looked at as a whole. */
const MOST_HELD = 20_000

/** Those of some EHRs. @throws DeadlineExceeded when they are more than can be looked at together */
export async function measuredByEhr(...args: Parameters<typeof measured>): Promise<Map<string, Document[]>> {
  const held = new Map<string, Document[]>()
  let count = 0
  for await (const { ehrId, documents } of measured(...args)) {
    count += documents.length
    if (count > MOST_HELD)
      throw new ServiceError('DeadlineExceeded', {
        detail:
          'There are more measurements than can be combined with each other: name their archetypes in FROM.',
      })
    const known = held.get(ehrId)
    if (known) known.push(...documents)
    else held.set(ehrId, documents)
  }
  return held
}

async function documentsIn(
  db: Db,
  { versions, audited }: Plan,
  kind: MeasurementKind,
  now: ParseDocument,
): Promise<Document[]> {
  const { collection } = kind
  const of = (version: ParseDocument) => compositionOf(kind, version)
  if (audited) return versionsOf(db, { collection, ehrId: String(now.ehrId), now }, versions, of)
  return [{ record: now._id, object: of(now), latest: true }]
}

/**
 * What of a filter is still to be asked of the single record, when what is alike in all of a kind is known.
 * @returns true: nothing; false: none of the kind fits
 */
function left(filter: Filter, known: Readonly<Record<string, string | readonly string[]>>): Filter | boolean {
  const parts = Object.entries(filter).map(([name, condition]): Filter | boolean => {
    if (name === '$and') return every((condition as Filter[]).map((one) => left(one, known)))
    if (name === '$or') return some((condition as Filter[]).map((one) => left(one, known)))
    const values = known[name]
    if (values === undefined) return { [name]: condition }
    const wanted = typeof condition === 'string' ? [condition] : (condition as { $in: string[] }).$in
    return wanted.some((one) => [values].flat().includes(one))
  })
  return every(parts)
}

function every(parts: (Filter | boolean)[]): Filter | boolean {
  if (parts.includes(false)) return false
  const filters = parts.filter((part) => typeof part === 'object')
  return filters.length === 0 || (filters.length === 1 ? (filters[0] as Filter) : { $and: filters })
}

function some(parts: (Filter | boolean)[]): Filter | boolean {
  if (parts.includes(true)) return true
  const filters = parts.filter((part) => typeof part === 'object')
  return filters.length > 0 && (filters.length === 1 ? (filters[0] as Filter) : { $or: filters })
}
