/** Chooses at most one index for a query. The matcher checks every result again. */
import type { Document } from 'bson'
import type { SortPart } from '../../language/results/sort.ts'
import { isIndex, isNullish, isObject, toNumber } from '../../values/bson-values.ts'
import { type Collation, isEqual, typeOrder } from '../../values/compare.ts'
import { fail } from '../../values/errors.ts'
import { type Collection, spaceBounds } from '../collections/catalog.ts'
import { type Index, mayHoldArrays } from '../collections/indexes.ts'
import { boundsOf, type KeyBounds, MAX_UNCUT_BYTES, type Range } from './bounds.ts'
import {
  type ConditionsByField,
  collectConditions,
  countClauses,
  countConditions,
  type ElementConditions,
  excludesNull,
  hasText,
  type IndexCondition,
  impliesFilter,
} from './index-conditions.ts'

export interface Plan {
  /** Absent: a scan of the collection. */
  index?: Index
  bounds: KeyBounds[]
  /** Each range contains at most the key that is its lower bound. */
  exact?: boolean
  reverse: boolean
  /** The results come in the requested order. */
  ordered: boolean
  /** The ranges are merged: each is in the requested order. */
  merged?: boolean
  /** The bounds contain exactly the keys of the matching documents, except the bounds in `ambiguous`. */
  covered?: boolean
  /** The ranges contain all keys of some values of the index's first component. */
  leading?: boolean
  /** Bounds with ambiguous keys: null may also stand for a missing value. */
  ambiguous?: KeyBounds[]
  /** The alternatives of an `$or`, each with an index. A record found by several counts once. */
  branches?: Plan[]
}

export interface QueryShape {
  filter: Document
  sort: SortPart[]
  collation: Collation | undefined
  hint?: unknown
}

/** The maximum number of points: the values of $in, multiplied over the components. */
const MAX_POINTS = 10_000
/** The maximum number of ranges that are merged. */
export const MAX_MERGED_RANGES = 2_000

/** The properties of a collection that the planner uses. */
type IndexedCollection = Pick<Collection, 'indexes'>

export const choosePlan = (collection: IndexedCollection, shape: QueryShape): Plan => {
  const conditions = collectConditions(shape.filter)
  if (!isNullish(shape.hint) && !(isObject(shape.hint) && Object.keys(shape.hint).length === 0))
    return planByHint(collection, shape, conditions)
  let best: Candidate | undefined
  for (const index of collection.indexes) {
    const candidate = considerIndex(index, shape, conditions)
    if (candidate && (!best || candidate.score > best.score)) best = candidate
    // No other index leads to fewer documents.
    if (candidate?.isPoint) break
  }
  return best?.plan() ?? planAlternatives(collection, shape) ?? collectionScan(shape, false)
}

/** If one alternative has no index, a scan answers all of them. */
const planAlternatives = (
  collection: IndexedCollection,
  { filter, sort, collation }: QueryShape,
): Plan | undefined => {
  if (!Array.isArray(filter.$or)) return undefined
  const branches = filter.$or.map((branch: Document) =>
    choosePlan(collection, { filter: branch, sort: [], collation }),
  )
  if (!branches.every((branch) => branch.index ?? branch.branches)) return undefined
  return { bounds: [], reverse: false, ordered: sort.length === 0, branches }
}

const collectionScan = ({ sort }: QueryShape, reverse: boolean): Plan => ({
  bounds: [],
  reverse,
  ordered: sort.length === 0,
})

const planByHint = (
  collection: IndexedCollection,
  shape: QueryShape,
  conditions: ConditionsByField,
): Plan => {
  const { hint } = shape
  if (isObject(hint) && '$natural' in hint) return collectionScan(shape, toNumber(hint.$natural) < 0)
  const index =
    findHintedIndex(collection, hint) ?? fail(2, 'hint provided does not correspond to an existing index')
  const candidate = considerIndex(index, shape, conditions, true)
  return candidate ? candidate.plan() : fullScan(index, shape)
}

/** The indexes with that name or that key: indexes with different options can have the same key. */
const findIndexes = (collection: IndexedCollection, nameOrKey: unknown): Index[] =>
  collection.indexes.filter(({ name, spec }) =>
    typeof nameOrKey === 'string'
      ? name === nameOrKey
      : isObject(nameOrKey) && sameShape(spec.key, nameOrKey),
  )

/** The index with that name or that key that a command changes or drops; undefined if none exists. */
export const findOnlyIndex = (collection: IndexedCollection, nameOrKey: unknown): Index | undefined => {
  const indexes = findIndexes(collection, nameOrKey)
  if (indexes.length > 1) fail(181, 'several indexes have this key pattern: give the name of one')
  return indexes[0]
}

/** The index that a hint means, if queries may use it. */
export const findHintedIndex = (collection: IndexedCollection, hint: unknown): Index | undefined => {
  const hintedIndexes = findIndexes(collection, hint).filter(
    ({ ready, spec }) => ready && spec.hidden !== true,
  )
  if (hintedIndexes.length > 1) fail(27, 'Hint matched multiple indexes, must hint by index name')
  return hintedIndexes[0]
}

