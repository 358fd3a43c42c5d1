import { idInReference } from '../../records/fhir/elements.ts'
import {
  parsePeriod,
  parseQuantity,
  parseToken,
  unescapeText,
} from '../../records/fhir/search/search-values.ts'
import type { SearchCriterion } from './resource-search.ts'
import type { ResourceDescription } from './resource-source.ts'

/** The same text for the same condition, however a client spells it and in whatever order, so that it can be a lock. */
export function conditionKeyOf(
  { type, parameters }: Pick<ResourceDescription, 'type' | 'parameters'>,
  criteria: readonly SearchCriterion[],
): string {
  const texts = criteria.map(({ name, modifier, values }) => {
    const isTyped = modifier !== undefined && /^[A-Z]/.test(modifier)
    const valueType = modifier === 'identifier' ? 'token' : parameters[name]?.type
    const sameValues =
      modifier === 'missing' ? values : values.map((text) => normalizedValue(valueType, text))
    return JSON.stringify([
      firstNameOf(parameters, name),
      isTyped ? null : (modifier ?? null),
      ...new Set(sameValues.toSorted()),
    ])
  })
  return JSON.stringify([type, ...new Set(texts.sort())])
}

/** Some parameters, such as patient and subject, find the same references. */
function firstNameOf(parameters: ResourceDescription['parameters'], name: string): string {
  const elementOf = (one: string) => JSON.stringify(parameters[one]?.references ?? one)
  return Object.keys(parameters).find((one) => elementOf(one) === elementOf(name)) ?? name
}

function normalizedValue(type: string | undefined, text: string): string {
  if (type === 'reference') return idInReference(text) ?? text
  if (type === 'token') return JSON.stringify(parseToken(text))
  if (type === 'string') return unescapeText(text)
  if (type === 'date') return JSON.stringify(parsePeriod(text) ?? text)
  return type === 'quantity' || type === 'number' ? JSON.stringify(parseQuantity(text) ?? text) : text
}
