import { isDeepStrictEqual } from 'node:util'
import type { TProperties } from '@sinclair/typebox'
import { fromPathNames, markedFieldNames } from '../../../schemas/forms/fields.ts'
import { memoizeByObject } from '../../../schemas/forms/memoize.ts'
import {
  invalidPropertyNames,
  type Violation,
  withoutInvalidProperties,
} from '../../../schemas/validation/violations.ts'
import type { ClassKind, Values } from '../kind.ts'
import { closedRecordViolations } from '../refusals/closed-records.ts'
import { requireNoViolations } from '../refusals/refusals.ts'

/** The faults of an object. Violations are only determined when no field is missing. */
export interface ValidationFaults {
  missing: string[]
  violations: Violation[]
}

const isMissingIn = (values: Values) => (name: string) => values[name] === undefined || values[name] === null

/** Names of required properties that are absent or null, in alphabetical order. */
export const missingProperties = (required: readonly string[] = [], values: Values): string[] =>
  [...new Set(required)].filter(isMissingIn(values)).sort()

const missingFields = (
  { rules }: ClassKind,
  required: readonly string[] | undefined,
  values: Values,
): string[] => missingProperties([...(required ?? []), ...(rules.missing?.(values) ?? [])], values)

/**
 * Validates an object that a client of the class family creates. Null counts as absent.
 * @param bySchema the violations of its class form
 */
export function validateClassCreate(
  kind: ClassKind,
  values: Values,
  bySchema: readonly Violation[],
): ValidationFaults {
  const { create, stored, rules } = kind
  const missing = missingFields(kind, create.required, values)
  if (missing.length > 0) return { missing, violations: [] }
  return {
    missing,
    violations: [
      ...explainFixedFields(bySchema, stored.properties, 'must not be set by clients'),
      ...rules.violations(values, Object.keys(values)),
    ],
  }
}

/**
 * Validates an update of the class family: the changed fields alone, and the resulting object.
 * @param bySchema the violations of the class form of the changed fields
 */
export function validateClassUpdate(
  kind: ClassKind,
  values: Values,
  changedFields: readonly string[],
  bySchema: readonly Violation[],
): ValidationFaults {
  const { stored, update, rules } = kind
  const missing = missingFields(kind, stored.required, values)
  if (missing.length > 0) return { missing, violations: [] }
  const reported = new Set(bySchema.map(({ path }) => path))
  const removedFields = changedFields.filter((name) => values[name] === undefined && !reported.has(name))
  return {
    missing,
    violations: [
      ...explainFixedFields(bySchema, stored.properties, FIXED_MESSAGE),
      ...removedFields.filter((name) => !(name in update.properties)).map(fixedViolation),
      ...rules.violations(values, changedFields),
    ],
  }
}

/** The rule violations in the valid part of a body that does not fit its schema. */
export function ruleViolationsBesideSchema(
  { fields, rules }: Pick<ClassKind, 'fields' | 'rules'>,
  body: object,
  bySchema: readonly Violation[],
): Violation[] {
  const faulty = invalidPropertyNames(bySchema)
  const sound = Object.entries(withoutInvalidProperties(body, bySchema)).filter(([, value]) => value !== null)
  const values: Values = fromPathNames(fields, Object.fromEntries(sound))
  const missing = (rules.missing?.(values) ?? []).filter((name) => !faulty.has(name))
  return [...missing.map(requiredViolation), ...rules.violations(values, Object.keys(values))]
}

const requiredViolation = (path: string): Violation => ({ path, code: 'required', message: 'is required' })

const FIXED_MESSAGE = 'cannot be changed'
const fixedViolation = (path: string): Violation => ({ path, code: 'fixed', message: FIXED_MESSAGE })

/** Reports a known property that clients may not set as `fixed` in place of `unknown`. */
const explainFixedFields = (
  violations: readonly Violation[],
  knownFields: object,
  message: string,
): Violation[] =>
  violations.map((one) =>
    one.code === 'unknown' && Object.hasOwn(knownFields, one.path) ? { ...one, code: 'fixed', message } : one,
  )

/** Adds the derived fields to a new record. @throws RuleViolated for a record that breaks a rule */
export function validateNewRecord<T extends object>(kind: ClassKind, record: T): T & Record<string, unknown> {
  const values = pickClientValues(kind, record)
  requireNoFaults(missingFields(kind, [], values), kind.rules.violations(values, Object.keys(values)))
  return { ...record, ...kind.rules.derived?.(values) }
}

/** Adds the derived fields to a changed record. @throws RuleViolated when `now` may not become `next` */
export function validateChangedRecord<T extends object>(kind: ClassKind, current: T, next: T): T {
  const before = pickClientValues(kind, current)
  const after = pickClientValues(kind, next)
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const changedFields = names.filter((name) => !isDeepStrictEqual(before[name], after[name]))
  const fixedNames = [...Object.keys(kind.parentIds), ...markedFieldNames(kind.fields, 'fixed')]
  requireNoFaults(missingFields(kind, [], after), [
    ...changedFields.filter((name) => fixedNames.includes(name)).map(fixedViolation),
    ...kind.rules.violations(after, changedFields),
    ...closedRecordViolations(kind.fields, before, changedFields),
  ])
  const ours = derivedFieldNames(kind)
  const sentFields = Object.entries(next).filter(([name]) => !ours.includes(name))
  const fixedFields = (kind.rules.fixedDerived ?? []).map((name) => [name, (current as Values)[name]])
  return {
    ...Object.fromEntries(sentFields),
    ...kind.rules.derived?.(after),
    ...Object.fromEntries(fixedFields),
    ...kind.rules.afterChange?.(current as Values, next as Values),
  } as T
}

/** The names of all derived fields; values that no longer apply are removed. */
export const derivedFieldNames = ({ fields }: Pick<ClassKind, 'fields'>): readonly string[] =>
  serviceFieldNames(fields)

const serviceFieldNames = memoizeByObject((fields: TProperties) =>
  markedFieldNames(fields, 'derived', 'internal'),
)

/** Picks the values that clients write: without derived fields, id and times. */
export function pickClientValues({ parentIds, fields }: ClassKind, record: object): Record<string, unknown> {
  const ours = derivedFieldNames({ fields })
  return Object.fromEntries(
    Object.entries(record).filter(
      ([name, value]) =>
        value !== undefined &&
        (Object.hasOwn(parentIds, name) || (Object.hasOwn(fields, name) && !ours.includes(name))),
    ),
  )
}

function requireNoFaults(missing: readonly string[], violations: readonly Violation[]): void {
  requireNoViolations([...missing.map(requiredViolation), ...violations])
}
