import { Type } from '@sinclair/typebox'
import { closedObject } from '../../../../schemas/common.ts'
import { ServiceError } from '../../../../schemas/errors.ts'
import { parseUnambiguousJson, RepeatedNamesError } from '../../../../schemas/json/repeated-names.ts'
import type { Context } from '../../../operation/context.ts'
import { defineOperation } from '../../../operation/operation.ts'
import { type RawContent, rawBody } from '../../../reply/body-media.ts'
import { malformedInput } from '../../../reply/invalid-input.ts'
import { replyWith } from '../../../reply/reply.ts'
import { REST_PATH, restOperation } from '../shared/rest-operation.ts'
import {
  findQueryVersion,
  listQueryVersions,
  nextVersion,
  type QueryVersion,
  queryNameParams,
  queryVersionParams,
  storedNameOf,
  storedVersionParams,
} from './query-versions.ts'

const QUERIES_PATH = `${REST_PATH}/definition/query` as const

const StoredQueryVersion = closedObject('StoredQueryVersion', 'A version of a stored query', {
  name: Type.String({
    description: 'Qualified name of the query',
    examples: ['org.openehr::high_pressures'],
  }),
  type: Type.String({ description: 'Language of the query', examples: ['AQL'] }),
  version: Type.String({ description: 'Version of the query', examples: ['1.0.0'] }),
  saved: Type.String({ format: 'date-time', description: 'Time of storage' }),
  q: Type.String({ description: 'The query', examples: ['SELECT e FROM EHR e'] }),
})

const toStoredQueryVersion = ({ name, version, query: { q, updatedAt } }: QueryVersion) => ({
  name,
  type: 'AQL',
  version,
  saved: updatedAt,
  q,
})

/** The language; there is one. Clients name it by either parameter. */
const queryTypeField = Type.Optional(
  Type.String({ pattern: '^[Aa][Qq][Ll]$', description: 'Language of the query: AQL', examples: ['AQL'] }),
)
const queryType = { query_type: queryTypeField, type: queryTypeField }
const queryBody = rawBody('text/plain', 'application/json')

/** The text of a query, or the JSON `{ q }` that clients of another server send. @throws InvalidInput */
function sentQuery({ type, bytes }: RawContent): string {
  const text = bytes.toString()
  if (type !== 'application/json') return text
  try {
    const { q } = parseUnambiguousJson(text) as { q: unknown }
    if (typeof q === 'string') return q
  } catch (error) {
    if (error instanceof RepeatedNamesError)
      throw malformedInput('body', '', 'repeated', `has ${error.message}`)
    // Handled below like JSON without a query.
  }
  throw new ServiceError('InvalidInput', {
    violations: [{ path: 'q', code: 'required', message: 'must be the text of the query' }],
  })
}

/** Stores a version, which nobody can replace. @throws Conflict when it exists */
async function storeVersion(context: Context<'modeller'>, name: string, version: string, q: string) {
  const { caller, storedQueries } = context
  const storedQuery = { name: storedNameOf(name, version), q }
  const { query } = await storedQueries
    .put(caller, storedQuery, { expected: undefined, createOnly: true })
    .catch((error: unknown) => {
      if (!(error instanceof ServiceError && error.error === 'PreconditionFailed')) throw error
      throw new ServiceError('Conflict', { detail: 'This version of the query is stored already.' })
    })
  return replyWith(toStoredQueryVersion({ name, version, query }), {
    version,
    location: `${QUERIES_PATH}/${name}/${version}`,
  })
}

/** Stores the first version after the latest one that no concurrent request has stored. */
async function storeNextVersion(
  context: Context<'modeller'>,
  name: string,
  latest: string | undefined,
  q: string,
): ReturnType<typeof storeVersion> {
  const version = nextVersion(latest)
  return storeVersion(context, name, version, q).catch((error: unknown) => {
    if (!(error instanceof ServiceError && error.error === 'Conflict')) throw error
    return storeNextVersion(context, name, version, q)
  })
}

/** @throws PreconditionFailed, since a stored version never changes */
function requireUnconditional({ ifMatchOf }: Pick<Context, 'ifMatchOf'>): void {
  if (ifMatchOf('') !== undefined) throw new ServiceError('PreconditionFailed')
}

const putQuery = {
  ...restOperation,
  method: 'put',
  access: 'modeller',
  query: queryType,
  body: queryBody,
  reply: [200, StoredQueryVersion, 'versioned'],
  errors: ['Conflict'],
} as const
const QueryVersions = Type.Array(StoredQueryVersion, { description: 'Versions of queries, by name' })

export const restQueryDefinitionOperations = [
  defineOperation({
    ...restOperation,
    id: 'listRestQueries',
    method: 'get',
    path: QUERIES_PATH,
    summary: 'List all versions of the stored queries',
    access: 'user',
    reply: [200, QueryVersions],
    handle: async (_, context) => (await listQueryVersions(context, '')).map(toStoredQueryVersion),
  }),
  defineOperation({
    ...restOperation,
    id: 'listRestQueryVersions',
    method: 'get',
    path: `${QUERIES_PATH}/{name}`,
    params: queryNameParams,
    summary: 'List all versions of the stored queries whose names begin with a text',
    access: 'user',
    reply: [200, QueryVersions],
    handle: async ({ params: { name } }, context) =>
      (await listQueryVersions(context, name)).map(toStoredQueryVersion),
  }),
  defineOperation({
    ...putQuery,
    id: 'storeRestQuery',
    path: `${QUERIES_PATH}/{name}`,
    params: queryNameParams,
    summary: 'Create the next version of a query',
    description: 'The first version is 1.0.0; each further one has the next patch number.',
    handle: async ({ params: { name }, body }, context) => {
      requireUnconditional(context)
      const queryVersions = await listQueryVersions(context, name)
      const latest = queryVersions.findLast((one) => one.name === name)
      return storeNextVersion(context, name, latest?.version, sentQuery(body))
    },
  }),
  defineOperation({
    ...restOperation,
    id: 'getRestQueryVersion',
    method: 'get',
    path: `${QUERIES_PATH}/{name}/{version}`,
    params: queryVersionParams,
    summary: 'Get a version of a stored query',
    access: 'user',
    reply: [200, StoredQueryVersion, 'versioned'],
    handle: async ({ params: { name, version } }, context) => {
      const queryVersion = await findQueryVersion(context, name, version)
      return replyWith(toStoredQueryVersion(queryVersion), { version: queryVersion.version })
    },
  }),
  defineOperation({
    ...putQuery,
    id: 'storeRestQueryVersion',
    path: `${QUERIES_PATH}/{name}/{version}`,
    params: storedVersionParams,
    summary: 'Create a version of a query',
    description: 'A stored version is never replaced.',
    handle: async ({ params: { name, version }, body }, context) => {
      requireUnconditional(context)
      return storeVersion(context, name, version, sentQuery(body))
    },
  }),
]
