import type { TSchema } from '@sinclair/typebox'
import { CLASS_NAMES, type ClassName, classKinds } from '../../../records/kinds.ts'
import type { RecordIds } from './context/openapi-targets.ts'
import type { Random } from './context/random.ts'
import { pickNaughtyValue } from './mutations/value-mutations.ts'
import { SchemaValues } from './schema-values.ts'

type Fields = Record<string, unknown>

const PATTERNS = [
  '^Walk',
  'a{0,200}a{0,200}b',
  '(',
  '[z-a]',
  '(?=a)',
  '\\1',
  '(a+)+$',
  '.*',
  '\\Qx\\E',
  '\u0000',
  'é',
  '(?i)A',
]

/** The properties of a class, from its definition. */
const propertiesOf = (name: ClassName): Record<string, TSchema> => classKinds[name].stored.properties

/** Conditions on a class in Parse's query language, and the other parameters of a list. */
export class QueryGenerator {
  readonly #random: Random
  readonly #values: SchemaValues
  readonly #place: RecordIds

  constructor(random: Random, place: RecordIds) {
    this.#random = random
    this.#place = place
    this.#values = new SchemaValues(random, { resolve: (schema) => schema, facts: place })
  }

  /** @param depth the remaining depth of nested conditions */
  where(name: ClassName, depth = 3): Fields {
    const random = this.#random
    const fields = random.some(Object.keys(propertiesOf(name)), 0.15)
    const conditions = fields.map((field) => [field, this.#constraint(name, field, depth)])
    const { ehrId } = this.#place
    const mine =
      ehrId !== undefined && 'ehrId' in propertiesOf(name) && random.chance(0.4) ? [['ehrId', ehrId]] : []
    const joined =
      depth > 0 && random.chance(0.15)
        ? [[random.pick(['$or', '$and', '$nor']), [this.where(name, depth - 1), this.where(name, depth - 1)]]]
        : []
    return Object.fromEntries([...conditions, ...mine, ...joined])
  }

  #constraint(name: ClassName, field: string, depth: number): unknown {
    const random = this.#random
    const value = this.#values.of(propertiesOf(name)[field], field)
    const operator = random.pick(['$eq', '$ne', '$lt', '$lte', '$gt', '$gte'])
    return random.weighted<() => unknown>([
      [4, () => value],
      [3, () => ({ [operator]: value })],
      [
        2,
        () => ({
          [random.pick(['$in', '$nin', '$all', '$containedBy'])]: [value, random.chance(0.2) ? null : value],
        }),
      ],
      [1, () => ({ $exists: random.chance(0.5) })],
      [2, () => ({ $regex: random.pick(PATTERNS), $options: random.pick(['', 'i', 'ims', 'g', 'xx']) })],
      [1, () => ({ [random.pick(['$inQuery', '$notInQuery'])]: this.#subquery(depth) })],
      [
        1,
        () => ({ [random.pick(['$select', '$dontSelect'])]: { key: field, query: this.#subquery(depth) } }),
      ],
      [
        1,
        () => ({
          [random.pick(['$where', '$text', '$geoWithin', '$near', '$size', '$not', '$expr', '$type'])]: value,
        }),
      ],
      [1, () => ({ [operator]: pickNaughtyValue(random) })],
    ])()
  }

  #subquery(depth: number): Fields {
    const className = this.#random.pick([...CLASS_NAMES, '_User', '_Role', 'Nope'])
    const where = depth > 0 && className in classKinds ? this.where(className as ClassName, depth - 1) : {}
    return { className, where, ...(this.#random.chance(0.3) && { limit: 5, order: 'createdAt' }) }
  }

  /** All parameters of a list, each present now and then. */
  list(name: ClassName): Fields {
    const random = this.#random
    const field = random.pick([...Object.keys(propertiesOf(name)), 'ACL', '_rperm', 'payload.a', 'nope'])
    const parameters: Fields = {
      where: this.where(name),
      order: random.pick(['createdAt', '-createdAt', `${field},-updatedAt`, '-', '']),
      limit: random.pick([0, 1, 5, 100, 1000, -1, 1e10, 'x']),
      skip: random.pick([0, 1, 10_000, -1]),
      count: random.pick([1, 0, true, 'x']),
      keys: random.pick([field, `${field},${field}`, '']),
      excludeKeys: field,
      include: random.pick([field, 'ehrId.subjectId', '*']),
      distinct: field,
      includeAll: true,
      explain: true,
    }
    const shares: Fields = { where: 0.8, limit: 0.4, order: 0.4 }
    return Object.fromEntries(
      Object.entries(parameters).filter(([parameter]) => random.chance(Number(shares[parameter] ?? 0.08))),
    )
  }
}
