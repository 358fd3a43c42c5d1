import type { QueryTree } from '../../language/ast.ts'
import type { FactGrouping, GroupColumn } from '../../plan/fact-grouping.ts'
import { createRowComparator, type ResultRow, type RowWindow } from '../../results/row.ts'
import type { SortKey } from '../../terms/terms.ts'
import { addValuesTo, createValueGroup, type ValueGroup } from './fact-groups.ts'

/** The rows of a grouped query, one for each EHR if a column shows the EHR's id, otherwise one in all. */
export function rowsOfGroups(
  query: QueryTree,
  { columns }: Pick<FactGrouping, 'columns'>,
  groups: readonly ValueGroup[],
  { offset, limit }: RowWindow,
): { rows: ResultRow[]; hasMore: boolean } {
  const nonemptyGroups = groups.filter(({ count, empty }) => count + empty > 0)
  const isByEhr = columns.some(({ kind }) => kind === 'ehrId')
  const sources = isByEhr ? nonemptyGroups.map(({ ehrId = '' }) => ({ ehrId, records: [] })) : []
  const resultGroups = isByEhr ? nonemptyGroups.toSorted(byEhrId) : [merge(nonemptyGroups)]
  const rows = resultGroups
    .map((group) => toRow(query, columns, { group, ehrs: isByEhr ? 1 : nonemptyGroups.length, sources }))
    .sort(createRowComparator(query))
  return { rows: rows.slice(offset, offset + limit), hasMore: rows.length > offset + limit }
}

const byEhrId = ({ ehrId: a = '' }: ValueGroup, { ehrId: b = '' }: ValueGroup): number =>
  a < b ? -1 : a > b ? 1 : 0

function merge(groups: readonly ValueGroup[]): ValueGroup {
  const merged = createValueGroup()
  for (const group of groups) {
    addValuesTo(merged, group)
    merged.empty += group.empty
  }
  return merged
}

interface ShownGroup {
  group: ValueGroup
  ehrs: number
  sources: ResultRow['sources']
}

function toRow({ orderBy }: QueryTree, columns: readonly GroupColumn[], shownGroup: ShownGroup): ResultRow {
  const values = columns.map((column) => shownValue(column, shownGroup))
  return {
    cells: values.map((value) => JSON.stringify(value ?? null)),
    keys: orderBy.map(({ column = 0 }) => values[column]),
    sources: shownGroup.sources,
  }
}

function shownValue(column: GroupColumn, { group, ehrs }: ShownGroup): SortKey {
  const { ehrId, count, sum, least, most, empty } = group
  if (column.kind === 'ehrId') return ehrId
  if (column.kind === 'rows') return count + empty
  if (column.kind === 'ehrs') return ehrs
  if (column.name === 'COUNT') return count
  if (count === 0) return undefined
  return { SUM: sum, AVG: sum / count, MIN: least, MAX: most }[column.name]
}
