import type { RmObject } from '../../../openehr/rm/canonical-json.ts'
import { isSubclassOf, rmClassNames } from '../../../schemas/openehr/rm-classes.ts'
import type { Random } from '../generator/context/random.ts'

const isObject = (value: unknown): value is RmObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** An AQL variable, and an object that it may be bound to. */
interface NamedObject {
  variable: string
  object: RmObject
}

interface ReachedValue {
  path: string
  value: unknown
}

/** Functions of one string, and of one number. */
const OF_TEXTS = [
  'LENGTH(?)',
  'SUBSTRING(?, 2, 3)',
  "CONCAT(?, '-', ?)",
  "POSITION('a', ?)",
  "CONCAT_WS(' ', ?, 1)",
]
const OF_NUMBERS = ['ABS(?)', 'ROUND(?, 1)', 'CEIL(?)', 'FLOOR(?)', 'MOD(?, 3)']
const NOW = ['NOW()', 'CURRENT_DATE()', 'CURRENT_TIME()', 'CURRENT_DATE_TIME()', 'CURRENT_TIMEZONE()']
const OPERATORS = ['=', '!=', '<>', '<', '<=', '>', '>=']

/** Generates valid queries, from the whole grammar, about the content of some compositions. */
export class AqlQueryGenerator {
  readonly #roots: readonly RmObject[]
  readonly #random: Random
  #variables = 0

  constructor(roots: readonly RmObject[], random: Random) {
    this.#roots = roots
    this.#random = random
  }

  next(): string {
    const random = this.#random
    const namedObjects: NamedObject[] = []
    this.#variables = 0
    const root = random.pick(this.#roots)
    const inside = this.#containing(root, namedObjects, 0)
    const version = random.weighted([
      [12, ''],
      [1, 'VERSION v CONTAINS '],
      [1, 'VERSION v[LATEST_VERSION] CONTAINS '],
      [1, 'VERSION v[ALL_VERSIONS] CONTAINS '],
    ])
    const source = random.chance(0.8) ? `EHR e CONTAINS ${version}${inside}` : inside
    const isAggregated = random.chance(0.2)
    const columns = Array.from({ length: random.int(1, 4) }, (_, i) => {
      const { path, value } = this.#path(random.pick(namedObjects))
      const column =
        isAggregated && random.chance(0.8) ? this.#aggregate(path) : this.#expression(path, value)
      return random.chance(0.3) ? `${column} AS ${random.pick(['a', 'b', 'x_'])}${i}` : column
    })
    const where = random.chance(0.6) ? ` WHERE ${this.#condition(namedObjects, 0)}` : ''
    return [
      `SELECT ${random.chance(0.15) ? 'DISTINCT ' : ''}${columns.join(', ')} FROM ${source}${where}`,
      this.#order(columns, namedObjects, isAggregated),
      this.#limit(),
    ].join('')
  }

  /** A class expression for the object, with optional predicate and contained objects. */
  #containing(object: RmObject, namedObjects: NamedObject[], depth: number): string {
    const random = this.#random
    const variable = `n${this.#variables++}`
    namedObjects.push({ variable, object })
    const types = rmClassNames.filter((name) => isSubclassOf(object._type, name))
    const type = random.chance(0.8) ? object._type : random.pick(types)
    const head = `${type} ${variable}${random.chance(0.5) ? this.#predicate(object) : ''}`
    const inner = descendantsOf(object)
    if (depth > 2 || inner.length === 0 || random.chance(0.25)) return head
    const one = this.#containing(random.pick(inner), namedObjects, depth + 1)
    const joined = random.weighted<() => string>([
      [8, () => one],
      [1, () => `(${one} AND ${this.#containing(random.pick(inner), namedObjects, depth + 2)})`],
      [1, () => `(${one} OR ${this.#containing(random.pick(inner), namedObjects, depth + 2)})`],
    ])()
    const isOut = random.chance(0.05)
    if (isOut) namedObjects.splice(namedObjects.findIndex((other) => other.variable === variable) + 1)
    return `${head}${isOut ? ' NOT' : ''} CONTAINS ${joined}`
  }

