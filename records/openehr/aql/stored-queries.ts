import { type Static, Type } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Expected } from '../../store/decisions.ts'
import type { Caller } from '../../store/documents/caller.ts'
import type { Saved } from '../../store/documents/parse-format.ts'
import type { Page, PageOf } from '../../store/reading/listing.ts'
import { Store } from '../../store/store.ts'
import type { Records } from '../../store/writing/transaction.ts'
import { type Parameters, parametersIn } from './checker.ts'
import { type QueryRequest, queryIn } from './queries.ts'

const Kept = Type.Object({ name: Type.String(), q: Type.String(), description: Type.Optional(Type.String()) })
type Kept = Static<typeof Kept>

/** Whoever is logged in asks them, and sees what they may read; who may change them, the operation has asked. */
const PERMISSIONS = { read: ['*'], write: ['role:modeller'] }

interface Condition {
  expected: Expected
  /** Whether only a new one is wanted. */
  createOnly: boolean
}

/** A query that is kept, and the names of its parameters. */
export interface StoredQuery extends Saved<Kept> {
  parameters: string[]
}

const withParameters = (kept: Saved<Kept>): StoredQuery => ({ ...kept, parameters: parametersIn(kept.q) })

/** @throws InvalidInput for what is no query, whatever its parameters will be */
const requireQuery = (q: string): void => {
  queryIn({ q, parameters: new Proxy({}, ANY_VALUES) })
}

/** Each parameter has a value: a text stands wherever one may. */
const ANY_VALUES: ProxyHandler<Record<string, unknown>> = {
  get: () => '',
  getOwnPropertyDescriptor: () => ({ value: '', configurable: true, enumerable: true }),
}

/** Queries that modellers keep for everybody. */
export class StoredQueries {
  readonly #store

  constructor(records: Records) {
    this.#store = new Store(records, {
      collection: 'openehr.queries',
      schema: Kept,
      lists: { byName: { by: [], sort: 'name', order: 'asc' } },
    })
  }

  indexes(): [collection: string, IndexDescription[]][] {
    return [this.#store.indexes()]
  }

  /** By their names. @throws MalformedRequest for a cursor of another list */
  async list(caller: Caller, page: PageOf): Promise<Page<StoredQuery>> {
    const { items, ...rest } = await this.#store.list(caller, 'byName', { where: {}, ...page })
    return { ...rest, items: items.map(withParameters) }
  }

  /** @throws NotFound */
  async get(caller: Caller, name: string): Promise<StoredQuery> {
    return withParameters(await this.#store.get(caller, { id: name }))
  }

  /** Replaces the query of that name, or makes it. @throws InvalidInput for what is no query; PreconditionFailed */
  async put(
    caller: Caller,
    kept: Kept,
    { expected, createOnly }: Condition,
  ): Promise<{ query: StoredQuery; created: boolean }> {
    requireQuery(kept.q)
    const id = kept.name
    const replace = () =>
      this.#store.update(caller, { id }, () => kept, { expected: createOnly ? [] : expected })
    const replaced = await replace().catch((error: unknown) => {
      if (error instanceof ServiceError && error.error === 'NotFound') return undefined
      throw error
    })
    if (replaced) return { query: withParameters(replaced), created: false }
    if (expected !== undefined) throw new ServiceError('PreconditionFailed')
    return {
      query: withParameters(await this.#store.create(caller, kept, PERMISSIONS, { id })),
      created: true,
    }
  }

  /** @throws NotFound; PreconditionFailed */
  remove(caller: Caller, name: string, expected: Expected): Promise<void> {
    return this.#store.remove(caller, { id: name }, { expected })
  }

  /** The query with values of its parameters, to be asked. @throws NotFound; InvalidInput for parameters that it has not */
  async requestFor(
    caller: Caller,
    name: string,
    parameters: Parameters,
  ): Promise<Pick<QueryRequest, 'q' | 'parameters'>> {
    const { q, parameters: known } = await this.get(caller, name)
    const violations = Object.keys(parameters)
      .filter((one) => !known.includes(one))
      .map((one) => ({
        path: `query_parameters.${one.slice(0, 60)}`,
        code: 'unknown',
        message: `is no parameter of the query, which has ${known.join(', ') || 'none'}`,
      }))
    if (violations.length > 0)
      throw new ServiceError('InvalidInput', { violations: violations.slice(0, 100) })
    return { q, parameters }
  }
}
