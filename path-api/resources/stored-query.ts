import { Type } from '@sinclair/typebox'
import type { StoredQuery } from '../../records/openehr/aql/stored-queries.ts'
import {
  fetch,
  offset,
  queryParametersText,
  StoredQueryBody,
  StoredQueryResource,
  StoredQueryRun,
} from '../../schemas/aql.ts'
import { answer } from '../answer/answer.ts'
import { array, pageAs } from '../operation/list.ts'
import { operation } from '../operation/operation.ts'
import { answered, DEADLINE_MS, parametersIn, rows } from './aql.ts'

const source = 'Operations of our own: stored queries'
const path = '/med/query'
const one = `${path}/{name}` as const

const params = {
  name: Type.String({
    pattern: '^[A-Za-z][A-Za-z0-9_.-]{0,99}$',
    description: 'Name of the query',
    examples: ['high_pressures.v1'],
  }),
}

const representation = ({ name, q, description, parameters, version }: StoredQuery) => ({
  name,
  q,
  description: description ?? null,
  parameters,
  version,
})

export const storedQueries = [
  array({
    id: 'listStoredQueries',
    path,
    summary: 'List the stored queries',
    source,
    extra: true,
    access: 'user',
    item: StoredQueryResource,
    handle: async ({ page }, { caller, storedQueries }) =>
      pageAs(await storedQueries.list(caller, page), representation),
  }),
  operation({
    id: 'getStoredQuery',
    method: 'get',
    path: one,
    params,
    summary: 'Show a stored query',
    source,
    extra: true,
    access: 'user',
    reply: [200, StoredQueryResource, 'versioned'],
    handle: async ({ params: { name } }, { caller, storedQueries }) => {
      const query = await storedQueries.get(caller, name)
      return answer(representation(query), { version: query.version })
    },
  }),
  operation({
    id: 'putStoredQuery',
    method: 'put',
    path: one,
    params,
    summary: 'Store a query under a name, or replace it',
    description: 'Everybody who is logged in may run it; the answer holds what they may read.',
    source,
    extra: true,
    access: 'modeller',
    creates: true,
    body: StoredQueryBody,
    reply: [200, StoredQueryResource, 'versioned'],
    handle: async ({ params: { name }, body: { q, description } }, context) => {
      const { caller, storedQueries, expected, createOnly } = context
      const kept = { name, q, ...(description && { description }) }
      const { query, created } = await storedQueries.put(caller, kept, { expected, createOnly })
      return answer(representation(query), { version: query.version, created })
    },
  }),
  operation({
    id: 'deleteStoredQuery',
    method: 'delete',
    path: one,
    params,
    summary: 'Remove a stored query',
    source,
    extra: true,
    access: 'modeller',
    reply: [204],
    handle: ({ params: { name } }, { caller, storedQueries, expected }) =>
      storedQueries.remove(caller, name, expected),
  }),
  operation({
    id: 'runStoredQuery',
    method: 'post',
    path: `${one}/run`,
    params,
    summary: 'Run a stored query',
    description: 'As `POST /med/aql` answers; parameters that the query does not have are refused.',
    source,
    extra: true,
    access: 'user',
    body: StoredQueryRun,
    reply: [200, rows],
    errors: ['RuleViolated', 'DeadlineExceeded'],
    handle: async ({ params: { name }, body: { query_parameters = {}, ...page } }, context) => {
      const { caller, storedQueries } = context
      return answered(
        { ...(await storedQueries.requestFor(caller, name, query_parameters)), ...page },
        context,
      )
    },
  }),
  operation({
    id: 'linkStoredQuery',
    method: 'get',
    path: `${one}/run`,
    params,
    query: {
      query_parameters: Type.Optional(queryParametersText),
      offset: Type.Optional(offset),
      fetch: Type.Optional(fetch),
    },
    summary: 'Run a stored query, as a link',
    source,
    extra: true,
    access: 'user',
    reply: [200, rows],
    errors: ['RuleViolated'],
    deadlineMs: DEADLINE_MS,
    handle: async ({ params: { name }, query: { query_parameters, ...page } }, context) => {
      const { caller, storedQueries } = context
      const request = await storedQueries.requestFor(caller, name, parametersIn(query_parameters))
      return answered({ ...request, ...page }, context)
    },
  }),
]
