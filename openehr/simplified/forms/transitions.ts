import type { AttributeConstraint, ObjectConstraint } from '../../opt/constraints.ts'

/** Merges the transitions of an action into one, with the codes of all. */
export function mergeTransitions(attribute: AttributeConstraint): AttributeConstraint {
  const [first] = attribute.children
  if (first === undefined) return attribute
  const states = statesBySteps(attribute.children)
  const attributes = first.attributes
    .filter(({ name }) => name !== 'name')
    .map((one) => {
      const codes = attribute.children.flatMap((transition) => codesOf(transition, one.name))
      const mergedCodes = { list: [...new Set(codes)], ...(one.name === 'careflow_step' && { states }) }
      return { ...one, children: one.children.map((value) => withCodes(value, mergedCodes)) }
    })
  return { ...attribute, children: [{ ...first, nodeId: '', attributes }] }
}

/** The codes of one attribute of a transition: `current_state`, `careflow_step`. */
const codesOf = ({ attributes }: ObjectConstraint, name: string): string[] =>
  attributes
    .filter((one) => one.name === name)
    .flatMap(({ children }) => children)
    .flatMap((value) => value.attributes)
    .flatMap(({ children }) => children)
    .flatMap(({ codes }) => codes?.list ?? [])

type Codes = NonNullable<ObjectConstraint['codes']>

const withCodes = (value: ObjectConstraint, mergedCodes: Omit<Codes, 'terminology'>): ObjectConstraint => ({
  ...value,
  attributes: value.attributes.map((attribute) => ({
    ...attribute,
    children: attribute.children.map((child) =>
      child.codes ? { ...child, codes: { ...child.codes, ...mergedCodes } } : child,
    ),
  })),
})

/** The states that belong to each careflow step of the transitions. */
function statesBySteps(transitions: readonly ObjectConstraint[]): Map<string, string[]> {
  const states = new Map<string, string[]>()
  for (const transition of transitions)
    for (const step of codesOf(transition, 'careflow_step'))
      states.set(step, [...(states.get(step) ?? []), ...codesOf(transition, 'current_state')])
  return states
}
