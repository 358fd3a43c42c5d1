import { type Method, pathParameterNames } from '../operation/operation.ts'
import { InputError, locateViolation, malformedInput } from '../reply/invalid-input.ts'

interface MatchableRoute {
  method: Method
  path: string
}

interface PathNode<R> {
  literals: Map<string, PathNode<R>>
  parameter?: PathNode<R>
  routes: Map<Method, R>
}

const createPathNode = <R>(): PathNode<R> => ({ literals: new Map(), routes: new Map() })

/** Match of a path: operations by method, and parameter values in order. */
interface MatchedPath<R> {
  routes: ReadonlyMap<Method, R>
  values: readonly PathSegment[]
}

/** Segment of a path; undefined if it cannot be decoded. */
type PathSegment = string | undefined

/**
 * Finds operations by path. Literal segments win over parameters; a trailing slash is ignored.
 *
 * @throws Error when two operations have the same method and path shape
 * @returns a function that throws MalformedRequest if a segment cannot be decoded and nothing matches
 */
export function createPathMatcher<R extends MatchableRoute>(
  routes: Iterable<R>,
): (path: string) => MatchedPath<R> | undefined {
  const root = createPathNode<R>()
  for (const route of routes) {
    let node = root
    for (const segment of splitPath(route.path)) node = childNodeOf(node, segment)
    if (node.routes.has(route.method))
      throw new Error(`${route.method} ${route.path} is declared twice: remove one of the operations`)
    node.routes.set(route.method, route)
  }
  return (path) => {
    const segments = splitPath(path).map(decodeSegment)
    const match = findNode(root, segments, 0, [])
    if (!match && segments.includes(undefined)) throw malformedInput('path', '', ...UNREADABLE_SEGMENT)
    return match
  }
}

/**
 * Maps parameter names to values.
 * @throws MalformedRequest
 */
export function nameParameters(path: string, values: readonly PathSegment[]): Record<string, string> {
  const names = pathParameterNames(path)
  const [code, message] = UNREADABLE_SEGMENT
  const violations = names.flatMap((name, i) =>
    values[i] === undefined ? [locateViolation('path')({ path: name, code, message })] : [],
  )
  if (violations.length > 0) throw new InputError('MalformedRequest', violations)
  return Object.fromEntries(names.map((name, i) => [name, values[i] ?? '']))
}

const UNREADABLE_SEGMENT = ['encoding', 'must be percent-encoded UTF-8 without NUL'] as const

function splitPath(path: string): string[] {
  const segments = path.slice(1).split('/')
  if (segments.at(-1) === '') segments.pop()
  return segments
}

function childNodeOf<R>(node: PathNode<R>, segment: string): PathNode<R> {
  if (segment.startsWith('{')) {
    node.parameter ??= createPathNode()
    return node.parameter
  }
  const next = node.literals.get(segment) ?? createPathNode<R>()
  node.literals.set(segment, next)
  return next
}

function decodeSegment(segment: string): PathSegment {
  if (!segment.includes('%')) return segment
  try {
    const text = decodeURIComponent(segment)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

function findNode<R>(
  node: PathNode<R>,
  segments: readonly PathSegment[],
  at: number,
  values: PathSegment[],
): MatchedPath<R> | undefined {
  if (at === segments.length) return node.routes.size > 0 ? { routes: node.routes, values } : undefined
  const segment = segments[at]
  const literal = segment === undefined ? undefined : node.literals.get(segment)
  const match = literal && findNode(literal, segments, at + 1, values)
  if (match || node.parameter === undefined || segment === '') return match
  return findNode(node.parameter, segments, at + 1, [...values, segment])
}
