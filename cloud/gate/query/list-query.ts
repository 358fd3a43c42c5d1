import { checkBody } from '../request/body.ts'
import { code, type ParseRequest, Refusal } from '../request/parse-request.ts'
import { checkWhere, isFieldPath } from './where.ts'

/** The parameters of a list, checked and typed, in the form in which Parse reads them from a body. */
export interface ListQuery {
  where?: Record<string, unknown>
  order?: string
  limit?: number
  skip?: number
  count?: 1
  distinct?: string
  keys?: string
  excludeKeys?: string
  include?: string
  includeAll?: true
}

const mostResults = 1000
/** Hints for the database: a client has no say in them, but the SDKs may send them. */
const ignored = new Set([
  'hint',
  'explain',
  'comment',
  'readPreference',
  'includeReadPreference',
  'subqueryReadPreference',
])

/**
 * @param parameters as they came: text from a query string, or JSON values from an SDK's body
 * @throws Refusal 400 with code 102, or 107 when `where` is not JSON
 */
export function readListQuery(parameters: Record<string, unknown>): ListQuery {
  const query: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(parameters)) {
    if (ignored.has(name) || value === undefined) continue
    const read = readers[name as keyof ListQuery]
    if (!Object.hasOwn(readers, name)) refuse(`${name.slice(0, 40)} is not a parameter of a list`)
    const typed = read(value, name)
    if (typed !== undefined) query[name] = typed
  }
  const { distinct, order = distinct } = query as ListQuery
  if (distinct !== undefined && order?.replace(/^-/, '') !== distinct)
    refuse('distinct sorts by its own field')
  return query as ListQuery
}

const readers: {
  [N in keyof Required<ListQuery>]: (value: unknown, name: string) => ListQuery[N] | undefined
} = {
  where: (value) => {
    const where = typeof value === 'string' ? parse(value) : value
    checkBody(where)
    checkWhere(where)
    return where as Record<string, unknown>
  },
  order: fieldList,
  limit: (value, name) => Math.min(wholeNumber(value, name), mostResults),
  skip: wholeNumber,
  count: (value, name) => (flag(value, name) ? 1 : undefined),
  distinct: (value, name) => {
    if (!isFieldPath(value)) refuse(`${name} must be the name of a field`)
    return value
  },
  keys: fieldList,
  excludeKeys: fieldList,
  include: fieldList,
  includeAll: (value, name) => (flag(value, name) ? true : undefined),
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
    if (!readable(root)) refuse(`${className} has no field ${root} to list by`)
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

function wholeNumber(value: unknown, name: string): number {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 0 || number > 2 ** 31 - 1)
    return refuse(`${name} must be a whole number, 0 or more`)
  return number
}

function flag(value: unknown, name: string): boolean {
  if ([1, true, '1', 'true'].includes(value as never)) return true
  if ([0, false, '0', 'false', null].includes(value as never)) return false
  return refuse(`${name} must be 1 or 0`)
}

/** Fields separated by commas (the SDKs may send a list), for a sort with - before those that descend. */
function fieldList(value: unknown, name: string): string | undefined {
  const list = Array.isArray(value) ? value : typeof value === 'string' ? value.split(',') : undefined
  if (!list || list.length > 100) return refuse(`${name} must be the names of fields, separated by commas`)
  const names = list
    .map((part) => (typeof part === 'string' ? part.trim() : part))
    .filter((part) => part !== '')
  for (const part of names) {
    const plain = name === 'order' && typeof part === 'string' ? part.replace(/^-/, '') : part
    if (plain !== '*' && !isFieldPath(plain))
      refuse(`${name} must be the names of fields, separated by commas`)
  }
  return names.length > 0 ? names.join(',') : undefined
}

function refuse(message: string): never {
  throw new Refusal(400, code.invalidQuery, message)
}
