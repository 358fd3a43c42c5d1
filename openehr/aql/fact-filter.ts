import { type FactRange, factPlace, hasFacts, instantMsIn } from '../compositions/facts.ts'
import { anyOf, conditionFilter, type DatabaseFilter } from './database-filters.ts'
import { constantValue } from './evaluation/path-evaluator.ts'
import type { ClassNode, Operand, Operator, Path, PathStep, Predicate, QueryTree } from './language/ast.ts'

/** The classes of FROM that every row must have, by variable. */
type RequiredClasses = ReadonlyMap<string, ClassNode>

/** The place of the start of a composition's context, in addition to the places of facts. */
export const START_PLACE = 'start'

/**
 * The filter that WHERE implies for the facts of a composition, by place. It may let in too many
 * compositions, never too few.
 */
export const createFactFilter = (
  where: QueryTree['where'],
  required: RequiredClasses,
): DatabaseFilter | undefined =>
  conditionFilter(where, (left, operator, others) =>
    anyOf(others.map((other) => comparisonFilter(left, operator, other, required))),
  )

/** The fact filter for a comparison of a path with a constant; undefined if facts cannot answer it. */
function comparisonFilter(
  left: Operand,
  operator: Operator,
  right: Operand,
  required: RequiredClasses,
): DatabaseFilter | undefined {
  if (left.kind !== 'path' || left.predicate || right.kind !== 'literal' || operator === '!=')
    return undefined
  const node = required.get(left.variable)
  const { value } = right
  if (!node) return undefined
  const at = instantMsIn(value)
  const path = left.parts.map(({ attribute }) => attribute)
  if (at !== undefined && node.rmType === 'COMPOSITION')
    return isContextStart(left) ? { [START_PLACE]: toFactRange(operator, at) } : undefined
  const archetypeId = requiredArchetypeId(node.predicate)
  if (archetypeId === undefined || !staysInArchetype(left.parts)) return undefined
  if (typeof value === 'number' && path.slice(-3).join() === 'items,value,magnitude') {
    const element = left.parts.at(-3) as PathStep
    const nodeId = requiredNodeId(element.predicate)
    return nodeId === undefined
      ? undefined
      : { [factPlace(archetypeId, path.slice(0, -2).join('/'), nodeId)]: toFactRange(operator, value) }
  }
  return at !== undefined && path.slice(-3).join() === 'events,time,value'
    ? { [factPlace(archetypeId, path.slice(0, -1).join('/'))]: toFactRange(operator, at) }
    : undefined
}

const isContextStart = ({ parts }: Path): boolean =>
  parts.map(({ attribute }) => attribute).join('/') === 'context/start_time/value' &&
  parts.every(({ predicate }) => !predicate)

/** Always includes the bound itself; the evaluation decides about equal values. */
function toFactRange(operator: Operator, value: number): FactRange {
  if (operator === '=') return { $gte: value, $lte: value }
  return operator.startsWith('>') ? { $gte: value } : { $lte: value }
}

/** The id that all objects accepted by a predicate have. */
function requiredId(predicate: Predicate | undefined, isWanted: (id: string) => boolean): string | undefined {
  if (predicate?.kind === 'and')
    return predicate.terms.map((term) => requiredId(term, isWanted)).find((id) => id !== undefined)
  const id = predicate?.kind === 'node' ? constantValue(predicate.id) : undefined
  return typeof id === 'string' && isWanted(id) ? id : undefined
}

const requiredArchetypeId = (predicate: Predicate | undefined): string | undefined =>
  requiredId(predicate, hasFacts)

/** The id of a node within an archetype. */
const requiredNodeId = (predicate: Predicate | undefined): string | undefined =>
  requiredId(predicate, (id) => !id.startsWith('openEHR-'))

/** Whether a path stays in its archetype: an item without a node id may be the root of another archetype. */
const staysInArchetype = (parts: readonly PathStep[]): boolean =>
  parts.every(({ attribute, predicate }) => attribute !== 'items' || requiredNodeId(predicate) !== undefined)
