import type { Db } from 'mongodb'
import {
  MANUALLY_ENTERED_AT_INDEX,
  MANUALLY_ENTERED_INDEX,
  manuallyEnteredIndexNameOf,
} from '../../../../records/measurements/compositions/composition-membership.ts'
import type { QueryTree } from '../../language/ast.ts'
import { allOf, type DatabaseFilter } from '../../plan/database-filters.ts'
import type { QueryOrder } from '../../plan/planner.ts'
import { type MeasurementSearch, TIME_FIELD, toDateRange } from '../../scan/measurement-scan.ts'
import { ExampleEvaluation } from '../examples.ts'
import { placeInMeasurement } from '../measurement-places.ts'
import { FieldOrderStream, MAX_TIME_MS, type OrderedStream } from './ordered-streams.ts'

const ALL_NUMBERS = { $gte: -Number.MAX_VALUE }
const ALL_TIMES = { $gte: -MAX_TIME_MS }

interface MeasurementOrder {
  db: Db
  query: QueryTree
  order: QueryOrder
  search: MeasurementSearch
  isOneEhr: boolean
  wanted: number
}

/** The measurements of a kind in the order of a place, and those in which it is empty. */
export function openMeasurementStreams(about: MeasurementOrder): OrderedStream[] {
  const { db, query, order, search, isOneEhr, wanted } = about
  const { kind, filter, index } = search
  const { collection } = kind
  const { descending, range, isRequired } = order
  const unordered = { collection, filter, field: undefined, descending: false, hint: index, wanted }
  const { field, isDecided } = placeInMeasurement(
    kind,
    order,
    new ExampleEvaluation(query, order.node, order),
  )
  const ordering = field === undefined ? undefined : orderedIndex(field, isOneEhr)
  if (!isDecided || (field !== undefined && ordering === undefined))
    return [new FieldOrderStream(db, unordered)]
  if (field === undefined || ordering === undefined)
    return isRequired ? [] : [new FieldOrderStream(db, unordered)]
  const some = field === TIME_FIELD ? toDateRange({ ...ALL_TIMES, ...range }) : { ...ALL_NUMBERS, ...range }
  const ordered = {
    ...unordered,
    filter: allOf([filter, { [field]: some }]) as DatabaseFilter,
    field,
    descending,
  }
  const valued = new FieldOrderStream(db, { ...ordered, hint: ordering })
  if (isRequired || field === TIME_FIELD) return [valued]
  const empty = { ...unordered, filter: allOf([filter, { [field]: null }]) as DatabaseFilter }
  return [valued, new FieldOrderStream(db, empty)]
}

/** The index in whose order a field comes. */
function orderedIndex(field: string, isOneEhr: boolean): string | undefined {
  if (field === TIME_FIELD) return isOneEhr ? MANUALLY_ENTERED_INDEX : MANUALLY_ENTERED_AT_INDEX
  return isOneEhr ? undefined : manuallyEnteredIndexNameOf(field)
}
