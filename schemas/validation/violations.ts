import type { ErrorObject } from 'ajv/dist/2020.js'
import { withArticle } from '../common.ts'

const MAX_NAMED_CHOICES = 50

/** A violation: where, which rule, and an explanation. */
export interface Violation {
  /** Property path with dots, `answers.2`; empty for the whole value. */
  path: string
  /** The broken rule: a JSON Schema keyword, or the name of our rule. */
  code: string
  /** The valid form: 'must be a number'. */
  message: string
  /** The least and the greatest number that are allowed: of the value, or of its characters, items or properties. */
  minimum?: number
  maximum?: number
  /** Unit of both, as UCUM code. */
  unit?: string
  /** The allowed values; of many, the first ones. */
  choices?: string[]
  /** Position in a multi-line text, counted from 1. */
  line?: number
  column?: number
}

/** Top-level properties that contain violations. */
export const invalidPropertyNames = (violations: readonly Violation[]): ReadonlySet<string> =>
  new Set(violations.map(({ path }) => path.split('.', 1)[0] ?? ''))

/** The valid properties of an object. */
export type ValidPart<T> = { [name in keyof T]?: T[name] | undefined }

/** Returns the properties that fit their schema, because rules cannot judge the others. */
export function withoutInvalidProperties<T extends object>(
  values: T,
  bySchema: readonly Violation[],
): ValidPart<T> {
  const faulty = invalidPropertyNames(bySchema)
  return Object.fromEntries(Object.entries(values).filter(([name]) => !faulty.has(name))) as ValidPart<T>
}

/**
 * Converts errors of ajv to violations. An object with its own sentence (a Date) is one violation.
 * @param limit the most violations
 */
export function violationsFromAjv(
  errors: readonly ErrorObject[] | null | undefined,
  limit = Number.POSITIVE_INFINITY,
): Violation[] {
  const byPlace = new Map<string, Violation>()
  for (const error of errors ?? []) {
    if (byPlace.size === limit) break
    // The errors of the chosen branch are separate entries.
    if (error.keyword === 'if') continue
    const violation = violationFromAjv(error)
    byPlace.set(`${violation.path} ${violation.message}`, violation)
  }
  return [...byPlace.values()]
}

function violationFromAjv(error: ErrorObject): Violation {
  const path = error.instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
  const customSentence: string | undefined = error.parentSchema?.sentence
  if (customSentence)
    return { path: path.replace(/\.?(__type|iso)$/, ''), code: error.keyword, message: customSentence }
  const at = (property: unknown) => (path === '' ? String(property) : `${path}.${property}`)
  switch (error.keyword) {
    case 'required':
      return { path: at(error.params.missingProperty), code: 'required', message: 'is required' }
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return {
        path: at(error.params.additionalProperty ?? error.params.unevaluatedProperty),
        code: 'unknown',
        message: 'is not a known property',
      }
    case 'dependentRequired':
      return {
        path: at(error.params.missingProperty),
        code: error.keyword,
        message: `is required together with ${error.params.property}`,
      }
    case 'enum':
      return choiceViolation(path, error.params.allowedValues, error.keyword)
    default:
      return { path, code: error.keyword, message: describeAjvError(error), ...limitIn(error) }
  }
}

/** The limit of a keyword such as `maximum` or `minItems`. */
function limitIn({ keyword, params: { limit } }: ErrorObject): Pick<Violation, 'minimum' | 'maximum'> {
  if (typeof limit !== 'number') return {}
  return /min/i.test(keyword) ? { minimum: limit } : { maximum: limit }
}

/** The violation of a number outside of its limits. */
export function rangeViolation(
  path: string,
  { min, max }: { min?: number | undefined; max?: number | undefined },
  unit?: string,
): Violation {
  const ends =
    max === undefined ? `at least ${min}` : min === undefined ? `at most ${max}` : `from ${min} to ${max}`
  return {
    path,
    code: 'range',
    message: unit === undefined ? `must be ${ends}` : `must be ${ends} ${unit}`,
    ...(min !== undefined && { minimum: min }),
    ...(max !== undefined && { maximum: max }),
    ...(unit !== undefined && { unit }),
  }
}

