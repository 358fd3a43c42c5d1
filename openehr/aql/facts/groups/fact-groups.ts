import type { Db } from 'mongodb'
import { COMPOSITION_INDEX_KEYS, Composition } from '../../../../records/compositions/composition-record.ts'
import { documentCollection } from '../../../../records/store/documents/database.ts'
import { shortKey, structurePlace } from '../../../compositions/facts.ts'
import { allOf, type DatabaseFilter } from '../../plan/database-filters.ts'
import type { ExactRange, FactGrouping } from '../../plan/fact-grouping.ts'
import { AQL_TIMEOUT_MS } from '../../timeout.ts'

/** The values of a place in one EHR, or in all. */
export interface ValueGroup {
  /** Undefined: all EHRs. */
  ehrId: string | undefined
  /** The number of values. */
  count: number
  sum: number
  least: number
  most: number
  /** The number of rows without a value. */
  empty: number
}

/** Values and rows of a collection, as the database adds them up. */
interface CountedValues {
  _id: string | null
  count: number
  sum?: number
  least?: number
  most?: number
}

export const createValueGroup = (ehrId?: string): ValueGroup => ({
  ehrId,
  count: 0,
  sum: 0,
  least: Number.POSITIVE_INFINITY,
  most: Number.NEGATIVE_INFINITY,
  empty: 0,
})

/** Adds values to those of a group. */
export function addValuesTo(
  group: ValueGroup,
  { count, sum = 0, least = 0, most = 0 }: Omit<CountedValues, '_id'>,
): void {
  group.count += count
  group.sum += sum
  group.least = Math.min(group.least, least)
  group.most = Math.max(group.most, most)
}

/** Adds up groups of the same EHR from several collections. */
export class ValueGroups {
  readonly #groups = new Map<string | undefined, ValueGroup>()

  addValues({ _id, ...values }: CountedValues): void {
    addValuesTo(this.#groupOf(_id), values)
  }

  addEmpty({ _id, count }: CountedValues): void {
    this.#groupOf(_id).empty += count
  }

  #groupOf(id: string | null): ValueGroup {
    const ehrId = id ?? undefined
    const existingGroup = this.#groups.get(ehrId)
    if (existingGroup) return existingGroup
    const group = createValueGroup(ehrId)
    this.#groups.set(ehrId, group)
    return group
  }

  all(): ValueGroup[] {
    return [...this.#groups.values()]
  }
}

const accumulatorsOf = (field: string) => ({
  count: { $sum: 1 },
  sum: { $sum: `$${field}` },
  least: { $min: `$${field}` },
  most: { $max: `$${field}` },
})

export interface GroupedCollection {
  db: Db
  collection: string
  filter: DatabaseFilter
  /** Whether each EHR is a group. */
  byEhr: boolean
  hint: Readonly<Record<string, 1 | -1>>
}

const runGroups = (
  { db, collection, hint }: GroupedCollection,
  pipeline: object[],
): Promise<CountedValues[]> =>
  documentCollection({ db }, collection)
    .aggregate<CountedValues>(pipeline, { maxTimeMS: AQL_TIMEOUT_MS, hint, batchSize: 10_000 })
    .toArray()

/** The groups of the facts at a place. */
export function groupFacts(
  source: Omit<GroupedCollection, 'collection' | 'hint'>,
  { place, range }: Pick<FactGrouping, 'place' | 'range'>,
  isOfEhrs: boolean,
): Promise<CountedValues[]> {
  const v = Object.keys(range).length > 0 ? range : undefined
  const values = unwindFacts(source, shortKey(place?.place ?? ''), v)
  const _id = source.byEhr ? '$ehrId' : null
  return runGroups(inCompositions(source, isOfEhrs), [
    ...values,
    { $group: { _id, ...accumulatorsOf('facts.v') } },
  ])
}

/** The numbers of an archetype's occurrences with one of these structures; undefined: with any. */
export function countOccurrences(
  source: Omit<GroupedCollection, 'collection' | 'hint'>,
  archetypeId: string,
  structures: readonly string[] | undefined,
  isOfEhrs: boolean,
): Promise<CountedValues[]> {
  const v = structures && { $in: [...structures] }
  const occurrences = unwindFacts(source, shortKey(structurePlace(archetypeId)), v)
  const _id = source.byEhr ? '$ehrId' : null
  return runGroups(inCompositions(source, isOfEhrs), [
    ...occurrences,
    { $group: { _id, count: { $sum: 1 } } },
  ])
}

const inCompositions = (
  source: Omit<GroupedCollection, 'collection' | 'hint'>,
  isOfEhrs: boolean,
): GroupedCollection => ({
  ...source,
  collection: Composition.collection,
  hint: isOfEhrs ? COMPOSITION_INDEX_KEYS.archetypes : COMPOSITION_INDEX_KEYS.facts,
})

const unwindFacts = ({ filter }: { filter: DatabaseFilter }, k: string, v: object | undefined): object[] => [
  { $match: { $and: [filter, { facts: { $elemMatch: { k, ...(v && { v }) } } }] } },
  { $unwind: '$facts' },
  { $match: { 'facts.k': k, ...(v && { 'facts.v': v }) } },
]

/** The groups of a field's values. */
export const groupField = (
  source: GroupedCollection,
  field: string,
  range: ExactRange,
): Promise<CountedValues[]> => {
  const hasValue = { [field]: Object.keys(range).length > 0 ? range : { $gte: -Number.MAX_VALUE } }
  const _id = source.byEhr ? '$ehrId' : null
  return runGroups(source, [
    { $match: allOf([source.filter, hasValue]) ?? {} },
    { $group: { _id, ...accumulatorsOf(field) } },
  ])
}

/** The numbers of records; with a field, of those that lack it. */
export const countEmptyRecords = (
  source: GroupedCollection,
  field: string | undefined,
): Promise<CountedValues[]> =>
  runGroups(source, [
    { $match: allOf([source.filter, field === undefined ? undefined : { [field]: null }]) ?? {} },
    { $group: { _id: source.byEhr ? '$ehrId' : null, count: { $sum: 1 } } },
  ])
