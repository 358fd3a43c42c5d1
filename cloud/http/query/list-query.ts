import { parseUnambiguousJson, RepeatedNamesError } from '../../../schemas/json/repeated-names.ts'
import { checkJson } from '../request/json-validation.ts'
import { parseErrorCode, Refusal } from '../request/parse-request.ts'
import {
  createFieldListReader,
  readField,
  readFlag,
  readParameters,
  readWholeNumber,
} from './query-parameters.ts'
import { checkWhere, type QueryRules } from './where.ts'

/** Parameters that select the returned parts of an object. */
interface ObjectParameters {
  keys?: string
  excludeKeys?: string
  include?: string
}

/** Validated parameters of a list, in the form that Parse reads from a body. */
export interface ListQuery extends ObjectParameters {
  where?: Record<string, unknown>
  order?: string
  limit?: number
  skip?: number
  count?: 1
  distinct?: string
  includeAll?: true
}

const MAX_RESULTS = 1000

/**
 * Reads the parameters of a request for one object.
 * @throws Refusal 400/102
 */
export const readObjectParameters = (
  parameters: Record<string, unknown>,
  className: string,
  rules: QueryRules,
): ObjectParameters =>
  readParameters<ObjectParameters>(parameters, createObjectParameterReaders(className, rules))

const createObjectParameterReaders = (className: string, { checkField }: QueryRules) => ({
  keys: createFieldListReader((name) => checkField(className, name, 'return')),
  excludeKeys: createFieldListReader((name) => checkField(className, name, 'leave out')),
  // An asterisk includes everything.
  include: createFieldListReader((name) => name === '*' || checkField(className, name, 'include')),
})

/** @throws Refusal 400 with code 102, or 107 when `where` is not JSON */
export function readListQuery(
  parameters: Record<string, unknown>,
  className: string,
  rules: QueryRules,
): ListQuery {
  const query = readParameters<ListQuery>(parameters, {
    ...createObjectParameterReaders(className, rules),
    where: (value) => {
      const where = typeof value === 'string' ? parseJsonParameter(value) : value
      checkJson(where)
      checkWhere(where, className, rules)
      return where as Record<string, unknown>
    },
    order: createFieldListReader((name) => rules.checkField(className, name.replace(/^-/, ''), 'sort by')),
    limit: (value, name) => Math.min(readWholeNumber(value, name), MAX_RESULTS),
    skip: readWholeNumber,
    count: (value, name) => (readFlag(value, name) ? 1 : undefined),
    distinct: (value, name) => {
      const field = readField(value, name)
      rules.checkField(className, field, 'use with distinct')
      return field
    },
    includeAll: (value, name) => (readFlag(value, name) ? true : undefined),
  })
  const { distinct, order = distinct } = query
  if (distinct !== undefined && order?.replace(/^-/, '') !== distinct)
    throw new Refusal(
      400,
      parseErrorCode.invalidQuery,
      `distinct=${distinct} can only be sorted by ${distinct}.`,
    )
  return query
}

function parseJsonParameter(text: string): unknown {
  try {
    return parseUnambiguousJson(text)
  } catch (error) {
    const fault = error instanceof RepeatedNamesError ? `has ${error.message}` : 'must be valid JSON'
    throw new Refusal(400, parseErrorCode.invalidJson, `where ${fault}.`)
  }
}
