import { isHolder, momentIn, placeOf, type Range } from '../compositions/facts.ts'
import { constantOf } from './evaluation/predicates.ts'
import { conditionFilter, either, type Filter } from './filters.ts'
import type { ClassNode, Operand, Operator, Path, PathStep, Predicate, Query } from './language/ast.ts'

/** The classes of FROM without which there is no row, by their variables. */
type Required = ReadonlyMap<string, ClassNode>

/** When the context of a composition began, beside the places of facts. */
export const START = 'start'

/**
 * What WHERE says of values that the facts of compositions tell, each by its place. It may let in too many compositions, never too
 * few.
 */
export const factFilter = (where: Query['where'], required: Required): Filter | undefined =>
  conditionFilter(where, (left, operator, others) =>
    either(others.map((other) => compared(left, operator, other, required))),
  )

/** What a comparison of a path with a constant asks of the facts; undefined: they do not tell. */
function compared(left: Operand, operator: Operator, right: Operand, required: Required): Filter | undefined {
  if (left.kind !== 'path' || left.predicate || right.kind !== 'literal' || operator === '!=')
    return undefined
  const node = required.get(left.variable)
  const { value } = right
  if (!node) return undefined
  const at = momentIn(value)
  const path = left.parts.map(({ attribute }) => attribute)
  if (at !== undefined && node.rmType === 'COMPOSITION')
    return isStart(left) ? { [START]: rangeOf(operator, at) } : undefined
  const archetypeId = archetypeOf(node.predicate)
  if (archetypeId === undefined || !isWithin(left.parts)) return undefined
  if (typeof value === 'number' && path.slice(-3).join() === 'items,value,magnitude') {
    const element = left.parts.at(-3) as PathStep
    const nodeId = nodeIdOf(element.predicate)
    return nodeId === undefined
      ? undefined
      : { [placeOf(archetypeId, path.slice(0, -2).join('/'), nodeId)]: rangeOf(operator, value) }
  }
  return at !== undefined && path.slice(-3).join() === 'events,time,value'
    ? { [placeOf(archetypeId, path.slice(0, -1).join('/'))]: rangeOf(operator, at) }
    : undefined
}

const isStart = ({ parts }: Path): boolean =>
  parts.map(({ attribute }) => attribute).join('/') === 'context/start_time/value' &&
  parts.every(({ predicate }) => !predicate)

/** Equal ones are let in always: whether they fit is found out by evaluating. */
function rangeOf(operator: Operator, value: number): Range {
  if (operator === '=') return { $gte: value, $lte: value }
  return operator.startsWith('>') ? { $gte: value } : { $lte: value }
}

/** An id that all objects have which a predicate accepts. */
function idIn(predicate: Predicate | undefined, isWanted: (id: string) => boolean): string | undefined {
  if (predicate?.kind === 'and')
    return predicate.terms.map((term) => idIn(term, isWanted)).find((id) => id !== undefined)
  const id = predicate?.kind === 'node' ? constantOf(predicate.id) : undefined
  return typeof id === 'string' && isWanted(id) ? id : undefined
}

const archetypeOf = (predicate: Predicate | undefined): string | undefined => idIn(predicate, isHolder)

/** Of a node within an archetype. */
const nodeIdOf = (predicate: Predicate | undefined): string | undefined =>
  idIn(predicate, (id) => !id.startsWith('openEHR-'))

/** Whether a path stays in its archetype: an item that is not told by its node may be the root of another one. */
const isWithin = (parts: readonly PathStep[]): boolean =>
  parts.every(({ attribute, predicate }) => attribute !== 'items' || nodeIdOf(predicate) !== undefined)