const sameShape = (a: Document, b: Document): boolean =>
  isEqual(Object.keys(a), Object.keys(b)) && isEqual(a, b)

const wholeSpace = ({ space }: Index): KeyBounds => {
  const [low, high] = spaceBounds(space)
  return { low, high, prefixLength: 0 }
}

const fullScan = (index: Index, shape: QueryShape): Plan => {
  const direction = sortDirection(index, { points: [[]], equalities: 0 }, shape)
  const ordered = shape.sort.length === 0 || direction !== undefined
  return { index, bounds: [wholeSpace(index)], reverse: direction === 'reverse', ordered }
}

interface Candidate {
  plan(): Plan
  score: number
  /** It leads to one document at most. */
  isPoint: boolean
}

const considerIndex = (
  index: Index,
  shape: QueryShape,
  conditions: ConditionsByField,
  isHinted = false,
): Candidate | undefined => {
  if (!index.ready || (index.spec.hidden === true && !isHinted)) return undefined
  if (!isHinted && !index.elements && !concernsField(index.fields[0], shape, conditions)) return undefined
  const partial = index.spec.partialFilterExpression
  if (!isHinted && partial && !impliesFilter(conditions, partial, shape.collation)) return undefined
  const fit = fitFields(index, shape, conditions)
  const holdsAll = index.sparse ? fit.excludesNull : true
  if (!isHinted && !holdsAll) return undefined
  const several = fit.points.length > 1
  const merges = several && shape.sort.length > 0 && fit.points.length <= MAX_MERGED_RANGES
  const direction = !several || merges ? sortDirection(index, fit, shape) : undefined
  const ordered = shape.sort.length === 0 || direction !== undefined
  if (fit.score === 0 && !isHinted && !(direction && shape.sort.length > 0)) return undefined
  const namesAll = index.unique && fit.points[0]?.length === index.fields.length
  const isPoint = namesAll && fit.equalities === index.fields.length
  const makePlan = (): Plan => {
    const bounds = boundsOf(index, fit)
    const exact = namesAll && bounds.every(({ low }) => low.length < MAX_UNCUT_BYTES)
    const covered = coversFilter(index, shape, conditions, fit)
    const nulls = covered ? fit.points.filter((row) => row.some(isNullish)) : []
    const ambiguous = boundsOf(index, { ...fit, points: nulls })
    const leading = fit.points[0]?.length === 1 && !fit.range
    const rest = { merged: merges && ordered, covered, leading, ambiguous }
    return { index, bounds, exact, reverse: direction === 'reverse', ordered, ...rest }
  }
  const sorts = direction && shape.sort.length > 0 ? 2 : 0
  const pointScore = namesAll ? (isPoint ? SINGLE_DOCUMENT_SCORE : scorePoints(fit.points.length)) : 0
  return { plan: makePlan, score: fit.score + pointScore + sorts, isPoint }
}

/** Whether a query has a condition on a field, or sorts by it first. */
const concernsField = (field = '', { sort }: QueryShape, conditions: ConditionsByField): boolean =>
  conditions.has(field) || sort[0]?.field === field

const SINGLE_DOCUMENT_SCORE = 100
/**
 * The score of a list that leads to at most `points` documents. The selectivity of other indexes is unknown.
 * By estimate, 10,000 points beat one equality, 1,000 beat two, and 60 beat three.
 */
const scorePoints = (points: number): number => 30 - 2 * Math.log2(points)

interface IndexFit {
  /** The values of the leading components, one row for each combination. */
  points: unknown[][]
  /** The number of leading components with one value. */
  equalities: number
  range: Range | undefined
  excludesNull: boolean
  score: number
}

const fitFields = (index: Index, { collation }: QueryShape, conditions: ConditionsByField): IndexFit => {
  const fit: IndexFit = { points: [[]], equalities: 0, range: undefined, excludesNull: false, score: 0 }
  const roots = new Set<string>()
  for (const [at, field] of index.fields.entries()) {
    const [root = '', ...parts] = field.split('.')
    const ofElement = elementConditions(index, at, conditions)
    // Different elements of an array, hence different keys, may meet conditions on its parts.
    if (parts.some(isIndex) || (!ofElement && roots.has(root))) break
    // No other component shares an array with one that holds none.
    if (mayHoldArrays(index, at)) roots.add(root)
    const fieldConditions = ofElement ?? conditions.get(field) ?? []
    const usable = fieldConditions.filter((condition) => isUsable(condition, index, collation))
    if (usable.some(excludesNull)) fit.excludesNull = true
    const choices = pointValues(usable)
    if (choices && choices.length * fit.points.length <= MAX_POINTS) {
      if (choices.length === 1 && fit.equalities === fit.points[0]?.length) fit.equalities++
      fit.points = fit.points.flatMap((row) => choices.map((value) => [...row, value]))
      fit.score += choices.length === 1 ? 8 : 6
      continue
    }
    fit.range = rangeOf(usable, ofElement ? index.uneven !== false : mayHoldArrays(index, at))
    if (fit.range) fit.score += fit.range.lower && fit.range.upper ? 5 : 4
    break
  }
  return fit
}

