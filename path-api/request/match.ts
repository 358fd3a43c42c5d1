import { ServiceError } from '../../schemas/errors.ts'
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
  values: readonly string[]
}

/**
 * Finds operations by path. Literal segments win over parameters; a trailing slash makes no difference.
 *
 * @throws when two operations have the same method and shape of path
 */
export function pathMatcher<R extends Route>(routes: Iterable<R>): (path: string) => Found<R> | undefined {
  const root = newNode<R>()
  for (const route of routes) {
    let node = root
    for (const segment of split(route.path)) node = descend(node, segment)
    if (node.routes.has(route.method)) throw new Error(`${route.method} ${route.path} is declared twice`)
    node.routes.set(route.method, route)
  }
  return (path) => find(root, split(path).map(decode), 0, [])
}

/** The values of a route's parameters by name. */
export const named = (path: string, values: readonly string[]): Record<string, string> =>
  Object.fromEntries(namesIn(path).map((name, i) => [name, values[i] ?? '']))

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

function decode(segment: string): string {
  if (!segment.includes('%')) return segment
  let text: string
  try {
    text = decodeURIComponent(segment)
  } catch {
    throw new ServiceError('MalformedRequest', { detail: 'The path is not valid percent-encoded UTF-8.' })
  }
  if (text.includes('\0'))
    throw new ServiceError('MalformedRequest', { detail: 'The path contains a NUL character.' })
  return text
}

function find<R>(
  node: Node<R>,
  segments: readonly string[],
  at: number,
  values: string[],
): Found<R> | undefined {
  const segment = segments[at]
  if (segment === undefined) return node.routes.size > 0 ? { routes: node.routes, values } : undefined
  const literal = node.literals.get(segment)
  const found = literal && find(literal, segments, at + 1, values)
  if (found || node.parameter === undefined || segment === '') return found
  return find(node.parameter, segments, at + 1, [...values, segment])
}
