import { findRmClass, isSubclassOf } from '../../../schemas/openehr/rm-classes.ts'
import { isRmObject, type RmObject } from '../../rm/canonical-json.ts'
import { contentKey, type Path, type PathStep, type Predicate } from '../language/ast.ts'
import type { Term } from '../terms/terms.ts'
import type { BoundNodes } from './class-patterns.ts'
import { attributeMembers, createObjectTest, createPathEvaluator, type ObjectTest } from './path-evaluator.ts'

/** The values of a row: the nodes of the classes, and the values of the path steps. */
export interface BindingRow {
  bound: BoundNodes
  values: unknown[]
}

/** A variable of a row: a class of FROM, or a step of a path from it. */
export interface BindingVariable {
  slot: number
  step?: number | undefined
}

/**
 * One step of the paths. Paths with the same beginning share its steps, so that their values belong together.
 */
export interface PathJoinStep {
  /** The slot of the class at which the path begins. */
  slot: number
  /** The previous step; undefined: the step begins at the class itself. */
  parent: number | undefined
  /** Missing: the step stays at the object, if the predicate accepts it. */
  attribute: string | undefined
  accepts: ObjectTest | undefined
  /** Whether a path ends here. */
  isEnd: boolean
  /** The steps that follow it. */
  next: number[]
}

/** Computes an operand of a row; with the variables that it uses. */
export interface OperandGetter {
  getValue(row: BindingRow): Term
  variables: readonly BindingVariable[]
}

/** Two equal predicates give the same key, wherever they are in the text. */
const pathStepKey = (
  parent: number | undefined,
  slot: number,
  attribute = '',
  predicate?: Predicate,
): string => `${parent ?? `v${slot}`}/${attribute}${predicate ? contentKey(predicate) : ''}`

/** Whether an attribute leads to further nodes: to data structures, not to a value of the node. */
function leadsToNodes(node: unknown, attribute: string | undefined): boolean {
  const rm = isRmObject(node) ? findRmClass(node._type) : undefined
  const { type = '' } = (attribute && rm?.attributes.get(attribute)) || {}
  return isSubclassOf(type, 'LOCATABLE') || NODES_WITHOUT_NAMES.has(type)
}

const NODES_WITHOUT_NAMES = new Set([
  'EVENT_CONTEXT',
  'FEEDER_AUDIT',
  'FEEDER_AUDIT_DETAILS',
  'INSTRUCTION_DETAILS',
])

/** The steps of all paths of a query. */
export class PathJoins {
  readonly steps: PathJoinStep[] = []
  readonly #stepNumbers = new Map<string, number>()
  readonly #variables: ReadonlyMap<string, number>

  constructor(variables: ReadonlyMap<string, number>) {
    this.#variables = variables
  }

  /** Adds the steps of a path, and shares those that other paths already have. */
  addPath({ variable, predicate, parts }: Path): OperandGetter {
    const slot = this.#variables.get(variable) as number
    let last: number | undefined
    if (predicate) last = this.#addStep(slot, undefined, undefined, predicate)
    for (const { attribute, predicate: memberPredicate } of parts)
      last = this.#addStep(slot, last, attribute, memberPredicate)
    if (last !== undefined) (this.steps[last] as PathJoinStep).isEnd = true
    return this.#createGetter(slot, last)
  }

  /**
   * Tests whether a path leads to a value, starting from steps that other paths have in common with it. Call
   * it after all other paths were added, because it adds no steps and no rows.
   */
  createExistenceTest({ variable, predicate, parts }: Path): {
    evaluate(row: BindingRow): boolean
    variables: readonly BindingVariable[]
  } {
    const slot = this.#variables.get(variable) as number
    let last: number | undefined
    const rest: PathStep[] = []
    if (predicate) last = this.#stepNumbers.get(pathStepKey(undefined, slot, undefined, predicate))
    const accepts = predicate && last === undefined ? createObjectTest(predicate) : undefined
    for (const step of parts) {
      const key = pathStepKey(last, slot, step.attribute, step.predicate)
      const existingStep = rest.length === 0 && !accepts ? this.#stepNumbers.get(key) : undefined
      if (existingStep === undefined) rest.push(step)
      else last = existingStep
    }
    const { getValue, variables } = this.#createGetter(slot, last)
    const evaluateRest = createPathEvaluator(rest)
    return {
      variables,
      evaluate: (row) => {
        const { value } = getValue(row)
        if (accepts && !(isRmObject(value) && accepts(value))) return false
        return evaluateRest(value).some((term) => term.value !== undefined && term.value !== null)
      },
    }
  }

  #addStep(
    slot: number,
    parent: number | undefined,
    attribute: string | undefined,
    predicate: Predicate | undefined,
  ): number {
    const key = pathStepKey(parent, slot, attribute, predicate)
    const existingStep = this.#stepNumbers.get(key)
    if (existingStep !== undefined) return existingStep
    const accepts = predicate && createObjectTest(predicate)
    const step = this.steps.push({ slot, parent, attribute, accepts, isEnd: false, next: [] }) - 1
    this.#stepNumbers.set(key, step)
    if (parent !== undefined) (this.steps[parent] as PathJoinStep).next.push(step)
    return step
  }

  #createGetter(slot: number, step: number | undefined): OperandGetter {
    const variables = [{ slot, step }]
    if (step === undefined) return { getValue: ({ bound }) => ({ value: bound[slot]?.object }), variables }
    const { attribute } = this.steps[step] as PathJoinStep
    const getValue = (row: BindingRow): Term => ({
      value: row.values[step],
      parent: this.#parentValue(step, row) as RmObject | undefined,
      attribute,
    })
    return { getValue, variables }
  }

  #parentValue(step: number, row: BindingRow): unknown {
    const { parent, slot } = this.steps[step] as PathJoinStep
    return parent === undefined ? row.bound[slot]?.object : row.values[parent]
  }

  slotOf(step: number): number {
    return (this.steps[step] as PathJoinStep).slot
  }

  /**
   * The values that a step leads to; a missing value counts as one undefined value. Several members make no
   * rows where no path finds its node.
   */
  members(step: number, row: BindingRow): unknown[] {
    const members = this.#membersOf(step, this.#parentValue(step, row))
    const joinedMembers =
      members.length > 1 ? members.filter((member) => this.#leadsToNode(step, member)) : members
    return joinedMembers.length === 0 ? [undefined] : joinedMembers
  }

  #membersOf(step: number, parent: unknown): unknown[] {
    const { attribute, accepts } = this.steps[step] as PathJoinStep
    if (attribute === undefined) return isRmObject(parent) && accepts?.(parent) ? [parent] : []
    return attributeMembers(parent, attribute, accepts)
  }

  /** Whether this member of a step is the node of a path, or a path continues from it to its node. */
  #leadsToNode(step: number, member: unknown): boolean {
    const { isEnd, next } = this.steps[step] as PathJoinStep
    return (
      isEnd ||
      next.some(
        (following) =>
          !leadsToNodes(member, this.steps[following]?.attribute) ||
          this.#membersOf(following, member).some((one) => this.#leadsToNode(following, one)),
      )
    )
  }
}
