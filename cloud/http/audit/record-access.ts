import { type ClassName, isClassName } from '../../../records/kinds.ts'
import type { AuditedAccess } from '../../../records/store/audit/audit-log.ts'
import { parseErrorCode, Refusal } from '../request/parse-request.ts'
import type { RequestPart } from '../request/request-parts.ts'
import { flattenConditions, idsInQuery, PARENT_FIELDS } from './query-conditions.ts'

type QueryFields = Record<string, unknown>

/** A query of one class, with its conditions. */
export interface ClassQuery {
  className: ClassName
  where: QueryFields
}

/** A record access: the access to health data by one request part. */
export interface RecordAccess {
  className: string
  id: string | undefined
  action: AuditedAccess['action']
  /** Conditions of a query, otherwise the ids of EHR, plan and goal. */
  where: QueryFields
  /** Whether the response may contain objects within objects. */
  includes: boolean
  /** Whether the response contains values instead of objects. */
  distinct: boolean
  /** Subqueries of the conditions. */
  subqueries: ClassQuery[]
}

const AUDIT_ACTIONS: Record<string, AuditedAccess['action']> = {
  GET: 'read',
  HEAD: 'read',
  POST: 'create',
  PUT: 'update',
  DELETE: 'delete',
}

/** Parameters that ask for objects within objects; keys with a dotted path do, also those to leave out. */
const INCLUDING_PARAMETERS = ['include', 'includeAll', 'keys', 'excludeKeys']

/**
 * @returns undefined if the request concerns no health data. Conditions are copied, because Parse modifies
 * them.
 */
export function recordAccessOf({
  method,
  className,
  objectId,
  carrier,
}: RequestPart): RecordAccess | undefined {
  const did = AUDIT_ACTIONS[method]
  if (className === undefined || did === undefined) return undefined
  const action = did === 'read' && objectId === undefined ? 'query' : did
  const fields = (carrier.body ?? {}) as QueryFields
  const { where = {}, distinct, ehrId, carePlanId, goalId } = fields
  const conditions =
    action === 'query' ? (structuredClone(where) as QueryFields) : { ehrId, carePlanId, goalId }
  const subqueries = action === 'query' ? collectSubqueries(where) : []
  if (!isClassName(className) && subqueries.length === 0) return undefined
  const target = { className, id: objectId && decodeId(objectId), action, where: conditions }
  const includes = INCLUDING_PARAMETERS.some((name) => fields[name] !== undefined)
  return { ...target, includes, distinct: distinct !== undefined, subqueries }
}

const SUBQUERY_OPERATORS = new Set(['$inQuery', '$notInQuery', '$select', '$dontSelect'])

/** Subqueries of a condition at any depth. */
function collectSubqueries(condition: unknown): ClassQuery[] {
  if (typeof condition !== 'object' || condition === null) return []
  return Object.entries(condition).flatMap(([name, value]) => {
    const { className, where = {} } = (SUBQUERY_OPERATORS.has(name) && (value?.query ?? value)) || {}
    const subquery = isClassName(className) ? [{ className, where: structuredClone(where) }] : []
    return [...subquery, ...collectSubqueries(value)]
  })
}

/** Audit action; for a query with its filter fields but without their values. */
export function describeAuditedQuery({
  action,
  where,
}: Pick<RecordAccess, 'action' | 'where'>): Pick<AuditedAccess, 'action' | 'asked'> {
  if (action !== 'query') return { action }
  const fields = new Set(flattenConditions(where).map(({ field }) => field))
  return { action, asked: [...fields].sort().join(' ') }
}

const MAX_NAMED_IDS = 100

type NamingRequest = Pick<RecordAccess, 'className' | 'action' | 'where' | 'subqueries'>

/**
 * Limits the ids in a request, because each named EHR is looked up and gets an audit entry.
 * @throws Refusal 400/102
 */
export function requireFewNamedIds(requests: readonly (NamingRequest | undefined)[]): void {
  const queries = requests.flatMap((one) => (one?.action === 'query' ? [one, ...one.subqueries] : []))
  const ids = queries.flatMap(({ className, where }) =>
    (className === 'Ehr' ? ['objectId'] : PARENT_FIELDS).flatMap((field) => idsInQuery(where, field)),
  )
  if (new Set(ids).size > MAX_NAMED_IDS)
    throw new Refusal(
      400,
      parseErrorCode.invalidQuery,
      `A request can name at most ${MAX_NAMED_IDS} EHRs, care plans and goals.`,
    )
}

function decodeId(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}
