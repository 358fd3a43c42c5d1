/** Aggregation expressions compiled to functions of a document and its variables. */
import type { Document } from 'bson'
import { documentFields, getMember, isObject, setMember } from '../../values/bson-values.ts'
import type { Collation } from '../../values/compare.ts'
import { fail } from '../../values/errors.ts'
import { type Compiler, type Expression, splitFieldPath } from './expression.ts'
import { checkText, startEvaluationTime } from './operators/operands.ts'
import { operators } from './operators/operator-table.ts'

export interface ExpressionOptions {
  collation?: Collation | undefined
  /** `let` variables of the command, with their values. */
  variables?: Document | undefined
  /** Evaluates constant parts with each document, and so not at all without documents. */
  hasLateConstants?: boolean | undefined
}

/** The state that the parts of a command's expressions share. */
class SharedState {
  /** No document is available. */
  readonly constant: boolean
  readonly late: boolean
  /** The number of parts that depend on the document, a variable or randomness. */
  varyingParts = 0
  /** Evaluations of the constant parts. */
  constantEvaluations: (() => void)[] = []

  constructor({ constant = false, late = false } = {}) {
    this.constant = constant
    this.late = late
  }
}

class Compilation implements Compiler {
  readonly collation: Collation | undefined
  readonly #names: ReadonlySet<string>
  readonly #shared: SharedState

  constructor(names: Iterable<string>, collation: Collation | undefined, state = new SharedState()) {
    this.#names = new Set(names)
    this.collation = collation
    this.#shared = state
  }

  with(...names: string[]): Compilation {
    return new Compilation([...this.#names, ...names], this.collation, this.#shared)
  }

  /**
   * Compiles a whole expression. As in MongoDB, its constant parts are evaluated first, needed or not, unless
   * `hasLateConstants`.
   */
  compileWhole(expression: unknown): Expression {
    const compiledExpression = this.compile(expression)
    startEvaluationTime()
    for (const fold of this.#shared.constantEvaluations.splice(0)) fold()
    return compiledExpression
  }

  compile(expression: unknown): Expression {
    if (typeof expression === 'string') {
      if (expression.startsWith('$')) return this.#path(expression)
      checkText(expression)
      return () => expression
    }
    if (Array.isArray(expression)) {
      const elements = expression.map((element) => this.compile(element))
      return (scope) => elements.map((element) => element(scope) ?? null)
    }
    return isObject(expression) ? this.#object(documentFields(expression)) : () => expression
  }

  #object(expression: Document): Expression {
    const keys = Object.keys(expression)
    if (keys[0]?.startsWith('$')) {
      if (keys.length > 1)
        fail(15983, `An object representing an expression must have exactly one field: ${keys}`)
      return this.#operator(keys[0], expression[keys[0]])
    }
    const parts = keys.map((key): [string, Expression] => [checkKey(key), this.compile(expression[key])])
    return (scope) => {
      const result: Document = {}
      for (const [key, value] of parts) {
        const fieldValue = value(scope)
        if (fieldValue !== undefined) setMember(result, key, fieldValue)
      }
      return result
    }
  }

  #operator(name: string, operand: unknown): Expression {
    const operator = Object.hasOwn(operators, name) ? operators[name] : undefined
    if (operator) {
      if (name === '$rand') this.#shared.varyingParts++
      const before = this.#shared.varyingParts
      const compiledExpression = operator(operand, this, name)
      return this.#shared.varyingParts > before || this.#shared.late
        ? compiledExpression
        : this.#foldConstants(compiledExpression)
    }
    if (REFUSED_OPERATORS.has(name)) return fail(115, `expression ${name} is not supported by this engine`)
    return fail(168, `Unrecognized expression '${name}'`)
  }

  #foldConstants(expression: Expression): Expression {
    let constant: { value: unknown } | undefined
    this.#shared.constantEvaluations.push(() => {
      constant = { value: expression({ root: undefined, variables: {} }) }
    })
    return (scope) => (constant ?? { value: expression(scope) }).value
  }

  #path(path: string): Expression {
    this.#shared.varyingParts++
    if (path === '$') return fail(16872, "'$' by itself is not a valid FieldPath")
    if (!path.startsWith('$$')) return fieldPath(this.#current(), splitFieldPath(path.slice(1)))
    if (path === '$$') return fail(9, 'empty variable names are not allowed')
    const [name = '', ...parts] = splitFieldPath(path.slice(2))
    return fieldPath(this.#variable(name), parts)
  }

  /** The current document, to which paths refer, unless a loop variable has that name. */
  #current(): Expression {
    return this.#names.has('CURRENT') ? ({ variables }) => variables.CURRENT : this.#document()
  }

  #document(): Expression {
    if (this.#shared.constant) fail(4890500, 'a constant expression cannot refer to a document')
    return ({ root }) => root
  }

  #variable(name: string): Expression {
    if (this.#names.has(name)) return ({ variables }) => variables[name]
    switch (name) {
      case 'ROOT':
      case 'CURRENT':
        return this.#document()
      case 'REMOVE':
        return () => undefined
      case 'DESCEND':
      case 'PRUNE':
      case 'KEEP':
        return () => name.toLowerCase()
      case 'NOW':
      case 'CLUSTER_TIME':
        return fail(51144, `Builtin variable '$$${name}' is not available`)
      default:
        return fail(17276, `Use of undefined variable: ${name}`)
    }
  }
}

