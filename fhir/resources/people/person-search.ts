import { foldText } from '../../../records/conditions/search-words.ts'
import type { FhirResource } from '../../../records/fhir/mapping.ts'
import { matchesToken, unescapeText } from '../../../records/fhir/search/search-values.ts'
import { requireKnownModifier } from '../../outcome/issue.ts'
import { invalidSearchCursor } from '../../search/search-cursor.ts'
import { matchesPeriod } from '../../search/search-period.ts'
import type { ResourceSearch, SearchCriterion } from '../../sources/resource-search.ts'
import type { FoundResources } from '../../sources/resource-source.ts'

interface Address {
  line?: string[]
  city?: string
  state?: string
  postalCode?: string
  country?: string
}

/** The members of a name or an address by search parameter. */
const TEXTS: Readonly<Record<string, (person: FhirResource) => readonly (string | undefined)[]>> = {
  name: (person) => humansOf(person).flatMap(({ text, family, given = [] }) => [text, family, ...given]),
  family: (person) => humansOf(person).map(({ family }) => family),
  given: (person) => humansOf(person).flatMap(({ given = [] }) => given),
  address: (person) => addressesOf(person).flatMap((one) => [one.line, ...membersOf(one)].flat()),
  'address-city': (person) => addressesOf(person).map(({ city }) => city),
  'address-country': (person) => addressesOf(person).map(({ country }) => country),
  'address-postalcode': (person) => addressesOf(person).map(({ postalCode }) => postalCode),
  'address-state': (person) => addressesOf(person).map(({ state }) => state),
}

const humansOf = ({ name = [] }: FhirResource) =>
  (name as { text?: string; family?: string; given?: string[] }[]).slice(0, 1)

const addressesOf = ({ address = [] }: FhirResource) => address as Address[]

const membersOf = ({ city, state, postalCode, country }: Address) => [city, state, postalCode, country]

/** The texts of a person by search parameter. */
const textsOf = (person: FhirResource, parameter: string): string[] =>
  (TEXTS[parameter]?.(person) ?? []).filter((one) => one !== undefined)

interface Concept {
  coding?: { system?: string; code: string }[]
}

const codingsOf = (concepts: readonly Concept[] = []) => concepts.flatMap(({ coding = [] }) => coding)

/** The tokens of means of contact, whose system is their kind. @param systems the kinds; none: all */
const contactTokens =
  (...systems: string[]) =>
  ({ telecom = [] }: FhirResource) =>
    (telecom as { system: string; value: string }[])
      .filter(({ system }) => systems.length === 0 || systems.includes(system))
      .map(({ system, value }) => ({ system, code: value }))

/** The tokens of a person by search parameter; others are one value without a system. */
const TOKENS: Readonly<Record<string, (person: FhirResource) => { system?: string; code: string }[]>> = {
  _id: ({ id = '' }) => [{ code: id }],
  identifier: ({ identifier }) =>
    (identifier as { system: string; value: string }[]).map(({ system, value }) => ({ system, code: value })),
  language: ({ communication = [] }) =>
    codingsOf((communication as { language: Concept }[]).map(({ language }) => language)),
  relationship: ({ relationship }) => codingsOf(relationship as Concept[] | undefined),
  telecom: contactTokens(),
  phone: contactTokens('phone'),
  email: contactTokens('email'),
}

const isToken = (parameter: string) =>
  Object.hasOwn(TOKENS, parameter) || parameter === 'gender' || parameter === 'active'

const tokensOf = (person: FhirResource, parameter: string) =>
  TOKENS[parameter]?.(person) ?? (parameter in person ? [{ code: String(person[parameter]) }] : [])

/** Search parameters of the means of contact and the addresses of a person. */
export const CONTACT_PARAMETERS = {
  telecom: { type: 'token', description: 'Value of a means of contact' },
  phone: { type: 'token', description: 'Telephone number, as the person has written it' },
  email: { type: 'token', description: 'E-mail address' },
  address: { type: 'string', description: 'Beginning of a part of an address' },
  'address-city': { type: 'string', description: 'Beginning of the city of an address' },
  'address-country': { type: 'string', description: 'Country of an address, by its code' },
  'address-postalcode': { type: 'string', description: 'Beginning of the postal code of an address' },
  'address-state': { type: 'string', description: 'Beginning of the region of an address' },
} as const

