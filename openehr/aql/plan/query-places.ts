import { type FactRange, factPlace, hasFacts, instantMsIn } from '../../compositions/facts.ts'
import { splitConjuncts } from '../evaluation/condition-checks.ts'
import { constantValue } from '../evaluation/path-evaluator.ts'
import {
  type ClassNode,
  type Condition,
  contentKey,
  type Operand,
  type Operator,
  type Path,
  type PathStep,
  type Predicate,
} from '../language/ast.ts'
import { FLIPPED_OPERATORS } from './database-filters.ts'

/** The classes of FROM that every row must have, by variable. */
export type RequiredClasses = ReadonlyMap<string, ClassNode>

/** The place of the start of a composition's context, in addition to the places of facts. */
export const START_PLACE = 'start'

/** A value in a query that is stored beside the compositions. */
export interface QueryPlace {
  /** Where facts have it; or START_PLACE. */
  place: string
  type: 'magnitude' | 'time'
  /** The archetype of the fact; undefined: the start of a composition. */
  archetypeId?: string
  path: Path
}

/** The place to which a path leads; undefined if no fact has it. */
export function placeOfPath(operand: Operand, required: RequiredClasses): QueryPlace | undefined {
  if (operand.kind !== 'path' || operand.predicate) return undefined
  const path = operand
  const node = required.get(path.variable)
  if (!node) return undefined
  if (node.rmType === 'COMPOSITION')
    return isContextStart(path) ? { place: START_PLACE, type: 'time', path } : undefined
  const archetypeId = requiredId(node.predicate, hasFacts)
  if (archetypeId === undefined || !staysInArchetype(path.parts)) return undefined
  const attributes = path.parts.map(({ attribute }) => attribute)
  if (attributes.slice(-3).join() === 'items,value,magnitude') {
    const nodeId = requiredNodeId((path.parts.at(-3) as PathStep).predicate)
    const place = factPlace(archetypeId, attributes.slice(0, -2).join('/'), nodeId)
    return nodeId === undefined ? undefined : { place, type: 'magnitude', archetypeId, path }
  }
  const time = attributes.at(-1) === 'value' ? attributes.slice(0, -1) : attributes
  return time.slice(-2).join() === 'events,time'
    ? { place: factPlace(archetypeId, time.join('/')), type: 'time', archetypeId, path }
    : undefined
}

const isContextStart = ({ parts }: Path): boolean =>
  /^context\/start_time(?:\/value)?$/.test(parts.map(({ attribute }) => attribute).join('/')) &&
  parts.every(({ predicate }) => !predicate)

/** The id that all objects accepted by a predicate have. */
function requiredId(predicate: Predicate | undefined, isWanted: (id: string) => boolean): string | undefined {
  if (predicate?.kind === 'and')
    return predicate.terms.map((term) => requiredId(term, isWanted)).find((id) => id !== undefined)
  const id = predicate?.kind === 'node' ? constantValue(predicate.id) : undefined
  return typeof id === 'string' && isWanted(id) ? id : undefined
}

/** The id of a node within an archetype. */
const requiredNodeId = (predicate: Predicate | undefined): string | undefined =>
  requiredId(predicate, (id) => !id.startsWith('openEHR-'))

/** Whether a path stays in its archetype: an item without a node id may be the root of another archetype. */
const staysInArchetype = (parts: readonly PathStep[]): boolean =>
  parts.every(({ attribute, predicate }) => attribute !== 'items' || requiredNodeId(predicate) !== undefined)

/** The values that a comparison of a place with a constant allows; it always includes the constant itself. */
export function toFactRange({ type }: QueryPlace, operator: Operator, value: unknown): FactRange | undefined {
  const bound = type === 'time' ? instantMsIn(value) : value
  if (typeof bound !== 'number' || operator === '!=') return undefined
  if (operator === '=') return { $gte: bound, $lte: bound }
  return operator.startsWith('>') ? { $gte: bound } : { $lte: bound }
}

/**
 * The values of a path that WHERE allows, and whether it demands a value at all. Only the same path counts:
 * another one may lead to another node at the same place.
 */
export function rangeOfPath(
  where: Condition | undefined,
  place: QueryPlace,
): { range: FactRange; isRequired: boolean } {
  const same = contentKey(place.path)
  const comparisons = splitConjuncts(where).flatMap((condition) => {
    if (condition.kind !== 'comparison') return []
    const { left, operator, right } = condition
    if (right.kind === 'literal' && contentKey(left) === same) return [{ operator, value: right.value }]
    if (left.kind === 'literal' && contentKey(right) === same)
      return [{ operator: FLIPPED_OPERATORS[operator], value: left.value }]
    return []
  })
  const ranges = comparisons.flatMap(({ operator, value }) => toFactRange(place, operator, value) ?? [])
  const range = ranges.reduce<FactRange>(narrowRange, {})
  return { range, isRequired: comparisons.length > 0 }
}

const narrowRange = (one: FactRange, other: FactRange): FactRange => {
  const lower = [one.$gte, other.$gte].filter((end) => end !== undefined)
  const upper = [one.$lte, other.$lte].filter((end) => end !== undefined)
  return {
    ...(lower.length > 0 && { $gte: Math.max(...lower) }),
    ...(upper.length > 0 && { $lte: Math.min(...upper) }),
  }
}

/** Attributes that the structure of an archetype describes. */
const STRUCTURE_ATTRIBUTES = new Set(
  'activities data description events items protocol state summary'.split(' '),
)

/**
 * Whether the structure of an archetype decides where a path leads: through its nodes, chosen by their ids
 * alone.
 */
export function followsStructure({ predicate, parts }: Path): boolean {
  const end = parts.findIndex(({ attribute }) => attribute === 'value' || attribute === 'time')
  const nodes = end < 0 ? parts : parts.slice(0, end)
  return (
    predicate === undefined &&
    nodes.every((step) => STRUCTURE_ATTRIBUTES.has(step.attribute) && isNodeIdOnly(step.predicate)) &&
    parts.slice(nodes.length).every((step) => step.predicate === undefined)
  )
}

const isNodeIdOnly = (predicate: Predicate | undefined): boolean =>
  predicate === undefined ||
  (predicate.kind === 'node' && predicate.name === undefined && constantValue(predicate.id) !== undefined)