/** The violation of a value that is none of its choices. */
export function choiceViolation(path: string, choices: readonly unknown[], code = 'enum'): Violation {
  const names = choices
    .slice(0, MAX_NAMED_CHOICES)
    .map((choice) => (typeof choice === 'string' ? choice : JSON.stringify(choice)))
  const more = choices.length - names.length
  const message = `must be one of ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  return { path, code, message, choices: names }
}

/** Messages that mention often forgotten details. */
const FORMAT_MESSAGES: Readonly<Record<string, string>> = {
  line: 'must be one line, without line breaks, tabs and other control characters',
  date: 'must be a day, such as 2026-03-01',
  'date-time': 'must be a time with its offset, such as 2026-03-01T08:30:00+01:00 (no leap second)',
}

type AjvParams = ErrorObject['params']

const createCountMessage =
  (bound: 'least' | 'most', noun: string) =>
  ({ limit }: AjvParams): string =>
    `must have at ${bound} ${limit} ${limit === 1 ? noun.replace(/s$/, '') : noun}`

/** Messages by keyword of JSON Schema; ajv's own ones name other keywords or speak of schemas. */
const MESSAGES: Readonly<Record<string, (params: AjvParams) => string>> = {
  type: ({ type }) => `must be ${withArticle([type].flat().join(' or '))}`,
  const: ({ allowedValue }) => `must be ${JSON.stringify(allowedValue)}`,
  not: () => 'must not have the excluded form',
  'false schema': () => 'is not allowed',
  format: ({ format }) => FORMAT_MESSAGES[format] ?? `must be a valid ${format}`,
  minimum: ({ limit }) => `must be at least ${limit}`,
  maximum: ({ limit }) => `must be at most ${limit}`,
  exclusiveMinimum: ({ limit }) => `must be more than ${limit}`,
  exclusiveMaximum: ({ limit }) => `must be less than ${limit}`,
  multipleOf: ({ multipleOf }) => `must be a multiple of ${multipleOf}`,
  minItems: createCountMessage('least', 'items'),
  maxItems: createCountMessage('most', 'items'),
  items: createCountMessage('most', 'items'),
  unevaluatedItems: createCountMessage('most', 'items'),
  contains: ({ minContains, maxContains }) =>
    maxContains === undefined
      ? `must contain at least ${minContains} of the described items`
      : `must contain ${minContains} to ${maxContains} of the described items`,
  propertyNames: ({ propertyName }) => `must not have a property named ${JSON.stringify(propertyName)}`,
  minProperties: ({ limit }) => `must have at least ${limit} ${limit === 1 ? 'property' : 'properties'}`,
  maxProperties: ({ limit }) => `must have at most ${limit} ${limit === 1 ? 'property' : 'properties'}`,
  minLength: ({ limit }) => (limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`),
  maxLength: createCountMessage('most', 'characters'),
  uniqueItems: ({ i, j }) => `must not contain the same item twice (items ${j} and ${i})`,
  anyOf: () => 'must have one of the allowed forms',
  oneOf: () => 'must have exactly one of the allowed forms',
}

const describeAjvError = ({ keyword, params, message }: ErrorObject): string =>
  MESSAGES[keyword]?.(params) ?? message ?? `breaks the rule ${keyword}`

const MAX_PATH_LENGTH = 500
const MAX_MESSAGE_LENGTH = 2000

/** Cuts a text that may contain what a client sent. */
export const shortenText = (text: string, maxLength = MAX_MESSAGE_LENGTH): string =>
  text.length > maxLength ? `${text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '')}…` : text

/** Cuts a path or a name that a client sent. */
export const shortenName = (name: string): string => shortenText(name, MAX_PATH_LENGTH)

/** Cuts the names and values of the client that a violation repeats. */
export const shortenViolation = (violation: Violation): Violation => ({
  ...violation,
  path: shortenName(violation.path),
  message: shortenText(violation.message),
  ...(violation.choices && { choices: violation.choices.map(shortenName) }),
})

/** Limit of violations in a response: a client may send a hundred thousand invalid values. */
export const MAX_REPORTED_VIOLATIONS = 100

/** Formats violations in one line, with the number of omitted ones. */
export function formatViolations(violations: readonly Violation[]): string {
  const sentences = violations
    .slice(0, MAX_REPORTED_VIOLATIONS)
    .map(shortenViolation)
    .map(({ path, message }) => (path === '' ? message : `${path} ${message}`))
  const more = violations.length - sentences.length
  return [...sentences, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}
