/** `$match` and `$unwind` of an array by an index that has one key for each of its elements. */
import type { Document } from 'bson'
import type { DocumentTest } from '../../../language/filters/matcher.ts'
import { wholeFields } from '../../../language/results/projection.ts'
import {
  decode,
  encode,
  isNullish,
  isObject,
  rootFieldOf,
  setMember,
  toNumber,
} from '../../../values/bson-values.ts'
import { keepFields } from '../../../values/raw-documents.ts'
import { type CommandTimer, PAUSE, type Step } from '../../../values/steps.ts'
import type { Collection } from '../../collections/catalog.ts'
import type { Index } from '../../collections/indexes.ts'
import { elementOf } from '../../collections/keys/index-entries.ts'
import { idAtEnd, readRecord } from '../../collections/records.ts'
import type { View } from '../../disk/overlay.ts'
import { boundsOf, type Range } from '../bounds.ts'
import {
  type ConditionsByField,
  collectConditions,
  countClauses,
  countConditions,
  covers,
  type ElementConditions,
  type IndexCondition,
  rootFieldsOf,
} from '../index-conditions.ts'
import {
  findHintedIndex,
  isPlain,
  isUsable,
  isWholeRange,
  MAX_MERGED_RANGES,
  pointValues,
  rangeOf,
} from '../planner.ts'
import { entriesIn, type Ranges } from '../query.ts'

export interface UnwindPlan extends Ranges {
  index: Index
  root: string
  /** The keys decide alone; otherwise each document must pass the filter before `$unwind`. */
  certain: boolean
  /** The number of stages after the filter that the keys answer: `$unwind`, `$match`, and a `$sort` if there is one. */
  stages: number
}

interface QueryShape {
  filter: Document
  collation: unknown
  hint?: unknown
}

/**
 * Recognises `{$unwind: '$e'}, {$match: {'e.f': …}}, {$sort: {'e.g': 1}}` after a filter; the sort is optional.
 * @returns undefined if no index answers them
 */
export const planUnwind = (
  { indexes }: Pick<Collection, 'indexes'>,
  shape: QueryShape,
  [unwind, match, sort]: Document[],
): UnwindPlan | undefined => {
  const root = /^\$([^.$]+)$/.exec(String(unwind?.$unwind))?.[1]
  const matchFilter: unknown = match?.$match
  if (root === undefined || !isObject(matchFilter) || shape.collation) return undefined
  const conditions = collectConditions(matchFilter)
  if (countConditions(conditions) !== countClauses(matchFilter)) return undefined
  const candidates = isNullish(shape.hint) ? indexes : [findHintedIndex({ indexes }, shape.hint)]
  for (const index of candidates) {
    const fit =
      index && isSuited(index, root)
        ? fitElements(index, collectConditions(shape.filter), conditions)
        : undefined
    if (!index || !fit) continue
    const { points, range } = fit
    const isCertain = decides(fit, shape.filter, { root, conditions })
    const ranges = { index, root, bounds: boundsOf(index, { points, range }), certain: isCertain }
    const direction = orderOf(index, points, sort?.$sort)
    if (direction === undefined) return { ...ranges, reverse: false, stages: 2 }
    return { ...ranges, reverse: direction === 'reverse', merged: points.length > 1, stages: 3 }
  }
  return undefined
}

const isSuited = (
  { ready, spec, filter, sparse, unique, collation, cut, elements, uneven }: Index,
  root: string,
) =>
  ready &&
  spec.hidden !== true &&
  !(filter || sparse || unique || collation || cut) &&
  elements?.root === root &&
  uneven === false

interface Fit {
  points: unknown[][]
  range: Range | undefined
  /** The top-level fields whose conditions the points express. */
  expressedFields: Set<string>
}

/** Bounds that contain exactly the keys of the elements that meet the conditions; undefined: there are none. */
const fitElements = (
  index: Index,
  head: ConditionsByField,
  conditions: ConditionsByField,
): Fit | undefined => {
  const fit: Fit = { points: [[]], range: undefined, expressedFields: new Set() }
  let left = conditions.size
  let isValued = false
  for (const [at, field] of index.fields.entries()) {
    const isPart = index.elements?.components.has(at) === true
    const list = (isPart ? conditions : head).get(field) ?? []
    if (!list.every((one) => isPlain(one) && isUsable(one, index, undefined))) break
    const values = list.length === 1 ? pointValues(list) : undefined
    if (values && values.length * fit.points.length <= MAX_MERGED_RANGES) {
      fit.points = fit.points.flatMap((row) => values.map((value) => [...row, value]))
      if (isPart) isValued ||= !values.some(isNullish)
      else fit.expressedFields.add(field)
    } else {
      fit.range = isPart ? wholeRange(list) : undefined
      if (fit.range) left--
      break
    }
    if (isPart) left--
  }
  // A key without a value may belong to a document without elements.
  return left === 0 && (isValued || fit.range) ? fit : undefined
}

const wholeRange = (list: IndexCondition[]): Range | undefined => {
  const range = rangeOf(list, false)
  return range && isWholeRange(list, range) ? range : undefined
}

