import { isDeepStrictEqual } from 'node:util'
import { classes } from '../../schemas/classes.ts'
import { KEPT } from '../../schemas/common.ts'
import { ServiceError } from '../../schemas/errors.ts'
import type { Violation } from '../../schemas/violation.ts'
import { alreadyClosed } from '../care-plans/contents/rules.ts'
import type { Values } from './class-rule.ts'
import { createFaults, type Faults, updateFaults } from './validation.ts'

type PlanClass = 'CarePlan' | 'Goal' | 'Task' | 'Event'

/** The record as the class family's clients write it, which is what its rules judge. */
function classForm(className: PlanClass, record: object): Record<string, unknown> {
  const { properties } = classes[className].stored
  return Object.fromEntries(
    Object.entries(record)
      .filter(([name, value]) => isWritten(name) && name in properties && value !== undefined)
      .map(([name, value]) => [name, isMoment(properties, name) ? momentOf(value) : value]),
  )
}

const isWritten = (name: string): boolean => !(KEPT as string[]).includes(name)
const isMoment = (properties: object, name: string): boolean =>
  (properties as Record<string, { properties?: object }>)[name]?.properties !== undefined &&
  '__type' in ((properties as Record<string, { properties: object }>)[name]?.properties ?? {})
/** Of a date or a time. */
const momentOf = (time: unknown) => ({
  __type: 'Date',
  iso: /^.{10}$/.test(String(time)) ? `${time}T00:00:00.000Z` : time,
})

/** @throws RuleViolated when the class family would refuse to create this */
export function judgeNew(className: PlanClass, record: object): void {
  refuse(createFaults(className, classForm(className, record)))
}

/** @throws RuleViolated when the class family would refuse to make `next` of `now` */
export function judgeChange<T extends object>(className: PlanClass, now: T, next: T): T {
  const [before, after] = [classForm(className, now), classForm(className, next)]
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  const changed = [...names].filter((name) => !isDeepStrictEqual(before[name], after[name]))
  const closedBefore = changed.includes('status') && before.status !== 'ACTIVE'
  refuse(updateFaults(className, after as Values, changed), closedBefore ? [alreadyClosed] : [])
  return next
}

function refuse({ missing, violations }: Faults, more: Violation[] = []): void {
  const required = missing.map((path) => ({ path, code: 'required', message: 'is required' }))
  refuseViolations([...required, ...violations, ...more])
}

/** @throws RuleViolated when there are any */
export function refuseViolations(violations: readonly Violation[]): void {
  if (violations.length > 0) throw new ServiceError('RuleViolated', { violations })
}
