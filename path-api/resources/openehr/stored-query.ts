import { Type } from '@sinclair/typebox'
import type { StoredQuery } from '../../../openehr/aql/stored-queries.ts'
import {
  runLinkFields,
  StoredQueryBody,
  StoredQueryResource,
  StoredQueryRun,
} from '../../../schemas/openehr/aql.ts'
import { defineArrayOperation, mapPage } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { replyWith } from '../../reply/reply.ts'
import { parseQueryParameters, QUERY_DEADLINE_MS, replyWithQueryResult, resultFormats } from './aql.ts'

const storedQueriesSource = 'Operations of our own: stored queries'
const storedQueriesPath = '/med/query'
const storedQueryPath = `${storedQueriesPath}/{name}` as const

const storedQueryParams = {
  name: Type.String({
    pattern: '^[A-Za-z][A-Za-z0-9_.-]{0,99}$',
    description: 'Name of the query',
    examples: ['high_pressures.v1'],
  }),
}

const toStoredQueryResource = ({ name, q, description, parameters, version }: StoredQuery) => ({
  name,
  q,
  description: description ?? null,
  parameters,
  version,
})

export const storedQueryOperations = [
  defineArrayOperation({
    id: 'listStoredQueries',
    path: storedQueriesPath,
    summary: 'List the stored queries',
    source: storedQueriesSource,
    extra: true,
    access: 'user',
    item: StoredQueryResource,
    handle: async ({ page }, { caller, storedQueries }) =>
      mapPage(await storedQueries.list(caller, page), toStoredQueryResource),
  }),
  defineOperation({
    id: 'getStoredQuery',
    method: 'get',
    path: storedQueryPath,
    params: storedQueryParams,
    summary: 'Get a stored query',
    source: storedQueriesSource,
    extra: true,
    access: 'user',
    reply: [200, StoredQueryResource, 'versioned'],
    handle: async ({ params: { name } }, { caller, storedQueries }) => {
      const query = await storedQueries.get(caller, name)
      return replyWith(toStoredQueryResource(query), { version: query.version })
    },
  }),
  defineOperation({
    id: 'putStoredQuery',
    method: 'put',
    path: storedQueryPath,
    params: storedQueryParams,
    summary: 'Replace a stored query, or create it',
    description: 'Every logged-in user may run it; the result contains only data that this user may read.',
    source: storedQueriesSource,
    extra: true,
    access: 'modeller',
    creates: true,
    body: StoredQueryBody,
    reply: [200, StoredQueryResource, 'versioned'],
    errors: ['Conflict'],
    handle: async ({ params: { name }, body: { q, description } }, context) => {
      const { caller, storedQueries, ifMatch, createOnly } = context
      const definition = { name, q, ...(description && { description }) }
      const { query, created } = await storedQueries.put(caller, definition, {
        expected: ifMatch,
        createOnly,
      })
      return replyWith(toStoredQueryResource(query), { version: query.version, created })
    },
  }),
  defineOperation({
    id: 'deleteStoredQuery',
    method: 'delete',
    path: storedQueryPath,
    params: storedQueryParams,
    summary: 'Delete a stored query',
    source: storedQueriesSource,
    extra: true,
    access: 'modeller',
    reply: [204],
    handle: ({ params: { name } }, { caller, storedQueries, ifMatch }) =>
      storedQueries.remove(caller, name, ifMatch),
  }),
  defineOperation({
    id: 'runStoredQuery',
    method: 'post',
    path: `${storedQueryPath}/run`,
    params: storedQueryParams,
    summary: 'Run a stored query',
    description:
      'The response has the form of `POST /med/aql`. Parameters that the query does not have are rejected.',
    source: storedQueriesSource,
    extra: true,
    access: 'user',
    body: StoredQueryRun,
    reply: [200, resultFormats],
    errors: ['RuleViolated', 'DeadlineExceeded'],
    handle: async ({ params: { name }, body: { query_parameters = {}, ...page } }, context) => {
      const { caller, storedQueries } = context
      return replyWithQueryResult(
        { ...(await storedQueries.requestFor(caller, name, query_parameters)), ...page },
        context,
      )
    },
  }),
  defineOperation({
    id: 'linkStoredQuery',
    method: 'get',
    path: `${storedQueryPath}/run`,
    params: storedQueryParams,
    query: runLinkFields,
    summary: 'Run a stored query, as a link',
    source: storedQueriesSource,
    extra: true,
    access: 'user',
    reply: [200, resultFormats],
    errors: ['RuleViolated'],
    deadlineMs: QUERY_DEADLINE_MS,
    handle: async ({ params: { name }, query: { query_parameters, ...page } }, context) => {
      const { caller, storedQueries } = context
      const request = await storedQueries.requestFor(caller, name, parseQueryParameters(query_parameters))
      return replyWithQueryResult({ ...request, ...page }, context)
    },
  }),
]
