import { type Static, Type } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import type { Caller } from '../../records/store/documents/caller.ts'
import type { SavedRecord } from '../../records/store/documents/parse-format.ts'
import type { Page, PageRequest } from '../../records/store/reading/pages.ts'
import { Store } from '../../records/store/store.ts'
import type { ExpectedVersions } from '../../records/store/write-decider.ts'
import type { StoreContext } from '../../records/store/writing/transaction.ts'
import { MODELLER_PERMISSIONS } from '../../records/types/modeller-permissions.ts'
import { ifNotFound, ServiceError } from '../../schemas/errors.ts'
import { parameterNames, type QueryParameters } from './check-query.ts'
import { parseAndCheckQuery, type QueryRequest } from './queries.ts'

const QueryRecord = Type.Object({
  name: Type.String(),
  q: Type.String(),
  description: Type.Optional(Type.String()),
})
type QueryRecord = Static<typeof QueryRecord>

/** The version that the openEHR REST API shows of a query that was stored without one. */
export const ONLY_VERSION = '1.0.0'

/** A query without a version and its version 1.0.0 have one id, so that only one of them is stored. */
const idOf = (name: string) => name.replace(/\/1\.0\.0$/, '')

interface PutCondition {
  expected: ExpectedVersions
  /** Whether the query must not exist yet. */
  createOnly: boolean
}

/** A stored query with the names of its parameters. */
export interface StoredQuery extends SavedRecord<QueryRecord> {
  parameters: string[]
}

const withParameters = (query: SavedRecord<QueryRecord>): StoredQuery => ({
  ...query,
  parameters: parameterNames(query.q),
})

/** @throws InvalidInput if the query is invalid for any values of its parameters */
const requireValidQuery = (q: string): void => {
  parseAndCheckQuery({ q, parameters: new Proxy({}, ANY_PARAMETER_VALUES) })
}

/** Gives each parameter an empty text, which is valid in every position. */
const ANY_PARAMETER_VALUES: ProxyHandler<Record<string, unknown>> = {
  get: () => '',
  getOwnPropertyDescriptor: () => ({ value: '', configurable: true, enumerable: true }),
}

/** Handles a rejection: a conflict. @throws any other error */
const ifConflict =
  <T>(handle: () => T) =>
  (error: unknown): T => {
    if (error instanceof ServiceError && error.error === 'Conflict') return handle()
    throw error
  }

function throwStoredByOtherApi(): never {
  throw new ServiceError('Conflict', {
    detail: `The other API has stored version ${ONLY_VERSION} of this query. Choose another name or version.`,
  })
}

/** Queries that modellers store for all users. */
export class StoredQueries {
  readonly #store

  constructor(context: StoreContext) {
    this.#store = new Store(context, {
      collection: 'openehr.queries',
      schema: QueryRecord,
      lists: { byName: { requiredFields: [], sort: 'name', order: 'asc' } },
    })
  }

  indexes(): [collection: string, IndexDescription[]][] {
    return [this.#store.indexes()]
  }

  /**
   * Lists the queries by name, all or those in a range of names.
   * @throws MalformedRequest for a cursor of another list
   */
  async list(
    caller: Caller,
    page: PageRequest,
    name?: { from: string; to: string },
  ): Promise<Page<StoredQuery>> {
    const { items, ...rest } = await this.#store.list(caller, 'byName', { where: { name }, ...page })
    return { ...rest, items: items.map(withParameters) }
  }

  /** @throws NotFound */
  async get(caller: Caller, name: string): Promise<StoredQuery> {
    return withParameters(await this.#store.get(caller, await this.#selectorOf(caller, name)))
  }

  /**
   * Creates or replaces a query.
   * @throws InvalidInput for an invalid query; PreconditionFailed; Conflict with a version that the other API has stored
   */
  async put(
    caller: Caller,
    query: QueryRecord,
    condition: PutCondition,
  ): Promise<{ query: StoredQuery; created: boolean }> {
    requireValidQuery(query.q)
    const put = () => this.#putOnce(caller, query, condition)
    // A concurrent request may have created the query: then a second attempt finds it.
    return put().catch(ifConflict(put)).catch(ifConflict(throwStoredByOtherApi))
  }

  async #putOnce(
    caller: Caller,
    query: QueryRecord,
    { expected, createOnly }: PutCondition,
  ): Promise<{ query: StoredQuery; created: boolean }> {
    const key = await this.#selectorOf(caller, query.name)
    const replace = () =>
      this.#store.update(caller, key, () => query, { expected: createOnly ? [] : expected })
    const updatedQuery = await replace().catch(ifNotFound(undefined))
    if (updatedQuery) return { query: withParameters(updatedQuery), created: false }
    if (expected !== undefined) throw new ServiceError('PreconditionFailed')
    return {
      query: withParameters(await this.#store.create(caller, query, MODELLER_PERMISSIONS, { id: key.id })),
      created: true,
    }
  }

  /** @throws NotFound; PreconditionFailed */
  async remove(caller: Caller, name: string, expected: ExpectedVersions): Promise<void> {
    return this.#store.remove(caller, await this.#selectorOf(caller, name), { expected })
  }

  /** The selector of a query. Former builds stored a version 1.0.0 with its name as its id. */
  async #selectorOf(caller: Caller, name: string) {
    const former = { id: name, name }
    const id = idOf(name)
    return id !== name && (await this.#store.find(caller, former)) ? former : { id, name }
  }

  /**
   * The query with values for its parameters, ready to run.
   * @throws NotFound; InvalidInput for unknown parameters
   */
  async requestFor(
    caller: Caller,
    name: string,
    parameters: QueryParameters,
  ): Promise<Pick<QueryRequest, 'q' | 'parameters'>> {
    const { q, parameters: queryParameters } = await this.get(caller, name)
    const violations = Object.keys(parameters)
      .filter((one) => !queryParameters.includes(one))
      .map((one) => ({
        path: `query_parameters.${one.slice(0, 60)}`,
        code: 'unknown',
        message: `is not a parameter of the query, which has ${queryParameters.join(', ') || 'none'}`,
      }))
    if (violations.length > 0)
      throw new ServiceError('InvalidInput', { violations: violations.slice(0, 100) })
    return { q, parameters }
  }
}