  /** A predicate that usually matches the object. */
  #predicate({ archetype_node_id: id, name }: RmObject): string {
    if (typeof id !== 'string') return ''
    const called = quoteAql(isObject(name) ? name.value : '')
    return this.#random.weighted([
      [6, `[${id}]`],
      [1, `[${id}, ${called}]`],
      [1, `[${id} and name/value = ${called}]`],
      [1, `[name/value = ${called}]`],
      [1, `[${id} or name/value != ${called}]`],
    ])
  }

  /** A path from an object, and the value at its end. */
  #path({ variable, object }: NamedObject): ReachedValue {
    const random = this.#random
    let [path, value]: [string, unknown] = [variable, object]
    for (let step = 0; step < 8; step++) {
      if (!isObject(value) || (step > 0 && random.chance(0.1))) break
      const names = Object.keys(value).filter((name) => name !== '_type')
      if (names.length === 0) break
      const name = random.pick(names)
      const members = [value[name]].flat()
      value = members.length === 0 ? undefined : random.pick(members)
      path += `/${name}${isObject(value) && random.chance(0.5) ? this.#predicate(value) : ''}`
    }
    return { path, value: isObject(value) ? (value.magnitude ?? value.value) : value }
  }

  #expression(path: string, value: unknown): string {
    const random = this.#random
    const call =
      typeof value === 'number'
        ? random.pick(OF_NUMBERS)
        : typeof value === 'string'
          ? random.pick(OF_TEXTS)
          : '?'
    return random.weighted([
      [8, path],
      [2, call.replaceAll('?', () => path)],
      [0.3, random.pick(NOW)],
      [0.3, this.#literal(value)],
    ])
  }

  #aggregate(path: string): string {
    const random = this.#random
    return random.chance(0.2)
      ? 'COUNT(*)'
      : `${random.pick(['COUNT(', 'COUNT(DISTINCT ', 'MIN(', 'MAX(', 'SUM(', 'AVG('])}${path})`
  }

  #condition(namedObjects: readonly NamedObject[], depth: number): string {
    const random = this.#random
    const inner = () => this.#condition(namedObjects, depth + 1)
    if (depth < 3 && random.chance(0.3)) return `(${inner()} ${random.pick(['AND', 'OR'])} ${inner()})`
    if (random.chance(0.1)) return `NOT ${inner()}`
    const { path, value } = this.#path(random.pick(namedObjects))
    const operator = random.pick(OPERATORS)
    return random.weighted<() => string>([
      [6, () => `${this.#expression(path, value)} ${operator} ${this.#literal(value)}`],
      [1, () => `${this.#literal(value)} ${operator} ${path}`],
      [1, () => `${path} ${operator} ${this.#path(random.pick(namedObjects)).path}`],
      [1, () => `EXISTS ${path}`],
      [1, () => `${path} MATCHES {${[this.#literal(value), this.#literal(undefined)].join(', ')}}`],
      [1, () => `${path} LIKE ${quoteAql(`${random.pick(['*', '?', ''])}${String(value).slice(1, 9)}*`)}`],
    ])()
  }

  /** The value, a value near it, or any other. */
  #literal(value: unknown): string {
    const random = this.#random
    if (typeof value === 'number') return String(Math.abs(value + random.pick([0, 0, 1, -0.5])))
    if (typeof value === 'boolean') return String(random.chance(0.5))
    if (typeof value === 'string' && random.chance(0.8))
      return quoteAql(random.chance(0.7) ? value : value.slice(0, random.int(0, value.length)))
    return random.pick([
      '0',
      '142.5',
      '1e3',
      "'2026-03-01'",
      "'2026-03-01T08:30:00Z'",
      "'a'",
      'true',
      'NULL',
      "''",
    ])
  }

  #order(columns: readonly string[], namedObjects: readonly NamedObject[], isAggregated: boolean): string {
    const random = this.#random
    if (random.chance(0.6)) return ''
    const ofColumns = columns
      .map((column) => column.replace(/^.* AS /s, ''))
      .filter((one) => /^(n\d+([/[]|$)|(a|b|x_)\d$)/.test(one))
    const otherColumns = isAggregated ? [] : [this.#path(random.pick(namedObjects)).path]
    const allColumns = [...ofColumns, ...otherColumns]
    if (allColumns.length === 0) return ''
    return ` ORDER BY ${random.pick(allColumns)}${random.pick(['', ' ASC', ' DESC'])}`
  }

  #limit(): string {
    const random = this.#random
    if (random.chance(0.5)) return ''
    return ` LIMIT ${random.int(1, 100)}${random.chance(0.3) ? ` OFFSET ${random.int(0, 20)}` : ''}`
  }
}

/** As an AQL string. */
const quoteAql = (value: unknown): string => `'${String(value).replace(/[\\']/g, '\\$&')}'`

function descendantsOf(object: RmObject): RmObject[] {
  const members = Object.values(object).flat().filter(isObject)
  return members.flatMap((member) => [member, ...descendantsOf(member)])
}
