/** Which fields of a document a reader gets. */
import type { Document } from 'bson'
import { CommandError, fail } from '../../values/errors.ts'
import { fields, get, isNumeric, isObject, put, toNumber, truthy } from '../../values/values.ts'
import { evaluate } from '../expressions/expressions.ts'
import { elementTest } from '../filters/matcher.ts'

type Project = (document: Document) => Document

type Node = { children: Map<string, Node> } | { apply(value: unknown, document: Document): unknown }

const isBranch = (node: Node): node is { children: Map<string, Node> } => 'children' in node

interface Tree {
  root: { children: Map<string, Node> }
  inclusive: boolean | undefined
  id: boolean | undefined
}

/** undefined: the whole document. @throws 31253, 31254 for inclusion and exclusion mixed, 31249 for colliding paths */
export const compileProjection = (spec: unknown, filter: Document = {}): Project | undefined => {
  if (spec === undefined || spec === null) return undefined
  if (!isObject(spec)) return fail(14, "BSON field 'projection' is the wrong type, expected type 'object'")
  if (Object.keys(spec).length === 0) return undefined
  const tree: Tree = { root: { children: new Map() }, inclusive: undefined, id: undefined }
  for (const [path, value] of Object.entries(spec)) addPath(tree, path, value, filter)
  const inclusive = tree.inclusive ?? tree.id === true
  if (inclusive && tree.id !== false) tree.root.children.set('_id', keep)
  if (!inclusive && tree.id === false) tree.root.children.set('_id', drop)
  return (document) => walk(document, tree.root, inclusive, document) as Document
}

const keep: Node = { apply: (value) => value }
const drop: Node = { apply: () => undefined }

const addPath = (tree: Tree, path: string, value: unknown, filter: Document): void => {
  const plain = typeof value === 'boolean' || isNumeric(value)
  if (path === '_id' && plain) {
    tree.id = truthy(value)
    return
  }
  if (path.endsWith('.$')) {
    setMode(tree, true, path)
    insert(tree, path.slice(0, -2).split('.'), positional(path.slice(0, -2), filter))
  } else if (plain) {
    setMode(tree, truthy(value), path)
    insert(tree, path.split('.'), truthy(value) ? keep : drop)
  } else insert(tree, path.split('.'), computed(tree, path, value))
}

const setMode = (tree: Tree, inclusive: boolean, path: string): void => {
  if (tree.inclusive !== undefined && tree.inclusive !== inclusive)
    fail(inclusive ? 31253 : 31254, `Cannot mix inclusion and exclusion in a projection: ${path}`)
  tree.inclusive = inclusive
}

const insert = (tree: Tree, parts: string[], leaf: Node): void => {
  let node = tree.root
  for (const part of parts.slice(0, -1)) {
    const next = node.children.get(part) ?? { children: new Map() }
    if (!isBranch(next)) throw new CommandError(31249, `Path collision at ${parts.join('.')}`)
    node.children.set(part, next)
    node = next
  }
  const last = parts.at(-1) as string
  if (node.children.has(last)) fail(31250, `Path collision at ${parts.join('.')}`)
  node.children.set(last, leaf)
}

const computed = (tree: Tree, path: string, value: unknown): Node => {
  if (isObject(value) && '$slice' in value && (isNumeric(value.$slice) || everyNumeric(value.$slice)))
    return { apply: slicer(value.$slice) }
  if (isObject(value) && '$elemMatch' in value) {
    if (tree.inclusive === undefined) tree.inclusive = true
    const test = elementTest(value.$elemMatch, {})
    return { apply: (found) => firstElement(found, test) }
  }
  if (isObject(value) && '$meta' in value) return fail(115, '$meta is not supported by this engine')
  setMode(tree, true, path)
  return { apply: (_found, document) => evaluate(value, document) }
}

const everyNumeric = (value: unknown): boolean => Array.isArray(value) && value.every(isNumeric)

const firstElement = (found: unknown, test: (element: unknown) => boolean): unknown => {
  const element = Array.isArray(found) ? found.findIndex(test) : -1
  return element < 0 ? undefined : [(found as unknown[])[element]]
}

const slicer = (spec: unknown) => {
  const numbers = (Array.isArray(spec) ? spec : [spec]).map(toNumber)
  const [first = 0, count] = numbers
  if (count !== undefined && count <= 0) fail(28724, 'Third argument to $slice must be positive')
  return (value: unknown): unknown => {
    if (!Array.isArray(value)) return value
    if (count === undefined) return first < 0 ? value.slice(first) : value.slice(0, first)
    const from = first < 0 ? Math.max(value.length + first, 0) : first
    return value.slice(from, from + count)
  }
}

/** `a.$`: the element that made the filter's condition on `a` true. */
const positional = (path: string, filter: Document): Node => ({
  apply: (value) => {
    if (!Array.isArray(value)) return value
    const position = matchedPosition(path, value, filter)
    return position < 0 ? [] : [value[position]]
  },
})

/** The first element of the array at `path` that a condition of the filter on it, or below it, accepts. */
export const matchedPosition = (path: string, array: unknown[], filter: Document): number => {
  for (const [key, condition] of Object.entries(fields(filter))) {
    if ((key === '$and' || key === '$or') && Array.isArray(condition)) {
      for (const inner of condition) {
        const found = matchedPosition(path, array, inner)
        if (found >= 0) return found
      }
    }
    const test = elementCondition(path, key, condition)
    const found = test ? array.findIndex(test) : -1
    if (found >= 0) return found
  }
  return -1
}

const elementCondition = (path: string, key: string, condition: unknown) => {
  if (key.startsWith(`${path}.`)) return elementTest({ [key.slice(path.length + 1)]: condition }, {})
  if (key !== path) return undefined
  const elemMatch = get(condition, '$elemMatch')
  if (isObject(elemMatch)) return elementTest(elemMatch, {})
  const test = elementTest({ value: condition }, {})
  return (element: unknown) => test({ value: element })
}

const walk = (
  value: unknown,
  node: { children: Map<string, Node> },
  inclusive: boolean,
  root: Document,
): unknown => {
  if (Array.isArray(value)) {
    const kept = value.map((element) => walk(element, node, inclusive, root))
    return inclusive ? kept.filter((element) => element !== undefined) : kept
  }
  if (!isObject(value)) return inclusive ? undefined : value
  const source = fields(value)
  const result: Document = {}
  for (const key of Object.keys(source)) {
    const child = node.children.get(key)
    const projected = child
      ? descend(source[key], child, inclusive, root)
      : inclusive
        ? undefined
        : source[key]
    if (projected !== undefined) put(result, key, projected)
  }
  return value === root ? addComputed(result, source, node, root) : result
}

const descend = (value: unknown, child: Node, inclusive: boolean, root: Document): unknown =>
  isBranch(child) ? walk(value, child, inclusive, root) : child.apply(value, root)

/** Computed fields that the document does not have yet. */
const addComputed = (
  result: Document,
  source: Document,
  node: { children: Map<string, Node> },
  root: Document,
): Document => {
  for (const [key, child] of node.children) {
    if (Object.hasOwn(source, key) || isBranch(child)) continue
    const value = child.apply(undefined, root)
    if (value !== undefined) put(result, key, value)
  }
  return result
}
