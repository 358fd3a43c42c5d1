import type { Db } from 'mongodb'
import { ServiceError } from '../../../../schemas/errors.ts'
import { TYPED_IN, TYPED_IN_AT, typedInBy } from '../../../measurements/compositions/held.ts'
import type { MeasurementKind } from '../../../measurements/measurement.ts'
import { type Caller, permitted } from '../../../store/documents/caller.ts'
import { documentsOf } from '../../../store/documents/database.ts'
import type { ParseDocument } from '../../../store/documents/parse-format.ts'
import { placeOf, type Range } from '../../compositions/facts.ts'
import { compositionOf, headOf } from '../../measured/composition-of.ts'
import { shapeOf } from '../../measured/shapes.ts'
import type { Document } from '../evaluation/forest.ts'
import { START } from '../fact-filter.ts'
import { demands, type Filter, retold } from '../filters.ts'
import { QUERY_MS } from '../pace.ts'
import type { Plan } from '../planner.ts'
import { areMany, MOST_COUNTED } from './compositions.ts'
import { type Found, foundIn } from './versions.ts'

/** Measurements that are read at once. */
const BATCH = 200

interface Measured {
  db: Db
  caller: Caller
  plan: Plan
  kinds: readonly MeasurementKind[]
}

/** How the measurements of a kind are found that a plan lets in: by which index, and what must be true of them. */
export interface MeasuredSearch {
  kind: MeasurementKind
  index: string
  filter: Filter
}

type Ids = readonly string[] | undefined

/** Those of the kinds of which any may matter. */
export const searchesOf = ({ caller, plan, kinds }: Omit<Measured, 'db'>, ehrIds: Ids): MeasuredSearch[] =>
  kinds.flatMap((kind) => {
    const candidates = plan.compositions && candidatesOf(plan, kind)
    if (candidates === false) return []
    const of = ehrIds && { ehrId: { $in: [...ehrIds] } }
    const parts = [of, candidates === true ? undefined : candidates, permitted('_rperm', caller)]
    // What a composition holds is read with that.
    const filter = { $and: [{ compositionId: null }, ...parts.filter((part) => part !== undefined)] }
    return [{ kind, filter, index: areMany(ehrIds) ? indexOf(kind, filter) : TYPED_IN }]
  })

function indexOf({ series }: MeasurementKind, filter: Filter): string {
  const value = Object.values(series).find(({ field }) => demands(filter, field))
  if (value) return typedInBy(value.field)
  return demands(filter, TIME) ? TYPED_IN_AT : TYPED_IN
}

/** The field of the time at which a measurement was taken. */
const TIME = 'timestamp'

/** Which field of a record stands where in the composition that `compositionOf` makes of it. */
function fieldsOf(kind: MeasurementKind): Readonly<Record<string, string>> {
  const { archetype, items } = shapeOf(kind)
  const values = Object.values(kind.series).map(({ field }, i) => [
    placeOf(archetype, 'data/events/data/items', items[i]),
    field,
  ])
  return { ...Object.fromEntries(values), [placeOf(archetype, 'data/events/time')]: TIME, [START]: TIME }
}

/** What a plan says of compositions as it is said of the records of a kind. */
function candidatesOf({ candidates = {}, facts = {} }: Plan, kind: MeasurementKind): Filter | boolean {
  const known: Readonly<Record<string, string | readonly string[]>> = headOf(kind)
  const fields = fieldsOf(kind)
  return retold({ $and: [candidates, facts] }, (name, condition) => {
    const [field, values] = [fields[name], known[name]]
    if (field === TIME) return { [TIME]: datesOf(condition as Range) }
    if (field !== undefined) return { [field]: condition }
    if (values === undefined) return isRecordField(name) && { [name]: condition }
    const wanted = typeof condition === 'string' ? [condition] : (condition as { $in: string[] }).$in
    return wanted.some((one) => [values].flat().includes(one))
  })
}

/** What is said of another place than those of the kind is true of nothing in it. */
const isRecordField = (name: string): boolean => name === '_id' || name === 'ehrId'

const datesOf = (range: Range) =>
  Object.fromEntries(Object.entries(range).map(([end, at]: [string, number]) => [end, new Date(at)]))

const foundBy = (db: Db, { kind, filter, index }: MeasuredSearch) => {
  const found = documentsOf({ db }, kind.collection)
    .find(filter, { maxTimeMS: QUERY_MS, batchSize: BATCH })
    .hint(index)
  return index === TYPED_IN ? found.sort({ ehrId: 1, timestamp: -1, _id: -1 }) : found
}

export const countOfSearch = (db: Db, { kind, filter, index }: MeasuredSearch): Promise<number> =>
  documentsOf({ db }, kind.collection).countDocuments(filter, {
    ...{ maxTimeMS: QUERY_MS, limit: MOST_COUNTED, hint: index },
  })

/** The measurements that a plan lets in, as compositions, one kind after the other: by a value or their time, else one EHR after the other. */
export async function* measured(reading: Measured, ehrIds: Ids): AsyncGenerator<Found[]> {
  const { db, plan } = reading
  for (const search of searchesOf(reading, ehrIds)) {
    const found = foundBy(db, search)
    const { kind } = search
    const objectOf = (version: ParseDocument) => compositionOf(kind, version)
    let of: ParseDocument[] = []
    try {
      for await (const record of found) {
        if (of.push(record) < BATCH) continue
        yield* foundIn(db, plan, { collection: kind.collection, of, objectOf })
        of = []
      }
      yield* foundIn(db, plan, { collection: kind.collection, of, objectOf })
    } finally {
      await found.close()
    }
  }
}

/** Measurements that are held at once when EHRs are looked at as a whole. */
const MOST_HELD = 20_000

/** Those of some EHRs. @throws DeadlineExceeded when they are more than can be looked at together */
export async function measuredByEhr(...args: Parameters<typeof measured>): Promise<Map<string, Document[]>> {
  const held = new Map<string, Document[]>()
  let count = 0
  for await (const batch of measured(...args))
    for (const one of batch) {
      const documents = one.documents()
      count += documents.length
      if (count > MOST_HELD)
        throw new ServiceError('DeadlineExceeded', {
          detail:
            'There are more measurements than can be combined with each other: name their archetypes in FROM.',
        })
      const known = held.get(one.ehrId)
      if (known) known.push(...documents)
      else held.set(one.ehrId, documents)
    }
  return held
}
