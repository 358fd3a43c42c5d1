import type { Violation } from '../../schemas/validation/violations.ts'
import type { DefinitionLookup, Rules, Values } from '../ehr-records/kind.ts'
import {
  type DeviceTypeRules,
  findDeviceTypes,
  type ResolvedType,
  resolveType,
  type TypeFamily,
} from '../types/type-registry.ts'

/** The rules that follow from a version of a type, for the values that name it. */
export interface RulesOfType {
  /** @param deviceTypes by name */
  rules(type: ResolvedType, deviceTypes: ReadonlyMap<string, DeviceTypeRules>): Rules
  /** The rules for values without a known type. */
  fallbackRules: Rules
}

export const RETIRED_MESSAGE = 'must not be a retired type, which accepts no new data'

/**
 * The rules for data that names a type. New data is checked by the type's newest version, stored data by the
 * version that checked it first.
 */
export const createRulesResolver =
  (family: TypeFamily, typeField: 'dataType' | 'eventType', { rules, fallbackRules }: RulesOfType) =>
  async (context: DefinitionLookup, values: Values): Promise<Rules> => {
    const { [typeField]: name, typeVersion } = values
    const version = typeof typeVersion === 'number' ? typeVersion : undefined
    const type = typeof name === 'string' ? await resolveType(context, family, name, version) : undefined
    if (!type)
      return withViolation(fallbackRules, {
        path: typeField,
        code: 'unknown',
        message: `must be the name of a ${family} type`,
      })
    const bound = rules(type, await findDeviceTypes(context))
    if (!type.retired || version !== undefined) return bound
    return withViolation(bound, {
      path: typeField,
      code: 'retired',
      message: RETIRED_MESSAGE,
    })
  }

const withViolation = (rules: Rules, violation: Violation): Rules => ({
  ...rules,
  violations: (values, changedFields) => [...rules.violations(values, changedFields), violation],
})

/** Puts the violations of a value below the value's path. */
export const prefixPaths = (path: string, violations: readonly Violation[]): Violation[] =>
  violations.map((one) => ({ ...one, path: one.path === '' ? path : `${path}.${one.path}` }))
