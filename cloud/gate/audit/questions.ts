import { type ClassName, isClassName } from '../../../records/kinds.ts'
import type { Access } from '../../../records/store/audit/trail.ts'
import type { RequestPart } from '../request/part.ts'

type Fields = Record<string, unknown>

/** Objects of a class that an answer depends on without showing them. */
export interface Drawn {
  className: ClassName
  where: Fields
}

/** What a call of the data layer asks of health data. */
export interface Question {
  className: string
  id: string | undefined
  action: Access['action']
  /** Of a query its conditions, else what names the place: the EHR, the plan, the goal. */
  where: Fields
  /** The answer holds values, not objects. */
  distinct: boolean
  /** By what its subqueries ask. */
  subqueries: Drawn[]
}

export const isRecord = isClassName

const ACTIONS: Record<string, Access['action']> = {
  GET: 'read',
  HEAD: 'read',
  POST: 'create',
  PUT: 'update',
  DELETE: 'delete',
}

/** @returns undefined when no health data is asked for. Conditions are copied: Parse changes them while it works. */
export function questionOf({ method, path, carrier }: RequestPart): Question | undefined {
  const found = /^\/(?:classes\/(\w+)|users)(?:\/([^/]+))?\/?$/i.exec(path)
  const did = ACTIONS[String(method)]
  if (!found || did === undefined) return undefined
  const [, className = '_User', id] = found
  const action = did === 'read' && id === undefined ? 'query' : did
  const { where = {}, distinct, ehrId, carePlanId, goalId } = (carrier.body ?? {}) as Fields
  const conditions = action === 'query' ? (structuredClone(where) as Fields) : { ehrId, carePlanId, goalId }
  const subqueries = action === 'query' ? subqueriesIn(where) : []
  if (!isRecord(className) && subqueries.length === 0) return undefined
  const asked = { className, id: id && decoded(id), action, where: conditions }
  return { ...asked, distinct: distinct !== undefined, subqueries }
}

const SUBQUERIES = new Set(['$inQuery', '$notInQuery', '$select', '$dontSelect'])

/** The subqueries in a condition, at any depth. */
function subqueriesIn(condition: unknown): Drawn[] {
  if (typeof condition !== 'object' || condition === null) return []
  return Object.entries(condition).flatMap(([name, value]) => {
    const { className, where = {} } = (SUBQUERIES.has(name) && (value?.query ?? value)) || {}
    const own = isRecord(className) ? [{ className, where: structuredClone(where) }] : []
    return [...own, ...subqueriesIn(value)]
  })
}

const COMBINATIONS = new Set(['$or', '$and', '$nor'])

/** The conditions of a query on fields, also those that stand beside others in an `$or`. */
export const conditionsIn = (where: Fields): [field: string, condition: unknown][] =>
  Object.entries(where).flatMap(([name, value]): [string, unknown][] =>
    COMBINATIONS.has(name) ? (value as Fields[]).flatMap(conditionsIn) : [[name, value]],
  )

function decoded(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}
