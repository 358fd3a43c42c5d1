import { parsePeriod, splitEscaped } from '../../records/fhir/search/search-values.ts'
import type { PageRequest } from '../../records/store/reading/pages.ts'
import { parameterError } from '../outcome/issue.ts'
import { criterionOf, type ResourceSearch, type SearchCriterion } from '../sources/resource-search.ts'
import type { ResourceDescription } from '../sources/resource-source.ts'

/** Parameters of a request: repeated ones have several values. */
export type SearchParameters = Readonly<Record<string, unknown>>

export type SummaryMode = 'true' | 'text' | 'data' | 'count' | 'false'

/** A search with the form of its results. */
export interface ParsedSearch extends ResourceSearch {
  summary: SummaryMode
  elements: readonly string[]
  /** The parameters that the search respects, for the link `self`. */
  used: readonly [name: string, value: string][]
  /** Names of unknown parameters. */
  ignoredParameters: readonly string[]
}

const DEFAULT_COUNT = 20
const MAX_COUNT = 1000
const MAX_CRITERIA = 100
/** Maximum number of values of all criteria together: many of them become conditions of their own. */
const MAX_VALUES = 1000

/** The values of a parameter; an empty one says nothing. */
const textsOf = (value: unknown): string[] =>
  [value]
    .flat()
    .map(String)
    .filter((text) => text !== '')

const single = (parameters: SearchParameters, name: string): string | undefined =>
  textsOf(parameters[name] ?? [])[0]

const SUMMARY_MODES: readonly string[] = ['true', 'text', 'data', 'count', 'false']
const TOTAL_MODES: readonly string[] = ['none', 'estimate', 'accurate']

/** Parameters of results and of the protocol, which are not criteria. */
export const RESULT_PARAMETERS: readonly string[] = [
  '_count',
  '_sort',
  '_elements',
  '_summary',
  '_total',
  '_cursor',
  '_format',
  '_pretty',
  '_include',
  '_revinclude',
]

function parseCount(parameters: SearchParameters): number {
  const text = single(parameters, '_count')
  if (text === undefined) return DEFAULT_COUNT
  if (!/^\d{1,20}$/.test(text)) throw parameterError('_count', 'type', 'must be a number')
  return Math.min(Number(text), MAX_COUNT)
}

function oneOf(
  parameters: SearchParameters,
  name: string,
  allowedValues: readonly string[],
): string | undefined {
  const value = single(parameters, name)
  if (value !== undefined && !allowedValues.includes(value))
    throw parameterError(name, 'enum', `must be one of ${allowedValues.join(', ')}`)
  return value
}

function parseOrder(
  parameters: SearchParameters,
  { sortedBy }: ResourceDescription,
): ResourceSearch['order'] {
  const sort = textsOf(parameters._sort ?? []).join(',')
  if (sort === '') return undefined
  if (sortedBy === undefined || sort.replace(/^-/, '') !== sortedBy)
    throw parameterError(
      '_sort',
      'not-supported',
      `can only be ${sortedBy ? `${sortedBy} or -${sortedBy}` : 'left out'}`,
    )
  return sort.startsWith('-') ? 'desc' : 'asc'
}

/** The requested part of a history. @throws InvalidInput */
export function parsePage(parameters: SearchParameters): PageRequest {
  return {
    limit: Math.max(parseCount(parameters), 1),
    cursor: single(parameters, '_cursor'),
    count: isCountOnly(parameters) || single(parameters, '_total') === 'accurate',
  }
}

/** Whether a client wants the number of results alone. @throws InvalidInput */
export const isCountOnly = (parameters: SearchParameters): boolean => parseCount(parameters) === 0

/** The start of `_since`. @throws InvalidInput for a text that is not a date */
export function parseSince(parameters: SearchParameters): Date | undefined {
  const text = single(parameters, '_since')
  if (text === undefined) return undefined
  const period = parsePeriod(text)
  if (period?.prefix !== 'eq') throw parameterError('_since', 'date', 'must be a date or a time')
  return period.from
}

/** The types that `_type` names; undefined if it names none. @throws InvalidInput for others */
export function parseTypes(
  parameters: SearchParameters,
  allowedTypes: readonly string[],
): readonly string[] | undefined {
  const types = textsOf(parameters._type ?? []).flatMap((text) => text.split(','))
  if (types.length === 0) return undefined
  if (types.every((type) => allowedTypes.includes(type))) return types
  throw parameterError('_type', 'not-supported', `must name some of ${allowedTypes.join(', ')}`)
}

