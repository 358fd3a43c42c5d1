import { type ClassName, isClassName } from '../../../records/kinds.ts'
import type { Access } from '../../../records/store/audit/trail.ts'
import { code, Refusal } from '../request/parse-request.ts'
import type { RequestPart } from '../request/request-parts.ts'
import { conditionsIn, idsNamed, PLACES } from './conditions.ts'

type Fields = Record<string, unknown>

/** The conditions of a query of a class. */
export interface QueriedObjects {
  className: ClassName
  where: Fields
}

/** The access to health data that a part of a request makes. */
export interface RecordsRequest {
  className: string
  id: string | undefined
  action: Access['action']
  /** Of a query its conditions, else what names the place: the EHR, the plan, the goal. */
  where: Fields
  /** The answer holds values, not objects. */
  distinct: boolean
  /** The queries nested in its conditions. */
  subqueries: QueriedObjects[]
}

const ACTIONS: Record<string, Access['action']> = {
  GET: 'read',
  HEAD: 'read',
  POST: 'create',
  PUT: 'update',
  DELETE: 'delete',
}

/** @returns undefined when no health data is requested. Conditions are copied: Parse changes them while it works. */
export function recordsRequestOf({
  method,
  className,
  objectId,
  carrier,
}: RequestPart): RecordsRequest | undefined {
  const did = ACTIONS[method]
  if (className === undefined || did === undefined) return undefined
  const action = did === 'read' && objectId === undefined ? 'query' : did
  const { where = {}, distinct, ehrId, carePlanId, goalId } = (carrier.body ?? {}) as Fields
  const conditions = action === 'query' ? (structuredClone(where) as Fields) : { ehrId, carePlanId, goalId }
  const subqueries = action === 'query' ? subqueriesIn(where) : []
  if (!isClassName(className) && subqueries.length === 0) return undefined
  const of = { className, id: objectId && decoded(objectId), action, where: conditions }
  return { ...of, distinct: distinct !== undefined, subqueries }
}

const SUBQUERIES = new Set(['$inQuery', '$notInQuery', '$select', '$dontSelect'])

/** The subqueries in a condition, at any depth. */
function subqueriesIn(condition: unknown): QueriedObjects[] {
  if (typeof condition !== 'object' || condition === null) return []
  return Object.entries(condition).flatMap(([name, value]) => {
    const { className, where = {} } = (SUBQUERIES.has(name) && (value?.query ?? value)) || {}
    const own = isClassName(className) ? [{ className, where: structuredClone(where) }] : []
    return [...own, ...subqueriesIn(value)]
  })
}

/** The action for the audit, of a query with the fields it was filtered by, without their values. */
export function auditedQuery({
  action,
  where,
}: Pick<RecordsRequest, 'action' | 'where'>): Pick<Access, 'action' | 'asked'> {
  if (action !== 'query') return { action }
  const fields = new Set(conditionsIn(where).map(({ field }) => field))
  return { action, asked: [...fields].sort().join(' ') }
}

const mostNamed = 100

/**
 * Each EHR that a request names gets an entry in its audit, and each name is looked up: a request has to be short.
 * @throws Refusal 400/102
 */
export function checkNames(requests: readonly (RecordsRequest | undefined)[]): void {
  const queries = requests.flatMap((one) => (one?.action === 'query' ? [one, ...one.subqueries] : []))
  const named = queries.flatMap(({ className, where }) =>
    (className === 'Ehr' ? ['objectId'] : PLACES).flatMap((field) => idsNamed(where, field)),
  )
  if (new Set(named).size > mostNamed)
    throw new Refusal(
      400,
      code.invalidQuery,
      `a request may name at most ${mostNamed} EHRs, care plans and goals`,
    )
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}
