import { type Fact, shortKey } from '../../compositions/facts.ts'
import { searchFieldsOf } from '../../compositions/search-fields.ts'
import type { RmObject } from '../../rm/canonical-json.ts'
import { pathsOfQuery } from '../check-query.ts'
import { buildEhrTree } from '../evaluation/ehr-tree.ts'
import { createEvaluation } from '../evaluation/evaluation.ts'
import type { ClassNode, Column, Path, QueryTree } from '../language/ast.ts'
import { followsStructure } from '../plan/query-places.ts'
import { ehrWithIdOnly } from '../scan/ehr-scan.ts'
import { type SortKey, sortKeyOf } from '../terms/terms.ts'

/**
 * Evaluates the paths of one variable on an example of a structure: what it gives there, any occurrence of the
 * structure gives, except the values themselves.
 */
export class ExampleEvaluation {
  readonly #query: QueryTree
  /** Whether the paths depend on the structure alone. */
  readonly isDecided: boolean

  /**
   * @param node the class of the path's variable
   * @param query the query whose other paths of the variable share the rows; without it the path is alone
   */
  constructor(node: ClassNode, path: Path, query?: QueryTree) {
    const otherPaths = query ? pathsOfQuery(query).filter(({ variable }) => variable === path.variable) : []
    const paths = [path, ...otherPaths]
    this.isDecided = paths.every(followsStructure)
    const { contains: _, ...from } = node
    const columns = paths.map((expression): Column => ({ expression, text: '' }))
    this.#query = { distinct: false, columns, from, orderBy: [{ operand: path, descending: false }] }
  }

  /** The value at the place in each row. */
  keysOf(example: RmObject): SortKey[] {
    const evaluation = createEvaluation(this.#query, new Date(0))
    const tree = buildEhrTree(ehrWithIdOnly('example'), 'example', [
      { record: 'example', object: example, latest: true },
    ])
    const keys: SortKey[] = []
    const [keyOf] = evaluation.orderBy
    for (const row of evaluation.rows(tree))
      if (row && keyOf)
        for (let i = 0; i < Math.min(row.count, MAX_EQUAL_KEYS); i++) keys.push(sortKeyOf(keyOf(row)))
    return keys
  }
}

/** The most keys for equal rows; callers need to know only whether there are several. */
const MAX_EQUAL_KEYS = 1_000

/** The values of a place among the facts of an object, in order. */
export function factValuesOf(object: RmObject, place: string): Fact['v'][] {
  const key = shortKey(place)
  return searchFieldsOf(object)
    .facts.filter(({ k }) => k === key)
    .map(({ v }) => v)
    .sort()
}
