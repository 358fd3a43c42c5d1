import type { Db } from 'mongodb'
import type { CompositionView, ViewIndex } from '../../../composition-views/composition-view.ts'
import { allOf, type DatabaseFilter } from '../../plan/database-filters.ts'
import type { QueryOrder } from '../../plan/planner.ts'
import { isTimeField, toDateRange, type ViewSearch } from '../../scan/view-scan.ts'
import { ExampleEvaluation } from '../examples.ts'
import { placeInView } from '../view-places.ts'
import { FieldOrderStream, MAX_TIME_MS, type OrderedStream } from './ordered-streams.ts'

const ALL_NUMBERS = { $gte: -Number.MAX_VALUE }
const ALL_TIMES = { $gte: -MAX_TIME_MS }

interface ViewOrder {
  db: Db
  order: QueryOrder
  search: ViewSearch
  /** Whether only some EHRs are searched. */
  isOfEhrs: boolean
  neededCount: number
}

/** The records of a view in the order of a place, and those in which it is empty. */
export function openViewStreams({ db, order, search, isOfEhrs, neededCount }: ViewOrder): OrderedStream[] {
  const { view, filter, index } = search
  const { descending, range, isRequired } = order
  const streamOptions = {
    collection: view.kind.collection,
    filter,
    hint: index.key,
    field: undefined,
    descending,
    neededCount,
  }
  const { field, isDecided } = placeInView(view, order, new ExampleEvaluation(order.node, order.path))
  const empty = (filter: DatabaseFilter) =>
    new FieldOrderStream(db, { ...streamOptions, filter, isEmpty: true })
  if (isDecided && field === undefined) return isRequired ? [] : [empty(filter)]
  const ordering = field === undefined ? undefined : orderedIndex(view, field, isOfEhrs)
  if (!isDecided || field === undefined || ordering === undefined)
    return [new FieldOrderStream(db, { ...streamOptions, isEmpty: false })]
  const isTime = isTimeField(view, field)
  const valueRange = isTime ? toDateRange({ ...ALL_TIMES, ...range }) : { ...ALL_NUMBERS, ...range }
  const orderedOptions = {
    ...streamOptions,
    filter: allOf([filter, { [field]: valueRange }]) as DatabaseFilter,
    field,
  }
  const valueStream = new FieldOrderStream(db, { ...orderedOptions, hint: ordering.key, isEmpty: false })
  if (isRequired || isTime) return [valueStream]
  return [valueStream, empty(allOf([filter, { [field]: null }]) as DatabaseFilter)]
}

/** The index in whose order a field comes. An engine merges the records of several EHRs in their common order. */
function orderedIndex(view: CompositionView, field: string, isOfEhrs: boolean): ViewIndex | undefined {
  if (!isOfEhrs) return view.indexOf(field)
  return field === view.startField ? view.ehrIndex : undefined
}
