import type { RmObject } from '../../rm/canonical.ts'
import type { Code, Constant, PathStep, Predicate } from '../language/ast.ts'
import { compare, isObject, type Term } from '../terms/terms.ts'

/** Whether an object is meant by what stands in brackets. */
export type Accepts = (object: RmObject) => boolean

/** The value of a constant: parameters have been replaced by theirs. */
export const constantOf = (constant: Constant): unknown =>
  constant.kind === 'literal' ? constant.value : undefined

export function accepting(predicate: Predicate): Accepts {
  switch (predicate.kind) {
    case 'and': {
      const terms = predicate.terms.map(accepting)
      return (object) => terms.every((accepts) => accepts(object))
    }
    case 'or': {
      const terms = predicate.terms.map(accepting)
      return (object) => terms.some((accepts) => accepts(object))
    }
    case 'node':
      return node(predicate)
    case 'comparison':
      return comparison(predicate)
  }
}

function node({ id, name }: Extract<Predicate, { kind: 'node' }>): Accepts {
  const nodeId = constantOf(id)
  const fits = name && named(name)
  return (object) => object.archetype_node_id === nodeId && (!fits || fits(object.name))
}

function named(name: Constant | Code): (name: unknown) => boolean {
  if (name.kind !== 'code') {
    const text = constantOf(name)
    return (given) => isObject(given) && given.value === text
  }
  const { code, terminology } = name
  return (given) => {
    const phrase = isObject(given) ? (given.defining_code as RmObject | undefined) : undefined
    const of = (phrase?.terminology_id as RmObject | undefined)?.value
    return phrase?.code_string === code && (terminology === undefined || terminology === of)
  }
}

function comparison({ path, operator, to }: Extract<Predicate, { kind: 'comparison' }>): Accepts {
  const left = reaching(path)
  const right = to.kind === 'relative' ? reaching(to.path) : constantly(constantOf(to))
  return (object) => {
    const others = right(object)
    return left(object).some((term) => others.some((other) => compare(term, operator, other) === true))
  }
}

const constantly =
  (value: unknown): ((object: RmObject) => Term[]) =>
  () => [{ value }]

/** All that a path leads to from an object. */
export type Reached = (object: unknown) => Term[]

export function reaching(path: readonly PathStep[]): Reached {
  const steps = path.map(({ attribute, predicate }) => ({
    attribute,
    accepts: predicate && accepting(predicate),
  }))
  return (object) => {
    let terms: Term[] = [{ value: object }]
    for (const { attribute, accepts } of steps)
      terms = terms.flatMap(({ value }) =>
        membersOf(value, attribute, accepts).map((member) => ({
          value: member,
          holder: value as RmObject,
          attribute,
        })),
      )
    return terms
  }
}

/** What an attribute of an object has, one by one. */
export function membersOf(holder: unknown, attribute: string, accepts: Accepts | undefined): unknown[] {
  const value = isObject(holder) && Object.hasOwn(holder, attribute) ? holder[attribute] : undefined
  if (value === undefined || value === null) return []
  const members = Array.isArray(value) ? value : [value]
  return accepts ? members.filter((member) => isObject(member) && accepts(member)) : members
}
