import { isRmObject, type RmObject } from '../../rm/canonical-json.ts'
import type { CodeLiteral, Constant, PathStep, Predicate } from '../language/ast.ts'
import { compareTerms, type Term } from '../terms/terms.ts'

/** Whether an object fulfils a predicate. */
export type ObjectTest = (object: RmObject) => boolean

/** The value of a constant; parameters have been bound before. */
export const constantValue = (constant: Constant): unknown =>
  constant.kind === 'literal' ? constant.value : undefined

export function createObjectTest(predicate: Predicate): ObjectTest {
  switch (predicate.kind) {
    case 'and': {
      const terms = predicate.terms.map(createObjectTest)
      return (object) => terms.every((accepts) => accepts(object))
    }
    case 'or': {
      const terms = predicate.terms.map(createObjectTest)
      return (object) => terms.some((accepts) => accepts(object))
    }
    case 'node':
      return createNodeTest(predicate)
    case 'comparison':
      return createComparisonTest(predicate)
  }
}

function createNodeTest({ id, name }: Extract<Predicate, { kind: 'node' }>): ObjectTest {
  const nodeId = constantValue(id)
  const fits = name && createNameTest(name)
  return (object) => object.archetype_node_id === nodeId && (!fits || fits(object.name))
}

function createNameTest(name: Constant | CodeLiteral): (name: unknown) => boolean {
  if (name.kind !== 'code') {
    const text = constantValue(name)
    return (actualName) => isRmObject(actualName) && actualName.value === text
  }
  const { code, terminology } = name
  return (actualName) => {
    const phrase = isRmObject(actualName) ? (actualName.defining_code as RmObject | undefined) : undefined
    const terminologyId = (phrase?.terminology_id as RmObject | undefined)?.value
    return phrase?.code_string === code && (terminology === undefined || terminology === terminologyId)
  }
}

function createComparisonTest({
  path,
  operator,
  to,
}: Extract<Predicate, { kind: 'comparison' }>): ObjectTest {
  const left = createPathEvaluator(path)
  const right = to.kind === 'relative' ? createPathEvaluator(to.path) : constantGetter(constantValue(to))
  return (object) => {
    const rightTerms = right(object)
    return left(object).some((term) =>
      rightTerms.some((other) => compareTerms(term, operator, other) === true),
    )
  }
}

const constantGetter =
  (value: unknown): ((object: RmObject) => Term[]) =>
  () => [{ value }]

/** All values that a path leads to from an object. */
export type PathEvaluator = (object: unknown) => Term[]

export function createPathEvaluator(path: readonly PathStep[]): PathEvaluator {
  const steps = path.map(({ attribute, predicate }) => ({
    attribute,
    accepts: predicate && createObjectTest(predicate),
  }))
  return (object) => {
    let terms: Term[] = [{ value: object }]
    for (const { attribute, accepts } of steps)
      terms = terms.flatMap(({ value }) =>
        attributeMembers(value, attribute, accepts).map((member) => ({
          value: member,
          parent: value as RmObject,
          attribute,
        })),
      )
    return terms
  }
}

/** The members of an attribute, one by one. */
export function attributeMembers(
  parent: unknown,
  attribute: string,
  accepts: ObjectTest | undefined,
): unknown[] {
  const value = isRmObject(parent) && Object.hasOwn(parent, attribute) ? parent[attribute] : undefined
  if (value === undefined || value === null) return []
  const members = Array.isArray(value) ? value : [value]
  return accepts ? members.filter((member) => isRmObject(member) && accepts(member)) : members
}