/** The conditions on a component that one and the same element of an array must meet; undefined: there are none. */
const elementConditions = (
  { elements }: Index,
  at: number,
  conditions: ConditionsByField,
): IndexCondition[] | undefined => {
  const part = elements?.parts[at]
  const element = conditions.get(elements?.root ?? '')?.find(({ operator }) => operator === 'fields')
  if (part === undefined || !element) return undefined
  return (element.operand as ElementConditions).conditions.get(part) ?? []
}

/** Whether the bounds alone decide: the filter has no other conditions, and keys can answer each of these. */
const coversFilter = (
  index: Index,
  { filter, collation }: QueryShape,
  conditions: ConditionsByField,
  fit: IndexFit,
): boolean => {
  const points = index.fields.slice(0, fit.points[0]?.length ?? 0)
  // Within a point each document has one key, provided that no other component may contain arrays.
  const single = index.fields.every((_, at) => (at === 0 && points.length > 0) || !mayHoldArrays(index, at))
  if (!single || index.cut || countConditions(conditions) !== countClauses(filter)) return false
  const last = fit.range && !fit.range.prefix ? index.fields[points.length] : undefined
  return [...conditions].every(
    ([field, list]) =>
      list.every((condition) => isPlain(condition) && isUsable(condition, index, collation)) &&
      (points.includes(field) ? list.length === 1 : field === last && isWholeRange(list, fit.range)),
  )
}

export const isPlain = ({ operator, operand }: IndexCondition): boolean =>
  (operator === '$in' ? (operand as unknown[]) : [operand]).every(
    (value) => [10, 15, 35, 40, 45].includes(typeOrder(value)) || isNullish(value),
  )

/** NaN sorts below all numbers in an index, but is not less than any. */
export const isWholeRange = (list: IndexCondition[], { lower, upper }: Range = {}): boolean =>
  list.length === (lower ? 1 : 0) + (upper ? 1 : 0) &&
  (lower !== undefined || typeOrder(upper?.operand) !== 10)

export const isUsable = (
  { operator, operand }: IndexCondition,
  index: Index,
  collation: Collation | undefined,
): boolean => {
  if (operator === '$exists' || operator === 'fields') return false
  if (operator === 'element') {
    const { lower, upper } = operand as Required<Range>
    return isUsable(lower, index, collation) && isUsable(upper, index, collation)
  }
  const values = operator === '$in' ? (operand as unknown[]) : [operand]
  if (values.some((value) => Array.isArray(value) || value === undefined)) return false
  const point = operator === '$eq' || operator === '$in'
  if (!point && [1, 5, 127].includes(typeOrder(operand))) return false
  if (!point && typeOrder(operand) === 10 && Number.isNaN(toNumber(operand))) return false
  const text = operator === 'prefix' || values.some(hasText)
  if (!text || (index.collation === undefined && collation === undefined)) return true
  // A prefix is compared without the collation; folded keys keep equality but not order.
  if (operator === 'prefix') return index.collation === undefined
  return point && index.collation === collation
}

export const pointValues = (conditions: IndexCondition[]): unknown[] | undefined => {
  const single = conditions.find(({ operator }) => operator === '$eq')
  if (single) return [single.operand]
  return conditions.find(({ operator }) => operator === '$in')?.operand as unknown[] | undefined
}

export const rangeOf = (conditions: IndexCondition[], inArrays: boolean): Range | undefined => {
  const element = conditions.find(({ operator }) => operator === 'element')
  if (element) return element.operand as Range
  const prefix = conditions.find(({ operator }) => operator === 'prefix')
  if (prefix) return { prefix: prefix.operand as string }
  const lower = conditions.find(({ operator }) => operator === '$gt' || operator === '$gte')
  const upper = conditions.find(({ operator }) => operator === '$lt' || operator === '$lte')
  if (!lower && !upper) return undefined
  // In an array, different elements may meet the two bounds, so only one bound narrows the scan.
  if (lower && upper && (inArrays || typeOrder(lower.operand) !== typeOrder(upper.operand))) return { lower }
  return { ...(lower && { lower }), ...(upper && { upper }) }
}

/** The direction in which the index returns the requested order within each point; undefined: it does not. */
const sortDirection = (
  index: Index,
  { points, equalities }: Pick<IndexFit, 'points' | 'equalities'>,
  { sort, collation }: QueryShape,
): 'forward' | 'reverse' | undefined => {
  if (sort.length === 0) return 'forward'
  if (index.cut || index.collation || collation) return undefined
  const isPlainAt = (component: number) => !mayHoldArrays(index, component)
  const fixedFields = new Set(
    index.fields.slice(0, equalities).filter((_, component) => isPlainAt(component)),
  )
  let at = points[0]?.length ?? 0
  let reverse: boolean | undefined
  for (const { field, descending } of sort) {
    if (fixedFields.has(field)) continue
    if (index.fields[at] !== field || !isPlainAt(at)) return undefined
    const isReversed = descending !== index.descending[at]
    if (reverse !== undefined && reverse !== isReversed) return undefined
    reverse = isReversed
    at++
  }
  return reverse ? 'reverse' : 'forward'
}
