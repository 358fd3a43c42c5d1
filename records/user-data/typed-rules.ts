import type { Violation } from '../../schemas/violation.ts'
import type { Definitions, Rules, Values } from '../registered/kind.ts'
import { type KnownType, knownType, type TypeFamily } from '../types/known-types.ts'

/** What a type's version demands of the values that name it, and what follows from it. */
export interface Typed {
  rules(type: KnownType, deviceIsKnown: boolean): Rules
  /** Without a type. */
  untyped: Rules
}

/**
 * The rules of data that name a type: new ones are checked by its newest version, others by the one that they were
 * checked by before.
 */
export const typedRules =
  (family: TypeFamily, by: 'dataType' | 'eventType', { rules, untyped }: Typed) =>
  async (records: Definitions, values: Values): Promise<Rules> => {
    const { [by]: name, typeVersion, device } = values
    const version = typeof typeVersion === 'number' ? typeVersion : undefined
    const type = typeof name === 'string' ? await knownType(records, family, name, version) : undefined
    if (!type)
      return withViolation(untyped, { path: by, code: 'unknown', message: `names no ${family} type` })
    const deviceType = (device as { type?: unknown } | null | undefined)?.type
    const deviceIsKnown =
      typeof deviceType !== 'string' || (await knownType(records, 'device', deviceType)) !== undefined
    const bound = rules(type, deviceIsKnown)
    if (!type.retired || version !== undefined) return bound
    return withViolation(bound, {
      path: by,
      code: 'retired',
      message: 'names a retired type, of which nothing new is stored',
    })
  }

const withViolation = (rules: Rules, violation: Violation): Rules => ({
  ...rules,
  violations: (values, changed) => [...rules.violations(values, changed), violation],
})

/** What is wrong with a value, below a path. */
export const below = (path: string, violations: readonly Violation[]): Violation[] =>
  violations.map((one) => ({ ...one, path: one.path === '' ? path : `${path}.${one.path}` }))
