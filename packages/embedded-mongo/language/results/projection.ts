/** Selects and computes fields: find's projection, $project, $addFields, $unset. */
import type { Document } from 'bson'
import {
  documentFields,
  isNumeric,
  isObject,
  isTruthy,
  setMember,
  toNumber,
} from '../../values/bson-values.ts'
import type { Collation } from '../../values/compare.ts'
import { CommandError, fail } from '../../values/errors.ts'
import { type CompiledExpression, createCompiler, type ExpressionOptions } from '../expressions/compile.ts'
import { splitFieldPath } from '../expressions/expression.ts'
import { createElementTest } from '../filters/matcher.ts'
import { matchedPosition } from './positions.ts'

type Project = (document: Document) => Document

interface Branch {
  children: Map<string, Node>
  /** A field below this one is computed. */
  hasComputedField: boolean
}
/** The projection of one field: keep, drop or change its value, or compute a new one. */
type Leaf =
  | {
      apply(value: unknown, document: Document): unknown
      /** In an inclusive projection it follows the other fields. */
      last?: true
    }
  | { compute: CompiledExpression }
type Node = Branch | Leaf

const isBranch = (node: Node): node is Branch => 'children' in node
const branch = (): Branch => ({ children: new Map(), hasComputedField: false })

const keep: Leaf = { apply: (value) => value }
const drop: Leaf = { apply: () => undefined }

export interface ProjectionOptions extends ExpressionOptions {
  /** The filter that found the document; it determines `$`. Absent in a pipeline, which has no `$`. */
  filter?: Document | undefined
}

type CompileExpression = (expression: unknown) => CompiledExpression

interface Tree {
  root: Branch
  inclusive: boolean | undefined
  id: boolean | undefined
  elemMatch?: true
  positional?: true
  options: ProjectionOptions
  compile: CompileExpression
}

/**
 * undefined: the whole document.
 * @throws 31253, 31254 for inclusion mixed with exclusion, 31249, 31250 for colliding paths
 */
export const compileProjection = (spec: unknown, options: ProjectionOptions = {}): Project | undefined => {
  if (spec === undefined || spec === null) return undefined
  if (!isObject(spec)) return fail(14, "BSON field 'projection' is the wrong type, expected type 'object'")
  if (Object.keys(spec).length === 0) return undefined
  const tree: Tree = {
    root: branch(),
    inclusive: undefined,
    id: undefined,
    options,
    compile: createCompiler(options),
  }
  for (const [path, value] of Object.entries(spec)) addPath(tree, path, value)
  const inclusive = tree.inclusive ?? (tree.id === true || tree.elemMatch === true)
  if (inclusive && tree.id !== false && !tree.root.children.has('_id')) tree.root.children.set('_id', keep)
  if (!inclusive && tree.id === false) tree.root.children.set('_id', drop)
  const last = [...tree.root.children].flatMap(([key, node]) => (inclusive && 'last' in node ? [key] : []))
  return (document) => {
    const projectedDocument = walk(document, tree.root, inclusive, document) as Document
    for (const key of last) moveToEnd(projectedDocument, key)
    return compute(projectedDocument, tree.root, document)
  }
}

const moveToEnd = (document: Document, key: string): void => {
  if (!Object.hasOwn(document, key)) return
  const value = document[key]
  delete document[key]
  setMember(document, key, value)
}

/** A projection that only keeps or only drops whole top-level fields. */
interface WholeFields {
  names: string[]
  isExclusion: boolean
}

/** undefined: the projection does more. */
export const wholeFields = (spec: unknown): WholeFields | undefined => {
  if (!isObject(spec)) return undefined
  const { _id: id, ...others } = spec
  const fields = Object.entries(others)
  const isExclusion = fields.length > 0 ? !isTruthy(fields[0]?.[1]) : !isTruthy(id)
  const isPlain = (value: unknown) => typeof value === 'boolean' || isNumeric(value)
  const isWhole = ([name, value]: [string, unknown]) =>
    isPlain(value) && isTruthy(value) !== isExclusion && !name.includes('.')
  if (!fields.every(isWhole) || !(id === undefined || isPlain(id))) return undefined
  if (fields.length === 0 && id === undefined) return undefined
  const namesId = isExclusion ? id !== undefined && !isTruthy(id) : id === undefined || isTruthy(id)
  return { names: [...(namesId ? ['_id'] : []), ...fields.map(([name]) => name)], isExclusion }
}