/** The criterion `patient` of an operation that is not a search. @param base the URL of the FHIR API */
export function parsePatients(parameters: SearchParameters, base?: string): SearchCriterion[] {
  const texts = textsOf(parameters.patient ?? [])
  return texts.map((text) => criterionOf('patient', splitReferences(text, base)))
}

/** References to this service become relative. Those to other servers stay, and find nothing here. */
const splitReferences = (text: string, base: string | undefined): string[] =>
  splitEscaped(base === undefined ? text : text.replaceAll(`${base}/`, ''), ',')

/** The parameters that a request respects, for the link `self`. */
export const usedParameters = (parameters: SearchParameters): ParsedSearch['used'] =>
  Object.entries(parameters).flatMap(([name, value]) =>
    textsOf(value).map((text): [string, string] => [name, text]),
  )

/** To leave them out in silence would make a result look complete. */
const UNSUPPORTED_PARAMETERS: readonly string[] = [
  '_has',
  '_filter',
  '_contained',
  '_containedType',
  '_list',
  '_query',
  '_text',
  '_content',
]

/** A condition on what a parameter refers to: `patient.name`, `subject:Patient.name`. */
const isChained = (key: string): boolean => key.includes('.')

/** Splits `code:not` into name and modifier. */
const splitName = (key: string): { name: string; modifier: string | undefined } => {
  const colon = key.indexOf(':')
  return colon < 0
    ? { name: key, modifier: undefined }
    : { name: key.slice(0, colon), modifier: key.slice(colon + 1) }
}

interface SearchOptions {
  /** Refuse unknown parameters. */
  strict?: boolean
  /** The URL of the FHIR API, which references may have. */
  base?: string
}

/**
 * Reads the parameters of a search.
 * @throws InvalidInput
 */
export function parseSearch(
  source: ResourceDescription,
  parameters: SearchParameters,
  { strict = false, base }: SearchOptions = {},
): ParsedSearch {
  const criteria: SearchCriterion[] = []
  const ignoredParameters: string[] = []
  const used: [string, string][] = []
  for (const [key, value] of Object.entries(parameters)) {
    const { name, modifier } = splitName(key)
    if (UNSUPPORTED_PARAMETERS.includes(name) || isChained(key))
      throw parameterError(key, 'not-supported', 'is not supported')
    if (RESULT_PARAMETERS.includes(name)) {
      used.push(...textsOf(value).map((text): [string, string] => [key, text]))
    } else if (Object.hasOwn(source.parameters, name)) {
      const isReference = source.parameters[name]?.type === 'reference' && modifier !== 'identifier'
      for (const text of textsOf(value)) {
        used.push([key, text])
        const values = splitReferences(text, isReference ? base : undefined)
        criteria.push({ name, modifier, values: [...new Set(values)] })
      }
    } else ignoredParameters.push(key)
  }
  if (strict && ignoredParameters.length > 0)
    throw parameterError(
      ignoredParameters[0] ?? '',
      'not-supported',
      `is not a search parameter of ${source.type}`,
    )
  requireFewValues(criteria)
  const summary = (oneOf(parameters, '_summary', SUMMARY_MODES) ?? 'false') as SummaryMode
  const countsOnly = summary === 'count' || isCountOnly(parameters)
  return {
    criteria,
    order: parseOrder(parameters, source),
    count: countsOnly ? 0 : parseCount(parameters),
    after: single(parameters, '_cursor'),
    total: countsOnly || oneOf(parameters, '_total', TOTAL_MODES) === 'accurate',
    summary,
    elements: textsOf(parameters._elements ?? []).flatMap((text) => text.split(',')),
    used,
    ignoredParameters,
  }
}

/** @throws InvalidInput for a search that would keep the database busy */
function requireFewValues(criteria: readonly SearchCriterion[]): void {
  let values = 0
  for (const [i, criterion] of criteria.entries()) {
    values += criterion.values.length
    if (i < MAX_CRITERIA && values <= MAX_VALUES) continue
    const message = `must leave the search at most ${MAX_CRITERIA} criteria with ${MAX_VALUES} values together`
    throw parameterError(criterion.name, 'too-costly', message)
  }
}
