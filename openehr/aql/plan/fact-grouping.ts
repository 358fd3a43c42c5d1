import { type FactRange, hasFacts } from '../../compositions/facts.ts'
import { splitConjuncts } from '../evaluation/condition-checks.ts'
import { constantValue } from '../evaluation/path-evaluator.ts'
import {
  type AggregateCall,
  type ClassNode,
  type Column,
  type Condition,
  contentKey,
  type Path,
  type PathStep,
  type QueryTree,
} from '../language/ast.ts'
import { placeOfPath, type QueryPlace } from './query-places.ts'

/** The value of a group that a column of a grouped query shows. */
export type GroupColumn =
  | { kind: 'ehrId' }
  | { kind: 'rows' }
  | { kind: 'ehrs' }
  | { kind: 'values'; name: AggregateCall['name'] }

/** A query that groups all values of one place, or counts the occurrences of one archetype. */
export interface FactGrouping {
  archetypeId: string
  /** The class of the archetype in FROM. */
  node: ClassNode
  columns: GroupColumn[]
  /** The place whose values are grouped; undefined: only rows are counted. */
  place: QueryPlace | undefined
  /** The values that WHERE allows. */
  range: ExactRange
}

/** A range whose ends may be excluded. */
export interface ExactRange extends FactRange {
  $gt?: number
  $lt?: number
}

/**
 * Recognises `SELECT e/ehr_id/value, AVG(o/…/magnitude) FROM EHR e CONTAINS COMPOSITION c CONTAINS
 * OBSERVATION o[…]`, also with COUNT, MIN, MAX, SUM, DISTINCT, and conditions on the same path or the EHR's id.
 */
export function recogniseFactGrouping(query: QueryTree): FactGrouping | undefined {
  const node = chainedClass(query.from)
  const archetypeId =
    node?.predicate?.kind === 'node' && !node.predicate.name ? constantValue(node.predicate.id) : 0
  if (!node || typeof archetypeId !== 'string' || !isOfClass(archetypeId, node)) return undefined
  const ehr = query.from.rmType === 'EHR' ? query.from.variable : undefined
  const columns = query.columns.map((column) => groupColumn(column, ehr))
  const isGrouped = columns.some((column) => column && column.kind !== 'ehrId')
  if (columns.includes(undefined) || query.distinct === isGrouped) return undefined
  if (query.orderBy.some(({ column }) => column === undefined)) return undefined
  const paths = query.columns.flatMap(({ expression }) =>
    expression.kind === 'aggregate' && expression.path && !isEhrId(expression.path, ehr)
      ? expression.path
      : [],
  )
  const [path] = paths
  const required = new Map(node.variable === undefined ? [] : [[node.variable, node]])
  const place = path && placeOfPath(path, required)
  const isOne = new Set(paths.map(contentKey)).size < 2
  if (!isOne || (path && place?.type !== 'magnitude')) return undefined
  const range = rangeOfWhere(query.where, path, ehr)
  const conditions = [
    query.from.predicate,
    ...splitConjuncts(query.where).filter((one) => isAboutEhrId(one, ehr)),
  ]
  // Of several conditions on the EHR's id, the search for EHRs takes one.
  if (!range || conditions.filter((one) => one !== undefined).length > 1) return undefined
  return { archetypeId, node, columns: columns as GroupColumn[], place, range }
}

/** The class at the end of FROM, if every row is an EHR, a composition and such an object in it. */
function chainedClass(from: ClassNode): ClassNode | undefined {
  let node: ClassNode | undefined = from
  for (const around of ['EHR', 'COMPOSITION'])
    if (node?.rmType === around && (around === 'EHR' ? hasNoOtherPredicate(node) : !node.predicate))
      node =
        node.contains && !node.contains.isNegated && node.contains.containment.kind === 'class'
          ? node.contains.containment
          : undefined
  return node?.contains || node?.versions ? undefined : node
}

/** The only predicate that an EHR may have names its id. */
const hasNoOtherPredicate = ({ predicate }: ClassNode): boolean =>
  predicate === undefined ||
  (predicate.kind === 'comparison' &&
    predicate.operator === '=' &&
    isEhrIdPath(predicate.path) &&
    isExactId(predicate.to))

const isEhrIdPath = (parts: readonly PathStep[]): boolean =>
  parts.map(({ attribute }) => attribute).join('/') === 'ehr_id/value' &&
  parts.every(({ predicate }) => predicate === undefined)

/** The id itself decides, and not a part of it. */
const isExactId = (operand: { kind: string; value?: unknown }): boolean =>
  operand.kind === 'literal' && typeof operand.value === 'string' && !operand.value.includes('::')

const isOfClass = (archetypeId: string, { rmType }: ClassNode): boolean =>
  hasFacts(archetypeId) && archetypeId.split(/[-.]/)[2] === rmType

function groupColumn({ expression }: Column, ehr: string | undefined): GroupColumn | undefined {
  if (expression.kind === 'path') return isEhrId(expression, ehr) ? { kind: 'ehrId' } : undefined
  if (expression.kind !== 'aggregate') return undefined
  const { name, distinct, path } = expression
  if (!path) return { kind: 'rows' }
  if (isEhrId(path, ehr)) return name === 'COUNT' && distinct ? { kind: 'ehrs' } : undefined
  return distinct ? undefined : { kind: 'values', name }
}

const isEhrId = ({ variable, predicate, parts }: Path, ehr: string | undefined): boolean =>
  variable === ehr && predicate === undefined && isEhrIdPath(parts)

const EXACT_OPERATORS = { '<': '$lt', '<=': '$lte', '>': '$gt', '>=': '$gte' } as const

/** @returns undefined if WHERE has other conditions than on the path and the EHR's id */
function rangeOfWhere(
  where: Condition | undefined,
  path: Path | undefined,
  ehr: string | undefined,
): ExactRange | undefined {
  const range: ExactRange = {}
  for (const condition of splitConjuncts(where)) {
    if (isAboutEhrId(condition, ehr)) continue
    const bounds = path && boundsOf(condition, path)
    if (!bounds || Object.keys(bounds).some((end) => end in range)) return undefined
    Object.assign(range, bounds)
  }
  return range
}

function isAboutEhrId(condition: Condition, ehr: string | undefined): boolean {
  if (condition.kind !== 'comparison' && condition.kind !== 'matches') return false
  const { left } = condition
  if (left.kind !== 'path' || !isEhrId(left, ehr)) return false
  return condition.kind === 'matches'
    ? condition.values.every(isExactId)
    : condition.operator === '=' && isExactId(condition.right)
}

function boundsOf(condition: Condition, path: Path): ExactRange | undefined {
  if (condition.kind !== 'comparison' || condition.operator === '!=') return undefined
  const { left, operator, right } = condition
  if (left.kind !== 'path' || contentKey(left) !== contentKey(path)) return undefined
  if (right.kind !== 'literal' || typeof right.value !== 'number') return undefined
  const { value } = right
  return operator === '=' ? { $gte: value, $lte: value } : { [EXACT_OPERATORS[operator]]: value }
}
