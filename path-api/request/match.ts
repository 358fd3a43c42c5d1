import { malformed, Placed, placedIn } from '../answer/invalid-input.ts'
import { type Method, namesIn } from '../operation/operation.ts'

interface Route {
  method: Method
  path: string
}

interface Node<R> {
  literals: Map<string, Node<R>>
  parameter?: Node<R>
  routes: Map<Method, R>
}

const newNode = <R>(): Node<R> => ({ literals: new Map(), routes: new Map() })

/** What stands at a path: its operations by method, and the values of the path's parameters in their order. */
interface Found<R> {
  routes: ReadonlyMap<Method, R>
  values: readonly Text[]
}

/** A segment of a path; undefined where it cannot be read. */
type Text = string | undefined

/**
 * Finds operations by path. Literal segments win over parameters; a trailing slash makes no difference.
 *
 * @throws when two operations have the same method and shape of path
 * @returns what throws MalformedRequest where a segment cannot be read and nothing stands
 */
export function pathMatcher<R extends Route>(routes: Iterable<R>): (path: string) => Found<R> | undefined {
  const root = newNode<R>()
  for (const route of routes) {
    let node = root
    for (const segment of split(route.path)) node = descend(node, segment)
    if (node.routes.has(route.method)) throw new Error(`${route.method} ${route.path} is declared twice`)
    node.routes.set(route.method, route)
  }
  return (path) => {
    const segments = split(path).map(decode)
    const found = find(root, segments, 0, [])
    if (!found && segments.includes(undefined)) throw malformed('path', '', ...UNREADABLE)
    return found
  }
}

/** The values of a route's parameters by name. @throws MalformedRequest */
export function named(path: string, values: readonly Text[]): Record<string, string> {
  const names = namesIn(path)
  const [code, message] = UNREADABLE
  const violations = names.flatMap((name, i) =>
    values[i] === undefined ? [placedIn('path')({ path: name, code, message })] : [],
  )
  if (violations.length > 0) throw new Placed('MalformedRequest', violations)
  return Object.fromEntries(names.map((name, i) => [name, values[i] ?? '']))
}

const UNREADABLE = ['encoding', 'must be percent-encoded UTF-8 without NUL'] as const

function split(path: string): string[] {
  const segments = path.slice(1).split('/')
  if (segments.at(-1) === '') segments.pop()
  return segments
}

function descend<R>(node: Node<R>, segment: string): Node<R> {
  if (segment.startsWith('{')) {
    node.parameter ??= newNode()
    return node.parameter
  }
  const next = node.literals.get(segment) ?? newNode<R>()
  node.literals.set(segment, next)
  return next
}

function decode(segment: string): Text {
  if (!segment.includes('%')) return segment
  try {
    const text = decodeURIComponent(segment)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

function find<R>(node: Node<R>, segments: readonly Text[], at: number, values: Text[]): Found<R> | undefined {
  if (at === segments.length) return node.routes.size > 0 ? { routes: node.routes, values } : undefined
  const segment = segments[at]
  const literal = segment === undefined ? undefined : node.literals.get(segment)
  const found = literal && find(literal, segments, at + 1, values)
  if (found || node.parameter === undefined || segment === '') return found
  return find(node.parameter, segments, at + 1, [...values, segment])
}
