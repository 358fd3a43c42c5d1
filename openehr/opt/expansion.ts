import { ServiceError } from '../../schemas/errors.ts'
import { findRmClass, rmClassNames } from '../../schemas/openehr/rm-classes.ts'
import { ARCHETYPE_ID_PATTERN, NODE_ID_PATTERN } from '../rm/node-ids.ts'
import { type Code, findCodeTerm, labelOf, nodeIdOf, type ObjectConstraint } from './constraints.ts'

/**
 * Limits of what one template or archetype expands to: its example, its web template, its nodes in any other
 * form. They are made without yielding, each node as often as the template requires it.
 */
const MAX_NODES = 10_000
const MAX_SIBLINGS = 1_000
const MAX_CHARACTERS = 16 * 1024 * 1024

const MAX_SHOWN_NAME_LENGTH = 60

/** The attributes of all classes, and the functions of the model that templates constrain like attributes. */
const ATTRIBUTE_NAMES: ReadonlySet<string> = new Set([
  ...rmClassNames.flatMap((name) => [...(findRmClass(name)?.attributes.keys() ?? [])]),
  'offset',
  'is_integral',
])
const NODE_ID = new RegExp(`^(?:${NODE_ID_PATTERN})?$`)
const ARCHETYPE_ID = new RegExp(`^${ARCHETYPE_ID_PATTERN}$`)

/**
 * Checks the names and the size of a template or archetype before anything is made from it.
 * @throws RuleViolated
 */
export function requireExpandable(root: ObjectConstraint): void {
  let nodes = 0
  let characters = 0
  const visit = (node: ObjectConstraint, times: number, pathLength: number): void => {
    if (!NODE_ID.test(node.nodeId)) throw unknownName(node.nodeId)
    if (node.isRoot && !ARCHETYPE_ID.test(node.archetype.id)) throw unknownName(node.archetype.id)
    nodes += times
    characters += times * textLength(node) + pathLength
    if (nodes > MAX_NODES || characters > MAX_CHARACTERS) throw tooLarge()
    for (const { name, children } of node.attributes) {
      if (!ATTRIBUTE_NAMES.has(name)) throw unknownName(name)
      if (children.length > MAX_SIBLINGS) throw tooLarge()
      for (const child of children) {
        const step = name.length + nodeIdOf(child).length + labelOf(child).length
        visit(child, times * Math.max(1, child.occurrences.lower ?? 0), pathLength + step)
      }
    }
  }
  visit(root, 1, 0)
}

/** The length of a node's texts: an archetype defines a term once, and each node that uses it repeats it. */
function textLength(node: ObjectConstraint): number {
  const { rmType, primitive, codes, quantity, ordinals } = node
  const nodeText = JSON.stringify([
    rmType,
    nodeIdOf(node),
    labelOf(node),
    primitive,
    codes,
    quantity,
    ordinals,
  ])
  const { terminology = '', list = [] } = codes ?? {}
  const usedCodes = [
    { terminology: '', code: node.nodeId },
    ...list.map((code) => ({ terminology, code })),
    ...(ordinals ?? []).map(({ symbol }) => symbol),
  ]
  return usedCodes.reduce((sum, code) => sum + termLength(node, code), nodeText.length)
}

function termLength(node: ObjectConstraint, code: Code): number {
  const { text = '', description = '', comment = '' } = findCodeTerm(node, code) ?? {}
  return text.length + description.length + comment.length
}

const ruleViolated = (code: string, message: string): ServiceError =>
  new ServiceError('RuleViolated', { violations: [{ path: 'definition', code, message }] })

const unknownName = (name: string): ServiceError =>
  ruleViolated(
    'name',
    `must contain only attributes of the reference model, node ids such as at0004 and archetype ids, not ${JSON.stringify(name.slice(0, MAX_SHOWN_NAME_LENGTH))}`,
  )

const tooLarge = (): ServiceError =>
  ruleViolated(
    'expansion',
    `must have at most ${MAX_SIBLINGS} nodes below one node, and expand to at most ${MAX_NODES} nodes and ${MAX_CHARACTERS / 1024 ** 2} MB of text: a required node counts as often as it is required, and each node counts its path and terms`,
  )