/** Whether every element within the bounds belongs to a document that passes the filter. */
const decides = (
  { expressedFields }: Fit,
  filter: Document,
  { root, conditions }: { root: string; conditions: ConditionsByField },
): boolean => {
  const head = collectConditions(filter)
  const isMet = (field: string, requirements: readonly IndexCondition[]): boolean =>
    requirements.every((required) =>
      (conditions.get(field) ?? []).some((condition) => covers(condition, required)),
    )
  const isMetByElement = ({ operator, operand }: IndexCondition): boolean => {
    if (operator !== 'fields') return false
    const { conditions: inner, isComplete } = operand as ElementConditions
    return isComplete && [...inner].every(([part, list]) => isMet(`${root}.${part}`, list))
  }
  return (
    countConditions(head) === countClauses(filter) &&
    [...head].every(([field, list]) =>
      field === root
        ? list.every(isMetByElement)
        : expressedFields.has(field)
          ? list.length === 1
          : field.startsWith(`${root}.`) && isMet(field, list),
    )
  )
}

/** The direction in which the keys of each point have the order of a sort by one field. */
const orderOf = (
  { fields, descending }: Index,
  points: readonly unknown[][],
  sort: unknown,
): 'forward' | 'reverse' | undefined => {
  const [by, ...others] = isObject(sort) ? Object.entries(sort) : []
  const at = points[0]?.length ?? 0
  if (!by || others.length > 0 || by[0] !== fields[at]) return undefined
  return Number(by[1]) < 0 === (descending[at] === true) ? 'forward' : 'reverse'
}

/** The fields that a `$project` drops before a stage, the filter, or a comparison with a key reads their values. */
export const findUnreadFields = (
  { index }: Pick<UnwindPlan, 'index'>,
  filter: Document,
  stages: readonly Document[],
): Buffer[] => {
  const first = stages.find((stage) => !('$skip' in stage || '$limit' in stage))
  const fields = wholeFields(first?.$project)
  const filterFields = rootFieldsOf(filter)
  if (!fields?.isExclusion || !filterFields) return []
  const read = new Set([...filterFields, ...index.fields.map(rootFieldOf)])
  return fields.names.filter((name) => !read.has(name)).map((name) => Buffer.from(name))
}

interface Reading {
  test: DocumentTest
  unread: readonly Buffer[]
  timer: CommandTimer
}

/** The end of a pipeline that chooses documents by their number, and drops whole fields. */
export interface UnwoundPage {
  skip: number
  limit: number
  droppedFields: Buffer[]
}

/** @returns undefined if the stages do more than `$skip`, `$limit` and `$project`, each of them at most once */
export const pageOf = (stages: readonly Document[]): UnwoundPage | undefined => {
  const names = stages.flatMap((stage) => Object.keys(stage)).join(' ')
  if (!/^(\$skip)? ?(\$limit)? ?(\$project)?$/.test(names)) return undefined
  const { $skip = 0, $limit = Number.POSITIVE_INFINITY, $project }: Document = Object.assign({}, ...stages)
  const fields = wholeFields($project)
  if ($project !== undefined && !fields?.isExclusion) return undefined
  const droppedFields = (fields?.names ?? []).map((name) => Buffer.from(name))
  return { skip: toNumber($skip), limit: toNumber($limit), droppedFields }
}

/**
 * The documents of a page, encoded, each with one element in the place of its array. Their other fields are copied. For
 * keys that decide alone.
 */
export function* readUnwoundPage(
  view: View,
  collection: Collection,
  { index, root, ...ranges }: UnwindPlan,
  { page: { droppedFields, ...page }, timer }: { page: UnwoundPage; timer: CommandTimer },
): Iterable<Step<Buffer>> {
  const name = Buffer.from(root)
  const indexedFields = [...new Set(index.fields.map(rootFieldOf))].map((field) => Buffer.from(field))
  let { skip, limit } = page
  for (const { key } of entriesIn(view, index, ranges)) {
    if (timer.isSliceOver()) yield PAUSE
    const id = idAtEnd(key)
    const bytes = readRecord(view, collection, id)
    if (!bytes || skip-- > 0) continue
    const element = elementOf(index, id, decode(keepFields(bytes, indexedFields)), key)
    if (element === undefined) continue
    yield keepFields(bytes, droppedFields, true, { name, fields: encode({ [root]: element }) })
    if (--limit === 0) return
  }
}

/** The documents without their unread fields, each with one element in the place of its array. */
export function* readUnwoundDocuments(
  view: View,
  collection: Collection,
  { index, root, certain, ...ranges }: UnwindPlan,
  { test, unread, timer }: Reading,
): Iterable<Step<Document>> {
  for (const { key } of entriesIn(view, index, ranges)) {
    if (timer.isSliceOver()) yield PAUSE
    const id = idAtEnd(key)
    const bytes = readRecord(view, collection, id)
    if (!bytes) continue
    const document = decode(unread.length > 0 ? keepFields(bytes, unread, true) : bytes)
    const element = elementOf(index, id, document, key)
    if (element === undefined || (!certain && !test(document))) continue
    setMember(document, root, element)
    yield document
  }
}