/** Search parameters of the name of a person. */
export const NAME_PARAMETERS = {
  name: { type: 'string', description: 'Beginning of a part of the name' },
  family: { type: 'string', description: 'Beginning of the family name' },
  given: { type: 'string', description: 'Beginning of the given name' },
} as const

/**
 * Searches persons, who are few.
 * @param find finds those with these ids, or all if the search names none
 */
export async function searchPersons(
  search: ResourceSearch,
  find: (ids: readonly string[] | undefined) => Promise<readonly FhirResource[]>,
): Promise<FoundResources> {
  const { criteria } = search
  const idCriterion = criteria.find(({ name, modifier }) => name === '_id' && modifier === undefined)
  const rest = criteria.filter((one) => one !== idCriterion)
  const persons = await find(idCriterion && [...new Set(idCriterion.values)])
  return pageOfPersons(
    persons.filter((person) => rest.every((criterion) => matchesPerson(person, criterion))),
    search,
  )
}

/** @throws InvalidInput for a cursor that names none of them: a search from the start would repeat people */
function pageOfPersons(
  persons: readonly FhirResource[],
  { count, after, total }: Pick<ResourceSearch, 'count' | 'after' | 'total'>,
): FoundResources {
  const start = after === undefined ? 0 : persons.findIndex(({ id }) => id === after) + 1
  if (start === 0 && after !== undefined) throw invalidSearchCursor()
  const resources = persons.slice(start, start + count)
  const isLast = start + count >= persons.length
  return {
    resources,
    ...(!isLast && count > 0 && { next: String(resources.at(-1)?.id) }),
    ...(total && { total: persons.length }),
  }
}

/** Whether a person matches a criterion. The persons whom a caller knows are few, so no index serves it. */
export function matchesPerson(person: FhirResource, { name, modifier, values }: SearchCriterion): boolean {
  if (modifier === 'missing') return values.includes(String(!isPresent(person, name)))
  requireKnownModifier({ name, modifier }, ['exact', 'contains', 'not'])
  const isMatch = values.some((text) => matchesValue(person, name, text, modifier))
  return modifier === 'not' ? !isMatch : isMatch
}

const ELEMENTS: Readonly<Record<string, string>> = { _lastUpdated: 'meta', birthdate: 'birthDate' }

const isPresent = (person: FhirResource, name: string): boolean =>
  (isToken(name) ? tokensOf(person, name) : textsOf(person, name)).length > 0 ||
  (ELEMENTS[name] ?? '') in person

function matchesValue(
  person: FhirResource,
  name: string,
  text: string,
  modifier: string | undefined,
): boolean {
  if (isToken(name)) return tokensOf(person, name).some((one) => matchesToken(one, text))
  if (name === '_lastUpdated')
    return matchesPeriod(String((person.meta as { lastUpdated: string }).lastUpdated), name, text)
  if (name === 'birthdate')
    return matchesPeriod(String(person.birthDate ?? ''), name, text) && person.birthDate !== undefined
  return matchesText(textsOf(person, name), unescapeText(text), modifier)
}

/** Whether a text begins with another one, whatever the case and the diacritics. */
export const startsWithText = (text: string, prefix: string): boolean =>
  matchesFolded(text, unescapeText(prefix), (folded, searched) => folded.startsWith(searched))

/** A search text of signs alone has no words. It is not a part of every text. */
function matchesFolded(
  text: string,
  searchText: string,
  matches: (folded: string, searched: string) => boolean,
): boolean {
  const [folded, searched] = [foldText(text), foldText(searchText)]
  return searched === '' ? folded === '' : matches(folded, searched)
}

function matchesText(texts: readonly string[], searchText: string, modifier: string | undefined): boolean {
  if (modifier === 'exact') return texts.includes(searchText)
  return texts.some((one) =>
    matchesFolded(one, searchText, (folded, searched) =>
      modifier === 'contains'
        ? folded.includes(searched)
        : folded.startsWith(searched) || folded.split(' ').some((word) => word.startsWith(searched)),
    ),
  )
}
