import { Type } from '@sinclair/typebox'
import { closedObject, MULTI_LINE } from '../common.ts'
import { nullable } from '../forms/nullable.ts'

const EXAMPLE_QUERY =
  'SELECT o/data[at0001]/events[at0006]/data[at0003]/items[at0004]/value/magnitude AS systolic FROM EHR e[ehr_id/value=$ehr] CONTAINS OBSERVATION o[openEHR-EHR-OBSERVATION.blood_pressure.v2]'

const queryTextField = (examples: string[]) =>
  Type.String({
    minLength: 1,
    maxLength: 1_000_000,
    ...MULTI_LINE,
    description: 'Query in AQL 1.1, at most 64 KB',
    examples,
  })

/** The parser refuses queries above 64 KB with line and column. */
const aqlField = queryTextField([EXAMPLE_QUERY])

/** Query in a link, with an example that needs no parameters. */
export const aqlQueryParameter = queryTextField(['SELECT c/name/value FROM EHR e CONTAINS COMPOSITION c'])

const queryParametersField = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description: 'Values of the parameters `$name`: strings, numbers, true, false, null, and lists for MATCHES',
  examples: [{ ehr: 'e5RtGb81Xz' }],
})

const queryParametersJsonField = Type.String({
  maxLength: 100_000,
  description: 'Values of the parameters `$name`, as a JSON object',
  examples: ['{"ehr":"e5RtGb81Xz"}'],
})

const offsetField = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Number of rows to skip',
  examples: [0],
})

const fetchField = Type.Integer({
  minimum: 1,
  maximum: 10_000,
  description: 'Maximum number of rows, by default 10,000; not allowed together with LIMIT in the query',
  examples: [100],
})

/** The page of the rows that a query returns. */
export const pagingFields = { offset: Type.Optional(offsetField), fetch: Type.Optional(fetchField) }

/** Parameters and page of a run, in a body. */
export const runFields = { query_parameters: Type.Optional(queryParametersField), ...pagingFields }

/** The same in a link. */
export const runLinkFields = { query_parameters: Type.Optional(queryParametersJsonField), ...pagingFields }

export const AqlQuery = closedObject('AqlQuery', 'An AQL query', {
  q: aqlField,
  ...runFields,
})

const filterField = (description: string) =>
  Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description,
    examples: [{}],
  })

const MeasurementsExplanation = closedObject('AqlMeasured', 'Access path of the records of one kind', {
  name: Type.String({ description: 'Kind of record', examples: ['BloodPressure'] }),
  index: Type.String({ description: 'Index that is used', examples: ['typed_in_systolicMmHg'] }),
  candidates: Type.Integer({
    description: 'Estimated number of documents to read; 100,000 means that many or more',
    examples: [3],
  }),
})

export const AqlExplanation = closedObject(
  'AqlExplanation',
  'The query plan: indexes used, estimated number of documents read, and the remaining in-memory steps',
  {
    unit: Type.String({
      description: 'Unit of evaluation: one `document`, or one `ehr` with all requested documents',
      examples: ['document'],
    }),
    reads: Type.Array(Type.String(), {
      description: 'Types of documents to read: compositions, statuses, folders',
      examples: [['compositions']],
    }),
    versions: Type.String({ description: 'Versions to read: `latest` or `all`', examples: ['latest'] }),
    index: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'Index for the compositions; null if none are read',
      examples: ['archetypes'],
    }),
    ehrs: filterField('Filter on the EHRs'),
    conditions: filterField(
      'Conditions answered by an index or by extracted columns, before documents are read',
    ),
    candidates: Type.Integer({
      description: 'Estimated number of compositions to read; 100,000 means that many or more',
      examples: [12],
    }),
    measurements: Type.Array(MeasurementsExplanation, {
      description: 'Measurements, medications and immunisations that are read as compositions',
    }),
    evaluated: Type.Array(Type.String(), {
      description: 'Remaining steps, evaluated in memory',
      examples: [['CONTAINS', 'WHERE']],
    }),
  },
)

const queryNameField = Type.String({ description: 'Name of the query', examples: ['high_pressures.v1'] })

const queryDescriptionField = Type.String({
  ...MULTI_LINE,
  maxLength: 1000,
  description: 'Purpose of the query',
  examples: ['Systolic pressures above a limit'],
})

export const StoredQueryBody = closedObject('StoredQueryBody', 'A query to be stored', {
  q: aqlField,
  description: Type.Optional(queryDescriptionField),
})

export const StoredQueryResource = closedObject('StoredQueryResource', 'A stored query', {
  name: queryNameField,
  q: aqlField,
  description: nullable(queryDescriptionField),
  parameters: Type.Array(Type.String(), { description: 'Names of the parameters', examples: [['ehr']] }),
  version: Type.Integer({
    minimum: 1,
    description: 'Version number, incremented by every write; the ETag is this number in quotes',
  }),
})

export const StoredQueryRun = closedObject(
  'StoredQueryRun',
  'Parameters of a run of a stored query',
  runFields,
)
