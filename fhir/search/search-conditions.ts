import type { FhirSearchParameter } from '../../records/fhir/search/search-parameters.ts'
import { unescapeText } from '../../records/fhir/search/search-values.ts'
import { memoizeByObject } from '../../schemas/forms/memoize.ts'
import { parameterError, requireKnownModifier } from '../outcome/issue.ts'
import type { SearchCriterion } from '../sources/resource-search.ts'

type Where = Readonly<Record<string, unknown>>

/** By parameters of a kind, the conditions of a search on its records; undefined: no record can match. */
export type RecordConditions = (
  parameters: Readonly<Record<string, FhirSearchParameter>>,
) => Where | undefined

/** The conditions of a search on the records of several kinds, which share parameters: each reads a value once. */
export function recordConditionsOf(criteria: readonly SearchCriterion[]): RecordConditions {
  const readings = criteria.map((criterion) => ({
    criterion,
    read: memoizeByObject((parameter: FhirSearchParameter) => alternativesOf(parameter, criterion)),
  }))
  return (parameters) => {
    const groups: Where[][] = []
    for (const { criterion, read } of readings) {
      const parameter = parameters[criterion.name]
      const alternatives = parameter ? read(parameter) : alternativesOf(undefined, criterion)
      if (alternatives.includes(true)) continue
      const possible = alternatives.filter((one): one is Where => typeof one === 'object')
      if (possible.length === 0) return undefined
      groups.push(mergeValues(possible))
    }
    return combineGroups(groups)
  }
}

function alternativesOf(
  parameter: FhirSearchParameter | undefined,
  criterion: SearchCriterion,
): (boolean | Where)[] {
  const alternatives = storedAlternativesOf(parameter, criterion)
  if (!parameter?.hiddenBy) return alternatives
  const [field, word] = parameter.hiddenBy
  const { modifier, values } = criterion
  const matchesHidden = modifier === 'not' || (modifier === 'missing' && values.includes('true'))
  return matchesHidden
    ? [...alternatives, { [field]: word }]
    : alternatives.map((one) => one && { ...(one === true ? {} : one), [field]: { not: word } })
}

/** The conditions on the stored fields, also on those that a resource does not show. */
function storedAlternativesOf(
  parameter: FhirSearchParameter | undefined,
  { name, modifier, values }: SearchCriterion,
): (boolean | Where)[] {
  if (modifier === 'missing') return values.map((text) => missingCondition(parameter, name, text))
  if (!parameter) return [modifier === 'not']
  requireKnownModifier({ name, modifier }, parameter.modifiers)
  // `not` excludes all of its values.
  const conditions = values.map((text) => {
    const condition = parameter.where({
      text: parameter.type === 'string' ? unescapeText(text) : text,
      modifier,
    })
    if (condition === undefined)
      throw parameterError(name, 'format', `must be a value of the type ${parameter.type}`)
    return condition
  })
  if (modifier !== 'not' || conditions.length < 2) return conditions
  if (conditions.includes(false)) return [false]
  const where = conditions.filter((one): one is Where => typeof one === 'object')
  return where.length === 0 ? [true] : [{ allOf: where.map((one) => [one]) }]
}

function missingCondition(
  parameter: FhirSearchParameter | undefined,
  name: string,
  text: string,
): boolean | Where {
  if (text !== 'true' && text !== 'false')
    throw parameterError(`${name}:missing`, 'enum', 'must be true or false')
  const isMissing = text === 'true'
  if (!parameter) return isMissing
  const { field = [], fields = [field].flat() } = parameter
  const conditions = fields.map((one) => [one, { exists: !isMissing }] as const)
  if (conditions.length === 0) return !isMissing
  if (isMissing || conditions.length === 1) return Object.fromEntries(conditions)
  return { allOf: [conditions.map((one) => Object.fromEntries([one]))] }
}

/** Values of one field become one list, which an index serves. */
function mergeValues(alternatives: readonly Where[]): Where[] {
  const pairs = alternatives.flatMap(Object.entries)
  const [field = ''] = pairs[0] ?? []
  const isMergeable =
    pairs.length === alternatives.length &&
    pairs.every(([name, value]) => name === field && typeof value === 'string')
  return isMergeable && pairs.length > 1
    ? [{ [field]: { in: pairs.map(([, value]) => value) } }]
    : [...alternatives]
}

const isRange = (condition: unknown): condition is { from?: string; to?: string } =>
  typeof condition === 'object' &&
  condition !== null &&
  Object.keys(condition).every((name) => name === 'from' || name === 'to')

const later = (a: string | undefined, b: string | undefined) =>
  a === undefined || (b !== undefined && b > a) ? b : a
const earlier = (a: string | undefined, b: string | undefined) =>
  a === undefined || (b !== undefined && b < a) ? b : a

/** The conditions of a record that meets both; they may be on the same field. */
export const combineConditions = (one: Where, other: Where): Where => combineGroups([[one], [other]])

/** Ranges of one field become one range, which an index serves; conditions that cannot be merged are added to it. */
function combineGroups(groups: readonly Where[][]): Where {
  const flat: Record<string, unknown> = {}
  const allOf: unknown[] = []
  for (const group of groups) {
    const [firstAlternative = {}, ...alternatives] = group
    for (const [field, condition] of alternatives.length > 0 ? [] : Object.entries(firstAlternative)) {
      const before = flat[field]
      if (field === 'allOf') allOf.push(...(condition as unknown[]))
      else if (before === undefined) flat[field] = condition
      else if (isRange(before) && isRange(condition) && typeof (before.from ?? before.to) === 'string')
        flat[field] = { from: later(before.from, condition.from), to: earlier(before.to, condition.to) }
      else allOf.push([{ [field]: condition }])
    }
    if (alternatives.length > 0) allOf.push(group)
  }
  return allOf.length > 0 ? { ...flat, allOf } : flat
}