/** The requested fields with their original or new names; undefined: the projection does more. */
export const plainFields = (spec: unknown): { name: string; from: string }[] | undefined => {
  const whole = wholeFields(spec)
  if (whole) return whole.isExclusion ? undefined : whole.names.map((name) => ({ name, from: name }))
  if (!isObject(spec)) return undefined
  const { _id: id, ...others } = spec
  const fields = Object.entries(others)
  const isRenamed = ([name, from]: [string, unknown]) =>
    !name.includes('.') && typeof from === 'string' && /^\$[^$]/.test(from)
  const isWithoutId = (typeof id === 'boolean' || isNumeric(id)) && !isTruthy(id)
  if (!isWithoutId || !fields.every(isRenamed)) return undefined
  return fields.map(([name, from]) => ({ name, from: (from as string).slice(1) }))
}

/** Computes fields and leaves the others unchanged. */
export const compileAddition = (spec: Document, options: ExpressionOptions): Project => {
  const root = branch()
  const compile = createCompiler(options)
  addComputed(root, [], spec, compile)
  return (document) => compute({ ...documentFields(document) }, root, document)
}

const addComputed = (root: Branch, path: string[], spec: Document, compile: CompileExpression): void => {
  for (const [key, value] of Object.entries(spec)) {
    if (path.length > 0 && key.includes('.'))
      fail(40183, `FieldPath field names may not contain '.' in an embedded document: '${key}'`)
    const parts = [...path, ...splitFieldPath(key)]
    if (isPlainObject(value) && Object.keys(value).length > 0) addComputed(root, parts, value, compile)
    else insert(root, parts, { compute: compile(value) })
  }
}

const isPlainObject = (value: unknown): value is Document =>
  isObject(value) && !Object.keys(value)[0]?.startsWith('$')

const addPath = (tree: Tree, path: string, value: unknown): void => {
  const plain = typeof value === 'boolean' || isNumeric(value)
  if (path === '_id' && plain) {
    tree.id = isTruthy(value)
    return
  }
  if (path.endsWith('.$')) {
    addPositional(tree, path, value)
    return
  }
  if (tree.options.filter && path.includes('.$.'))
    fail(31394, 'positional projection may only be at the end of a path')
  const parts = splitFieldPath(path)
  if (plain) {
    setMode(tree, isTruthy(value), path)
    insert(tree.root, parts, isTruthy(value) ? keep : drop)
  } else if (isPlainObject(value)) {
    if (Object.keys(value).length === 0)
      fail(51270, `An empty sub-projection is not a valid value. Found empty object at path ${path}`)
    for (const [key, inner] of Object.entries(value)) addPath(tree, `${path}.${key}`, inner)
  } else insert(tree.root, parts, leafOf(tree, path, value))
}

const addPositional = (tree: Tree, path: string, value: unknown): void => {
  const filter = tree.options.filter ?? fail(31324, 'positional projection is not allowed in a pipeline')
  if (isObject(value)) fail(31271, 'positional projection cannot be used with an expression or sub object')
  if (typeof value !== 'boolean' && !isNumeric(value))
    fail(31308, 'positional projection cannot be used with a literal')
  if (!isTruthy(value)) fail(31395, 'positional projection cannot be used with exclusion')
  if (tree.positional) fail(31276, 'Cannot specify more than one positional projection per query.')
  if (tree.elemMatch) fail(31256, 'Cannot specify positional operator and $elemMatch.')
  if (usesExpr(filter)) fail(224, 'positional projection cannot be used with $expr')
  setMode(tree, true, path)
  const parts = splitFieldPath(path.slice(0, -2))
  const [first] = parts
  if (tree.root.children.has(first as string) && parts.length === 1) fail(31250, `Path collision at ${path}`)
  tree.positional = true
  insert(tree.root, parts, positional(filter, tree.options.collation))
}

const usesExpr = (filter: Document): boolean =>
  Object.entries(filter).some(
    ([key, value]) =>
      key === '$expr' || (/^\$(and|or|nor)$/.test(key) && Array.isArray(value) && value.some(usesExpr)),
  )

const setMode = (tree: Tree, inclusive: boolean, path: string): void => {
  if (tree.inclusive !== undefined && tree.inclusive !== inclusive)
    fail(
      inclusive ? 31253 : 31254,
      `Cannot do ${inclusive ? 'inclusion' : 'exclusion'} on field ${path} in ${inclusive ? 'exclusion' : 'inclusion'} projection`,
    )
  tree.inclusive = inclusive
}

const insert = (root: Branch, parts: string[], leaf: Leaf): void => {
  let node = root
  if ('compute' in leaf) node.hasComputedField = true
  for (const part of parts.slice(0, -1)) {
    const next = node.children.get(part) ?? branch()
    if (!isBranch(next)) throw new CommandError(31249, `Path collision at ${parts.join('.')}`)
    if ('compute' in leaf) next.hasComputedField = true
    node.children.set(part, next)
    node = next
  }
  const last = parts.at(-1) as string
  if (node.children.has(last))
    fail(isBranch(node.children.get(last) as Node) ? 31250 : 31249, `Path collision at ${parts.join('.')}`)
  node.children.set(last, leaf)
}