/** MongoDB's operators that this engine does not have. */
const REFUSED_OPERATORS = new Set(
  '$function $accumulator $meta $sigmoid $toHashedIndexKey $median $percentile $encStrContains $encStrStartsWith $createObjectId $hash $serializeEJSON $deserializeEJSON'.split(
    ' ',
  ),
)

const checkKey = (key: string): string => {
  if (key.startsWith('$'))
    fail(
      16410,
      `FieldPath field names may not start with '$'. Consider using $getField or $setField: '${key}'`,
    )
  if (key.includes('.')) fail(16412, `FieldPath field names may not contain '.': '${key}'`)
  if (key === '') fail(15998, 'FieldPath field names may not be empty strings.')
  return key
}

const fieldPath = (start: Expression, parts: string[]): Expression =>
  parts.length === 0 ? start : (scope) => followPath(start(scope), parts, 0)

/** An array along the path yields the array of its documents' values. */
const followPath = (value: unknown, parts: string[], at: number): unknown => {
  if (at === parts.length) return value
  if (Array.isArray(value))
    return value.flatMap((element) => {
      const member = isObject(element) ? followPath(element, parts, at) : undefined
      return member === undefined ? [] : [member]
    })
  const next = getMember(value, parts[at] as string)
  return next === undefined ? undefined : followPath(next, parts, at + 1)
}

export type CompiledExpression = (document: unknown, further?: Record<string, unknown>) => unknown

/** The expressions of one command share a compiler: its collation, its variables and its current time. */
export const createCompiler = ({
  collation,
  variables = {},
  hasLateConstants: late,
}: ExpressionOptions): ((expression: unknown, ...names: string[]) => CompiledExpression) => {
  const compilation = new Compilation(Object.keys(variables), collation, new SharedState({ late }))
  return (expression, ...names) => {
    const run = compilation.with(...names).compileWhole(expression)
    return (root, further) => {
      startEvaluationTime()
      return run({ root, variables: further ? { ...variables, ...further } : variables })
    }
  }
}

export const compileExpression = (expression: unknown, options: ExpressionOptions = {}): CompiledExpression =>
  createCompiler(options)(expression)

/** Evaluates an expression without a document, from variables only. */
export const evaluateConstant = (expression: unknown, variables: Document): unknown =>
  new Compilation(Object.keys(variables), undefined, new SharedState({ constant: true })).compileWhole(
    expression,
  )({
    root: undefined,
    variables,
  })
