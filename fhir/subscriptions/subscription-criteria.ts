import { ownUri } from '../../records/fhir/elements.ts'
import { parameterError } from '../outcome/issue.ts'
import { parseSearchQuery } from '../requests/bundle-entries.ts'
import { parseSearch } from '../search/parse-search.ts'
import type { SearchCriterion } from '../sources/resource-search.ts'
import type { ResourceDescription } from '../sources/resource-source.ts'
import type { SubscriptionFields } from './subscription-record.ts'

/** The topic of the resources of a type that are created, changed or deleted. */
export const topicOf = (type: string): string => ownUri(`topic:${type}`)

const TOPIC = new RegExp(`^${topicOf('')}([A-Za-z]+)$`)

/** A search in the URL of a type, as R4 writes it; everything else is the URI of a topic. */
export const isSearch = (text: string): boolean => /^[A-Za-z]+(\?|$)/.test(text)

/** The criteria of a subscription. */
export interface SubscriptionCriteria {
  type: string
  criteria: readonly SearchCriterion[]
  /** Topics report deletions, too. R4 applies a search to the new version, and a deletion has none. */
  hasDeletions: boolean
}

/** The only parameters of criteria are those of the search: the form of results has no meaning here. @throws InvalidInput */
function parseQuery(description: ResourceDescription, query: string): readonly SearchCriterion[] {
  const parameters = parseSearchQuery(query)
  for (const key of Object.keys(parameters)) {
    const [name = ''] = key.split(':')
    if (!Object.hasOwn(description.parameters, name))
      throw parameterError(key, 'not-supported', `is not a search parameter of ${description.type}`)
  }
  return parseSearch(description, parameters).criteria
}

/**
 * Reads the criteria of a subscription, with the parser of searches.
 * @throws InvalidInput with the name of a topic, type or parameter that is not supported
 */
export function parseCriteria(
  types: readonly ResourceDescription[],
  { topic, criteria = '' }: Pick<SubscriptionFields, 'topic' | 'criteria'>,
): SubscriptionCriteria {
  const topicType = topic === undefined ? undefined : TOPIC.exec(topic)?.[1]
  const [, searchedType = topicType ?? '', query = ''] = /^([A-Za-z]+)(?:\?(.*))?$/s.exec(criteria) ?? []
  const description = types.find(({ type }) => type === searchedType)
  if (topic !== undefined && (topicType === undefined || (criteria === '' && !description)))
    throw parameterError(topic, 'not-supported', 'must be a topic that the CapabilityStatement names')
  if (topic !== undefined && topicType !== searchedType)
    throw parameterError(searchedType, 'not-supported', 'must be the type of the topic')
  if (!description)
    throw parameterError(searchedType, 'not-supported', 'must be a type that subscriptions support')
  return {
    type: description.type,
    criteria: parseQuery(description, query),
    hasDeletions: topic !== undefined,
  }
}
