import { Type } from '@sinclair/typebox'
import { closed } from './common.ts'
import { nullable } from './nullable.ts'

const EXAMPLE =
  'SELECT o/data[at0001]/events[at0006]/data[at0003]/items[at0004]/value/magnitude AS systolic FROM EHR e[ehr_id/value=$ehr] CONTAINS OBSERVATION o[openEHR-EHR-OBSERVATION.blood_pressure.v2]'

const text = (examples: string[]) =>
  Type.String({
    minLength: 1,
    maxLength: 1_000_000,
    description: 'The query, in AQL 1.1; 64 KB at most',
    examples,
  })

/** Longer ones are refused with their place. */
const aqlText = text([EXAMPLE])

/** In a link, which may do without parameters. */
export const linkedAql = text(['SELECT c/name/value FROM EHR e CONTAINS COMPOSITION c'])

const queryParameters = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description:
    'The values of `$name` in the query: strings, numbers, true, false, null, and lists for MATCHES',
  examples: [{ ehr: 'e5RtGb81Xz' }],
})

/** In a link. */
export const queryParametersText = Type.String({
  maxLength: 100_000,
  description: 'The values of `$name` in the query, as a JSON object',
  examples: ['{"ehr":"e5RtGb81Xz"}'],
})

export const offset = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Rows that are left out at the beginning',
  examples: [0],
})

export const fetch = Type.Integer({
  minimum: 1,
  maximum: 10_000,
  description: 'The most rows to return, by default 10,000; not together with a LIMIT in the query',
  examples: [100],
})

const parameters = Type.Optional(queryParameters)
const page = { offset: Type.Optional(offset), fetch: Type.Optional(fetch) }

export const AqlQuery = closed('AqlQuery', 'A query', { q: aqlText, query_parameters: parameters, ...page })

const Filter = (description: string) =>
  Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description,
    examples: [{}],
  })

const MeasuredExplanation = closed('AqlMeasured', 'How measurements of a kind are found', {
  name: Type.String({ description: 'The kind', examples: ['BloodPressure'] }),
  index: Type.String({ description: 'By which index', examples: ['typed_in_systolicMmHg'] }),
  candidates: Type.Integer({
    description: 'How many would be read; 100,000 stands for as many or more',
    examples: [3],
  }),
})

export const AqlExplanation = closed('AqlExplanation', 'How a query would be answered', {
  unit: Type.String({
    description: 'What is evaluated at once: one `document`, or one `ehr` with all that is wanted of it',
    examples: ['document'],
  }),
  reads: Type.Array(Type.String(), {
    description: 'What is read: compositions, statuses',
    examples: [['compositions']],
  }),
  versions: Type.String({ description: '`latest` or `all`', examples: ['latest'] }),
  index: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'By which index compositions are found; null: none are read',
    examples: ['archetypes'],
  }),
  ehrs: Filter('What the EHRs are narrowed by'),
  conditions: Filter('What the indexes, and what is stored beside a composition, narrow what is read by'),
  candidates: Type.Integer({
    description: 'The compositions that would be read; 100,000 stands for as many or more',
    examples: [12],
  }),
  measurements: Type.Array(MeasuredExplanation, {
    description: 'The measurements that would be read as compositions, too',
  }),
  evaluated: Type.Array(Type.String(), {
    description: 'What is then done with them in this process',
    examples: [['CONTAINS', 'WHERE']],
  }),
})

const name = Type.String({ description: 'Name of the query', examples: ['high_pressures.v1'] })

const description = Type.String({
  maxLength: 1000,
  description: 'What it is for',
  examples: ['Systolic pressures above a limit'],
})

export const StoredQueryBody = closed('StoredQueryBody', 'A query to be stored', {
  q: aqlText,
  description: Type.Optional(description),
})

export const StoredQueryResource = closed('StoredQueryResource', 'A stored query', {
  name,
  q: aqlText,
  description: nullable(description),
  parameters: Type.Array(Type.String(), { description: 'The names of its parameters', examples: [['ehr']] }),
  version: Type.Integer({ minimum: 1, description: 'Counts the writes; in quotes it is the ETag' }),
})

export const StoredQueryRun = closed('StoredQueryRun', 'What a stored query is run with', {
  query_parameters: parameters,
  ...page,
})