/** A field that is not plainly included or excluded. */
const leafOf = (tree: Tree, path: string, value: unknown): Leaf => {
  if (isObject(value) && tree.options.filter) {
    if (
      '$slice' in value &&
      !('$elemMatch' in value) &&
      (isNumeric(value.$slice) || everyNumeric(value.$slice))
    )
      return { apply: slicer(value.$slice) }
    if ('$elemMatch' in value) {
      if (Object.keys(value).length > 1)
        fail(16410, 'Expression $elemMatch must be the only field of its object')
      if (tree.positional) fail(31255, 'Cannot specify positional operator and $elemMatch.')
      if (path.includes('.')) fail(31275, 'Cannot use $elemMatch projection on a nested field')
      if (!isObject(value.$elemMatch)) fail(31274, 'elemMatch: Invalid argument, object required')
      tree.elemMatch = true
      const test = createElementTest(value.$elemMatch, tree.options)
      return { apply: (fieldValue) => firstElement(fieldValue, test), last: true }
    }
    if ('$meta' in value) return fail(115, '$meta is not supported by this engine')
  }
  if (tree.inclusive === false)
    fail(
      isObject(value) ? 31252 : 31310,
      `Cannot use expression other than $meta in exclusion projection: ${path}`,
    )
  setMode(tree, true, path)
  return { compute: tree.compile(value) }
}

const everyNumeric = (value: unknown): boolean => Array.isArray(value) && value.every(isNumeric)

const firstElement = (fieldValue: unknown, test: (element: unknown) => boolean): unknown => {
  const element = Array.isArray(fieldValue) ? fieldValue.findIndex(test) : -1
  return element < 0 ? undefined : [(fieldValue as unknown[])[element]]
}

const slicer = (spec: unknown) => {
  const numbers = (Array.isArray(spec) ? spec : [spec]).map((value) => Math.trunc(toNumber(value)))
  const [first = 0, count] = numbers
  if (numbers.length > 2) fail(28724, '$slice needs one or two numbers')
  if (numbers.length < (Array.isArray(spec) ? 2 : 1)) fail(28667, '$slice needs one or two numbers')
  if (count !== undefined && count <= 0) fail(28724, 'Third argument to $slice must be positive')
  return (value: unknown): unknown => {
    if (!Array.isArray(value)) return value
    if (count === undefined) return first < 0 ? value.slice(first) : value.slice(0, first)
    const from = first < 0 ? Math.max(value.length + first, 0) : first
    return value.slice(from, from + count)
  }
}

/** `a.$`: the element at the position that the filter matched. */
const positional = (filter: Document, collation?: Collation): Leaf => ({
  apply: (value, document) => {
    if (!Array.isArray(value)) return value
    const position = matchedPosition(document, filter, collation)
    if (position < 0)
      fail(
        51246,
        "Executor error during find command :: caused by :: positional operator '.$' couldn't find a matching element in the array",
      )
    if (position >= value.length)
      fail(
        51247,
        "Executor error during find command :: caused by :: positional operator '.$' element mismatch",
      )
    return [value[position]]
  },
})

const walk = (value: unknown, node: Branch, inclusive: boolean, root: Document): unknown => {
  if (Array.isArray(value)) {
    const elements = value.map((element) => walk(element, node, inclusive, root))
    return inclusive ? elements.filter((element) => element !== undefined) : elements
  }
  // A computed field below a value turns even a number into a document.
  if (!isObject(value)) return inclusive && !node.hasComputedField ? undefined : value
  const source = documentFields(value)
  const result: Document = {}
  for (const key of Object.keys(source)) {
    const child = node.children.get(key)
    const projectedValue = child
      ? descend(source[key], child, inclusive, root)
      : inclusive
        ? undefined
        : source[key]
    if (projectedValue !== undefined) setMember(result, key, projectedValue)
  }
  return result
}

const descend = (value: unknown, child: Node, inclusive: boolean, root: Document): unknown => {
  if (isBranch(child)) return walk(value, child, inclusive, root)
  return 'apply' in child ? child.apply(value, root) : undefined
}

/** Sets computed fields; a missing value removes its field. */
const compute = (target: Document, node: Branch, root: Document): Document => {
  if (!node.hasComputedField) return target
  for (const [key, child] of node.children) {
    if (isBranch(child)) {
      if (child.hasComputedField) setMember(target, key, applyToElements(target[key], child, root))
    } else if ('compute' in child) {
      const value = child.compute(root)
      if (value === undefined) delete target[key]
      else setMember(target, key, value)
    }
  }
  return target
}

/** Applies to each element of an array; values that are not documents become documents. */
const applyToElements = (value: unknown, node: Branch, root: Document): unknown => {
  if (Array.isArray(value)) return value.map((element) => applyToElements(element, node, root))
  return compute(isObject(value) ? { ...documentFields(value) } : {}, node, root)
}
