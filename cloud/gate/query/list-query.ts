import { checkJson } from '../request/json.ts'
import { code, type ParseRequest, Refusal } from '../request/parse-request.ts'
import { field, fieldList, flag, readParameters, wholeNumber } from './parameters.ts'
import { checkWhere, type QueryRules } from './where.ts'

/** What an answer shows of the objects in it. */
interface ObjectQuery {
  keys?: string
  excludeKeys?: string
  include?: string
}

/** The parameters of a list, checked and typed, in the form in which Parse reads them from a body. */
export interface ListQuery extends ObjectQuery {
  where?: Record<string, unknown>
  order?: string
  limit?: number
  skip?: number
  count?: 1
  distinct?: string
  includeAll?: true
}

const mostResults = 1000

const ofObjects = { keys: fieldList, excludeKeys: fieldList, include: fieldList }

/** The parameters of a request for one object. @throws Refusal 400/102 */
export const readObjectQuery = (parameters: Record<string, unknown>): ObjectQuery =>
  readParameters<ObjectQuery>(parameters, ofObjects)

/** @throws Refusal 400 with code 102, or 107 when `where` is not JSON */
export function readListQuery(
  parameters: Record<string, unknown>,
  className: string,
  rules: QueryRules,
): ListQuery {
  const query = readParameters<ListQuery>(parameters, {
    ...ofObjects,
    where: (value) => {
      const where = typeof value === 'string' ? parse(value) : value
      checkJson(where)
      checkWhere(where, className, rules)
      return where as Record<string, unknown>
    },
    order: fieldList,
    limit: (value, name) => Math.min(wholeNumber(value, name), mostResults),
    skip: wholeNumber,
    count: (value, name) => (flag(value, name) ? 1 : undefined),
    distinct: field,
    includeAll: (value, name) => (flag(value, name) ? true : undefined),
  })
  const { distinct, order = distinct } = query
  if (distinct !== undefined && order?.replace(/^-/, '') !== distinct)
    throw new Refusal(400, code.invalidQuery, 'distinct can only be sorted by its own field')
  return query
}

/**
 * A sort or a distinct by a field that the caller may not read would tell its values.
 * @throws Refusal 400/102 when the class does not have such a field, or protects it
 */
export async function checkListFields(req: ParseRequest, className: string, query: ListQuery): Promise<void> {
  const named = [
    ...(query.order?.split(',') ?? []),
    ...(query.distinct === undefined ? [] : [query.distinct]),
  ]
  if (named.length === 0) return
  const readable = await readableFields(req, className)
  for (const name of named) {
    const root = name.replace(/^-/, '').split('.')[0] ?? ''
    if (!readable(root))
      throw new Refusal(400, code.invalidQuery, `${className} has no field ${root} to list by`)
  }
}

async function readableFields(req: ParseRequest, className: string): Promise<(field: string) => boolean> {
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

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal(400, code.invalidJson, 'where is not valid JSON')
  }
}
