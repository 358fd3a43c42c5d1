import { isDeepStrictEqual } from 'node:util'
import { classForm, fieldForm } from '../../schemas/forms/class-form.ts'
import { fromPath, namesOf, ofFields } from '../../schemas/forms/fields.ts'
import { faultyIn, soundIn, type Violation } from '../../schemas/violation.ts'
import type { ClassKind, Values } from './kind.ts'
import { refuseViolations } from './refusals/refusals.ts'

/** What is wrong with an object: what is missing comes first, the rest is only judged when nothing is. */
export interface Faults {
  missing: string[]
  violations: Violation[]
}

const isMissing = (values: Values) => (name: string) => values[name] === undefined || values[name] === null

/** Names of required properties that are absent or null, in alphabetical order. */
export const missingProperties = (required: readonly string[] = [], values: Values): string[] =>
  [...new Set(required)].filter(isMissing(values)).sort()

const missingIn = ({ rules }: ClassKind, required: readonly string[] | undefined, values: Values): string[] =>
  missingProperties([...(required ?? []), ...(rules.missing?.(values) ?? [])], values)

/** Judges what a client of the class family sends to create an object. Null stands for absent. */
export function createFaults(kind: ClassKind, sent: Values): Faults {
  const { create, stored, checks, rules, fields } = kind
  const values = fieldForm(fields, sent)
  const missing = missingIn(kind, create.required, values)
  if (missing.length > 0) return { missing, violations: [] }
  const bySchema = explain(checks.create(sent), stored.properties, 'must not be set by clients')
  return { missing, violations: [...bySchema, ...rules.violations(values, Object.keys(sent))] }
}

/** Judges an update of the class family: the changed properties by themselves, and the object that it would make. */
export function updateFaults(kind: ClassKind, merged: Values, changed: readonly string[]): Faults {
  const { stored, update, checks, rules, fields } = kind
  const values = fieldForm(fields, merged)
  const missing = missingIn(kind, stored.required, values)
  if (missing.length > 0) return { missing, violations: [] }
  const sent = Object.fromEntries(
    changed.filter((name) => merged[name] !== undefined).map((name) => [name, merged[name]]),
  )
  const removed = changed.filter((name) => merged[name] === undefined)
  return {
    missing,
    violations: [
      ...explain(checks.update(sent), stored.properties, STAYS),
      ...removed.filter((name) => !(name in update.properties)).map(staying),
      ...rules.violations(values, changed),
    ],
  }
}

/** What breaks a rule in a body of the path family that does not fit its schema: in what of it does. */
export function brokenBeside(
  { fields, rules }: Pick<ClassKind, 'fields' | 'rules'>,
  body: object,
  bySchema: readonly Violation[],
): Violation[] {
  const faulty = faultyIn(bySchema)
  const sound = Object.entries(soundIn(body, bySchema)).filter(([, value]) => value !== null)
  const values: Values = fromPath(fields, Object.fromEntries(sound))
  const missing = (rules.missing?.(values) ?? []).filter((name) => !faulty.has(name))
  return [...missing.map(required), ...rules.violations(values, Object.keys(values))]
}

const required = (path: string): Violation => ({ path, code: 'required', message: 'is required' })

const STAYS = 'may not be changed'
const staying = (path: string): Violation => ({ path, code: 'fixed', message: STAYS })

/** A property that exists, but not for this use, is not an unknown one. */
const explain = (violations: Violation[], known: object, message: string): Violation[] =>
  violations.map((one) =>
    one.code === 'unknown' && Object.hasOwn(known, one.path) ? { ...one, code: 'fixed', message } : one,
  )

/** A status leaves ACTIVE once. */
export const alreadyClosed: Violation = {
  path: 'status',
  code: 'closed',
  message: 'cannot be changed: it is closed',
}

/** @throws RuleViolated for a record that fits its schema and breaks a rule */
export function validNew<T extends object>(kind: ClassKind, record: T): T & Record<string, unknown> {
  const values = clientValues(kind, record)
  refuseFaults(missingIn(kind, [], values), kind.rules.violations(values, Object.keys(values)))
  return { ...record, ...kind.rules.derived?.(values) }
}

/** @throws RuleViolated when `next` is not what may become of `now` */
export function validChange<T extends object>(kind: ClassKind, now: T, next: T): T {
  const [before, after] = [clientValues(kind, now), clientValues(kind, next)]
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const changed = names.filter((name) => !isDeepStrictEqual(before[name], after[name]))
  const fixed = [...Object.keys(kind.place), ...namesOf(kind.fields, 'fixed')]
  const closedBefore = namesOf(kind.fields, 'status').some(
    (name) => changed.includes(name) && before[name] !== 'ACTIVE',
  )
  refuseFaults(missingIn(kind, [], after), [
    ...changed.filter((name) => fixed.includes(name)).map(staying),
    ...kind.rules.violations(after, changed),
    ...(closedBefore ? [alreadyClosed] : []),
  ])
  const ours = derivedNames(kind)
  const sent = Object.entries(next).filter(([name]) => !ours.includes(name))
  const kept = (kind.rules.once ?? []).map((name) => [name, (now as Values)[name]])
  return { ...Object.fromEntries(sent), ...kind.rules.derived?.(after), ...Object.fromEntries(kept) } as T
}

/** The derived fields; those that no longer apply are removed. */
export const derivedNames = ({ fields }: Pick<ClassKind, 'fields'>): readonly string[] => oursOf(fields)

const oursOf = ofFields((fields) => namesOf(fields, 'derived', 'internal'))

/** What a client has written of a record: neither what the service derives, nor its id and times. */
function clientValues({ place, fields }: ClassKind, record: object): Record<string, unknown> {
  const ours = derivedNames({ fields })
  return Object.fromEntries(
    Object.entries(record).filter(
      ([name, value]) => value !== undefined && (name in place || (name in fields && !ours.includes(name))),
    ),
  )
}

function refuseFaults(missing: readonly string[], violations: readonly Violation[]): void {
  refuseViolations([...missing.map(required), ...violations])
}

/** What the service adds to an object of the class family. */
export const derivedOf = ({ rules, fields }: ClassKind, values: Values): Record<string, unknown> =>
  classForm(fields, rules.derived?.(fieldForm(fields, values)) ?? {})
