import type { TimeSlice } from '../../records/limits/time-slice.ts'
import type { Violation } from '../../schemas/validation/violations.ts'

type Scalar = string | number | boolean

/** A composition in the flat format: a line for each value, by the ids of the web template. */
export type FlatComposition = Record<string, Scalar>

/**
 * A node of a composition in the flat or the structured format: the parts of its value (`magnitude`; the empty name for
 * the value itself), and the nodes below it, each name with its occurrences.
 */
export class SimpleNode {
  /** In the flat format, for messages. */
  readonly path: string
  readonly parts = new Map<string, Scalar>()
  readonly children = new Map<string, Map<number, SimpleNode>>()
  /** The names whose nodes have been taken. */
  readonly #takenNames = new Set<string>()

  constructor(path = '') {
    this.path = path
  }

  /**
   * The node with this name and number; a new one unless it exists.
   * @param isNumbered whether the first one has its number, too
   */
  child(name: string, number = 0, isNumbered = false): SimpleNode {
    const siblings = this.children.get(name) ?? new Map<number, SimpleNode>()
    this.children.set(name, siblings)
    const existingNode = siblings.get(number)
    if (existingNode) return existingNode
    const place = number === 0 && !isNumbered ? name : `${name}:${number}`
    const child = new SimpleNode(this.path === '' ? place : `${this.path}/${place}`)
    siblings.set(number, child)
    return child
  }

  /** The names of nodes that have not been taken. */
  get names(): string[] {
    return [...this.children.keys()].filter((name) => !this.#takenNames.has(name))
  }

  get isEmpty(): boolean {
    return this.parts.size === 0 && this.names.length === 0
  }

  /** Takes a part away under the first of these names that it has. */
  take(...names: string[]): Scalar | undefined {
    for (const name of names) {
      const value = this.parts.get(name)
      if (value === undefined) continue
      this.parts.delete(name)
      return value
    }
    return undefined
  }

  /** Takes the nodes of a name, once, in the order of their numbers. */
  takeAll(name: string): SimpleNode[] {
    if (this.#takenNames.has(name)) return []
    this.#takenNames.add(name)
    return [...(this.children.get(name) ?? [])].sort(([a], [b]) => a - b).map(([, node]) => node)
  }

  /** Its parts and those of the nodes below it, unless they have been taken, as lines of the flat format. */
  *lines(): Generator<[line: string, value: Scalar]> {
    for (const [name, value] of this.parts) yield [name === '' ? this.path : `${this.path}|${name}`, value]
    for (const siblings of this.children.values()) for (const node of siblings.values()) yield* node.lines()
  }
}

/** Nodes nest no deeper than compositions. */
const MAX_DEPTH = 200
/** Maximum number of nodes: a line of the flat format may make as many as it has names. */
const MAX_NODES = 100_000
const SEGMENT = /^([^|:/]+)(?::(\d{1,6}))?$/

interface ReadTree {
  root: SimpleNode
  violations: Violation[]
}

const isScalar = (value: unknown): value is Scalar => ['string', 'number', 'boolean'].includes(typeof value)

const unknownForm = (path: string): Violation => ({
  path,
  code: 'format',
  message: 'must be a path of ids with a text, a number or a truth value',
})

const tooManyNodes = (path: string): Violation => ({
  path,
  code: 'maxItems',
  message: `must leave the composition at most ${MAX_NODES} nodes`,
})

/** Reads the lines of the flat format, and lets others run. Lines without a value count as left out. */
export async function readFlat(
  lines: Readonly<Record<string, unknown>>,
  slice: TimeSlice,
): Promise<ReadTree> {
  const root = new SimpleNode()
  const violations: Violation[] = []
  let nodes = 0
  for (const [line, value] of Object.entries(lines)) {
    if (slice.isOver()) await slice.yieldToOthers()
    if (value === null) continue
    const [path = '', ...suffix] = line.split('|')
    const segments = path.split('/').map((segment) => SEGMENT.exec(segment))
    if (segments.includes(null) || segments.length > MAX_DEPTH || !isScalar(value)) {
      violations.push(unknownForm(line))
      continue
    }
    let node = root
    for (const segment of segments) {
      const [, name = '', number] = segment ?? []
      if (!node.children.get(name)?.has(Number(number ?? 0))) nodes += 1
      node = node.child(name, Number(number ?? 0), number !== undefined)
    }
    if (nodes > MAX_NODES) return { root, violations: [tooManyNodes(line)] }
    node.parts.set(suffix.join('|'), value)
  }
  return { root, violations }
}

/** Writes the lines of the flat format. */
export const toFlat = (root: SimpleNode): FlatComposition => Object.fromEntries(root.lines())

/**
 * Reads the structured format, and lets others run: objects within objects, where an occurrence is a value or an
 * object.
 */
export async function readStructured(json: unknown, slice: TimeSlice): Promise<ReadTree> {
  const root = new SimpleNode()
  const violations: Violation[] = []
  const waiting = [{ node: root, value: json, depth: 0 }]
  const readInto = (node: SimpleNode, value: unknown, depth: number): void => {
    if (value === null || value === undefined) return
    if (isScalar(value)) node.parts.set('', value)
    else if (Array.isArray(value) || depth > MAX_DEPTH) violations.push(unknownForm(node.path))
    else
      for (const [name, inner] of Object.entries(value)) {
        if (name === '') waiting.push({ node, value: inner, depth: depth + 1 })
        else if (name.startsWith('|')) readPart(node, name.slice(1), inner)
        else readOccurrences(node, name, inner, depth)
      }
  }
  const readPart = (node: SimpleNode, name: string, value: unknown): void => {
    const [only, ...others] = [value].flat()
    if (isScalar(only) && others.length === 0) node.parts.set(name, only)
    else if (value !== null) violations.push(unknownForm(`${node.path}|${name}`))
  }
  const readOccurrences = (node: SimpleNode, name: string, value: unknown, depth: number): void => {
    if (!SEGMENT.test(name)) violations.push(unknownForm(`${node.path}/${name}`))
    else
      for (const [i, one] of [value].flat().entries())
        waiting.push({ node: node.child(name, i), value: one, depth: depth + 1 })
  }
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    readInto(next.node, next.value, next.depth)
    if (slice.isOver()) await slice.yieldToOthers()
  }
  return { root, violations }
}

/** Writes the structured format. */
export const toStructured = (root: SimpleNode): Record<string, unknown> =>
  Object.fromEntries(
    [...root.children].map(([name, siblings]) => [name, [...siblings.values()].map(toValueOrObject)[0]]),
  )

function toValueOrObject({ parts, children }: SimpleNode): unknown {
  const [only] = parts.entries()
  if (children.size === 0 && parts.size === 1 && only?.[0] === '') return only[1]
  return {
    ...Object.fromEntries([...parts].map(([name, value]) => [`|${name || 'value'}`, value])),
    ...Object.fromEntries(
      [...children].map(([name, siblings]) => [name, [...siblings.values()].map(toValueOrObject)]),
    ),
  }
}
