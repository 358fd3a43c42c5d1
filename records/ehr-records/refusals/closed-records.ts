import type { TProperties } from '@sinclair/typebox'
import { markedFieldNames } from '../../../schemas/forms/fields.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'
import type { Values } from '../kind.ts'

// What may still change when a care plan, goal or task is closed, in both families: docs/decisions/care-plans.md.

export const isClosed = (record: object): boolean => (record as { status?: unknown }).status !== 'ACTIVE'

const alreadyClosedViolation: Violation = {
  path: 'status',
  code: 'closed',
  message: 'cannot be changed because the record is closed',
}

/**
 * A status leaves ACTIVE only once. Everything else may be corrected.
 * @param current the record before the change
 * @param changedFields names of the fields that change
 */
export function closedRecordViolations(
  fields: TProperties,
  current: Values,
  changedFields: readonly string[],
): Violation[] {
  const statuses = markedFieldNames(fields, 'status').filter((name) => changedFields.includes(name))
  return statuses.some((name) => current[name] !== 'ACTIVE') ? [alreadyClosedViolation] : []
}

/** A closed plan or goal takes no new records. A deleted record may return into it, since it was there before. */
export function closedParentViolations(parents: {
  carePlanId?: object
  goalId?: object | undefined
}): Violation[] {
  const [closedParent] = Object.entries(parents).filter(([, parent]) => parent && isClosed(parent))
  if (!closedParent) return []
  const [path] = closedParent
  const container = path === 'goalId' ? 'goal' : 'care plan'
  return [{ path, code: 'closed', message: `must not be a closed ${container}` }]
}
