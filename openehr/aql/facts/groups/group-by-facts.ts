import { permissionFilter } from '../../../../records/store/documents/caller.ts'
import type { RmObject } from '../../../rm/canonical-json.ts'
import type { QueryTree } from '../../language/ast.ts'
import { allOf } from '../../plan/database-filters.ts'
import type { FactGrouping } from '../../plan/fact-grouping.ts'
import type { ScanOptions } from '../../scan/ehr-tree-scan.ts'
import { planViewSearches, type ViewSearch } from '../../scan/view-scan.ts'
import { ExampleEvaluation, factValuesOf } from '../examples.ts'
import type { KnownStructures, Structures } from '../structures.ts'
import { placeInView } from '../view-places.ts'
import {
  countEmptyRecords,
  countOccurrences,
  type GroupedCollection,
  groupFacts,
  groupField,
  type ValueGroup,
  ValueGroups,
} from './fact-groups.ts'

interface GroupingInput {
  reading: ScanOptions
  query: QueryTree
  grouping: FactGrouping
  structures: KnownStructures
}

/**
 * Groups the values of a place in the database, by the facts of compositions and the fields of views.
 * @returns undefined if the facts do not decide about all rows
 */
export async function groupByFacts(input: GroupingInput): Promise<ValueGroup[] | undefined> {
  const { reading, grouping, structures } = input
  const { db, caller, ehrs } = reading
  const ids = await ehrs.ids()
  const withheldIds = await ehrs.withheldIds()
  if (ids?.length === 0) return []
  const archetypeStructures = grouping.place && (await structures.findStructures(grouping.archetypeId))
  const rows = grouping.place
    ? archetypeStructures && rowsOfStructures(input, archetypeStructures)
    : EVERY_OCCURRENCE
  if (!rows) return undefined
  const filter = allOf([
    ids && { ehrId: { $in: [...ids] }, archetypes: grouping.archetypeId },
    permissionFilter('_rperm', caller),
  ])
  const byEhr =
    withheldIds.size > 0 || grouping.columns.some(({ kind }) => kind !== 'values' && kind !== 'rows')
  const groups = new ValueGroups()
  const compositions = { db, filter: filter ?? {}, byEhr }
  const [, ...viewResults] = await Promise.all([
    groupCompositions(compositions, grouping, { rows, isOfEhrs: ids !== undefined, groups }),
    ...planViewSearches(reading, ids).map((search) => groupView(input, search, byEhr, groups)),
  ])
  if (viewResults.includes(false)) return undefined
  return groups.all().filter(({ ehrId }) => ehrId === undefined || !withheldIds.has(ehrId))
}

/** The structures whose occurrences make a row without a value; undefined: all of them. */
interface EmptyRows {
  empty: string[] | undefined
}

const EVERY_OCCURRENCE: EmptyRows = { empty: undefined }

/** Whether rows without a value count, or show that an EHR has rows. */
const needsEmptyRows = ({ range, columns }: FactGrouping): boolean =>
  Object.keys(range).length === 0 && columns.some(({ kind }) => kind !== 'values')

/** @returns undefined if the facts of some structure are not exactly the rows of the query */
function rowsOfStructures({ query, grouping }: GroupingInput, structures: Structures): EmptyRows | undefined {
  const { node, place, archetypeId } = grouping
  const examples = place && new ExampleEvaluation(node, place.path, query)
  if (!examples?.isDecided) return undefined
  const empty: string[] = []
  for (const [key, example] of structures) {
    const rows = examples.keysOf(example)
    const values = rows.filter((value) => value !== undefined).sort()
    const facts = factValuesOf(example, place?.place ?? '')
    if (isNestedIn(example, archetypeId) || JSON.stringify(values) !== JSON.stringify(facts)) return undefined
    if (values.length === 0 && rows.length === 1) empty.push(key)
    else if (rows.length > values.length && needsEmptyRows(grouping)) return undefined
  }
  return { empty }
}

const isNestedIn = (root: RmObject, archetypeId: string): boolean => {
  const visit = (value: unknown): boolean =>
    typeof value === 'object' &&
    value !== null &&
    ((value !== root && (value as RmObject).archetype_node_id === archetypeId) ||
      Object.values(value).some(visit))
  return visit(root)
}

async function groupCompositions(
  source: Omit<GroupedCollection, 'collection' | 'hint'>,
  grouping: FactGrouping,
  { rows, isOfEhrs, groups }: { rows: EmptyRows; isOfEhrs: boolean; groups: ValueGroups },
): Promise<void> {
  const { archetypeId, place } = grouping
  if (place) for (const one of await groupFacts(source, grouping, isOfEhrs)) groups.addValues(one)
  if (rows.empty?.length === 0 || !needsEmptyRows(grouping)) return
  for (const one of await countOccurrences(source, archetypeId, rows.empty, isOfEhrs)) groups.addEmpty(one)
}

/** @returns false if the rows of a record do not follow from one field with an index */
async function groupView(
  { reading: { db }, query, grouping }: GroupingInput,
  { view, filter, index }: ViewSearch,
  byEhr: boolean,
  groups: ValueGroups,
): Promise<boolean> {
  const { node, place, range } = grouping
  const source = { db, collection: view.kind.collection, filter, byEhr, hint: index.key }
  const viewPlace = place && placeInView(view, place, new ExampleEvaluation(node, place.path, query))
  if (viewPlace && !viewPlace.isDecided) return false
  const field = viewPlace?.field
  if (field !== undefined) {
    const ordering = view.indexOf(field)
    if (ordering === undefined) return false
    const inOrder = { ...source, hint: ordering.key }
    for (const one of await groupField(inOrder, field, range)) groups.addValues(one)
  }
  if (needsEmptyRows(grouping)) for (const one of await countEmptyRecords(source, field)) groups.addEmpty(one)
  return true
}
