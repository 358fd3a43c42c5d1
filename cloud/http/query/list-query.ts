import { checkJson } from '../request/json-validation.ts'
import { type ParseRequest, parseErrorCode, Refusal } from '../request/parse-request.ts'
import { readField, readFieldList, readFlag, readParameters, readWholeNumber } from './query-parameters.ts'
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

const OBJECT_PARAMETER_READERS = { keys: readFieldList, excludeKeys: readFieldList, include: readFieldList }

/**
 * Reads the parameters of a request for one object.
 * @throws Refusal 400/102
 */
export const readObjectParameters = (parameters: Record<string, unknown>): ObjectParameters =>
  readParameters<ObjectParameters>(parameters, OBJECT_PARAMETER_READERS)

/** @throws Refusal 400 with code 102, or 107 when `where` is not JSON */
export function readListQuery(
  parameters: Record<string, unknown>,
  className: string,
  rules: QueryRules,
): ListQuery {
  const query = readParameters<ListQuery>(parameters, {
    ...OBJECT_PARAMETER_READERS,
    where: (value) => {
      const where = typeof value === 'string' ? parseJsonParameter(value) : value
      checkJson(where)
      checkWhere(where, className, rules)
      return where as Record<string, unknown>
    },
    order: readFieldList,
    limit: (value, name) => Math.min(readWholeNumber(value, name), MAX_RESULTS),
    skip: readWholeNumber,
    count: (value, name) => (readFlag(value, name) ? 1 : undefined),
    distinct: readField,
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

/**
 * Rejects sorting and distinct by protected fields, because they would reveal the values.
 * @throws Refusal 400/102 when the class lacks the field or protects it
 */
export async function checkListFields(req: ParseRequest, className: string, query: ListQuery): Promise<void> {
  const named = [
    ...(query.order?.split(',') ?? []).map((name) => ({ name, use: 'sort by' })),
    ...(query.distinct === undefined ? [] : [{ name: query.distinct, use: 'use with distinct' }]),
  ]
  if (named.length === 0) return
  const readable = await loadReadableFieldCheck(req, className)
  for (const { name, use } of named) {
    const root = name.replace(/^-/, '').split('.')[0] ?? ''
    if (!readable(root))
      throw new Refusal(400, parseErrorCode.invalidQuery, `${className} has no field "${root}" to ${use}.`)
  }
}

async function loadReadableFieldCheck(
  req: ParseRequest,
  className: string,
): Promise<(field: string) => boolean> {
  const schema = await req.config.database.loadSchema()
  const shape = await schema.getOneSchema(className).catch(() => undefined)
  const hidden = new Set([
    'ACL',
    'authData',
    'password',
    ...Object.values(schema.getClassLevelPermissions(className)?.protectedFields ?? {}).flat(),
  ])
  return (field) => {
    const known = shape !== undefined && Object.hasOwn(shape.fields, field)
    return known && !(hidden.has(field) && !req.auth.isMaster)
  }
}

function parseJsonParameter(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal(400, parseErrorCode.invalidJson, 'where must be valid JSON.')
  }
}
