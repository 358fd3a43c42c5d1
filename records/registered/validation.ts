import { type ClassName, classes } from '../../schemas/classes.ts'
import { classChecks } from '../../schemas/registry.ts'
import type { Violation } from '../../schemas/violation.ts'
import type { Values } from './class-rule.ts'
import { classRules } from './class-rules.ts'

/** What is wrong with an object: what is missing comes first, the rest is only judged when nothing is. */
export interface Faults {
  missing: string[]
  violations: Violation[]
}

const isMissing = (values: Values) => (name: string) => values[name] === undefined || values[name] === null

/** Names of required properties that are absent or null, in alphabetical order. */
export const missingProperties = (required: readonly string[] = [], values: Values): string[] =>
  [...new Set(required)].filter(isMissing(values)).sort()

const missingIn = (className: ClassName, required: readonly string[] | undefined, values: Values): string[] =>
  missingProperties([...(required ?? []), ...(classRules[className].missing?.(values) ?? [])], values)

/** Judges what a client sends to create an object. Null stands for absent. */
export function createFaults(className: ClassName, sent: Values): Faults {
  const { create, stored } = classes[className]
  const missing = missingIn(className, create.required, sent)
  if (missing.length > 0) return { missing, violations: [] }
  return {
    missing,
    violations: [
      ...explain(classChecks[className].create(sent), stored.properties, 'is not for the client to set'),
      ...classRules[className].violations(sent, Object.keys(sent)),
    ],
  }
}

/** Judges an update: the changed properties by themselves, and the object that it would make. */
export function updateFaults(className: ClassName, merged: Values, changed: readonly string[]): Faults {
  const { stored, update } = classes[className]
  const missing = missingIn(className, stored.required, merged)
  if (missing.length > 0) return { missing, violations: [] }
  const values = Object.fromEntries(
    changed.filter((name) => merged[name] !== undefined).map((name) => [name, merged[name]]),
  )
  const removed = changed.filter((name) => merged[name] === undefined)
  return {
    missing,
    violations: [
      ...explain(classChecks[className].update(values), stored.properties, 'may not be changed'),
      ...removed
        .filter((name) => !(name in update.properties))
        .map((path) => ({ path, code: 'fixed', message: 'may not be changed' })),
      ...classRules[className].violations(merged, changed),
    ],
  }
}

/** A property that exists, but not for this use, is not an unknown one. */
const explain = (violations: Violation[], known: object, message: string): Violation[] =>
  violations.map((one) =>
    one.code === 'unknown' && Object.hasOwn(known, one.path) ? { ...one, code: 'fixed', message } : one,
  )
