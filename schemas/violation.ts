import type { ErrorObject } from 'ajv/dist/2020.js'
import { articled } from './common.ts'

/** One thing that is wrong with a value: where, by which rule, in words. */
export interface Violation {
  /** Property path with dots, `answers.2`; empty for the value as a whole. */
  path: string
  /** The rule that was broken: a JSON-schema keyword, or the name of a rule of ours. */
  code: string
  /** What would be right: 'must be a number'. */
  message: string
  /** In a text of several lines: where, counted from 1. */
  line?: number
  column?: number
}

/** The properties of an object with which something is wrong, in them or beneath. */
export const faultyIn = (violations: readonly Violation[]): ReadonlySet<string> =>
  new Set(violations.map(({ path }) => path.split('.', 1)[0] ?? ''))

/** What of an object nothing is wrong with. */
export type Sound<T> = { [name in keyof T]?: T[name] | undefined }

/** The others: what does not fit its schema is told already, and no rule can judge it. */
export function soundIn<T extends object>(sent: T, bySchema: readonly Violation[]): Sound<T> {
  const faulty = faultyIn(bySchema)
  return Object.fromEntries(Object.entries(sent).filter(([name]) => !faulty.has(name))) as Sound<T>
}

/** What ajv found, as sentences; an object with a sentence of its own (a Date) is one violation. */
export function violationsOf(errors: readonly ErrorObject[] | null | undefined): Violation[] {
  const found = new Map<string, Violation>()
  for (const error of errors ?? []) {
    // What its branch says is found beside it.
    if (error.keyword === 'if') continue
    const violation = violationOf(error)
    found.set(`${violation.path} ${violation.message}`, violation)
  }
  return [...found.values()]
}

function violationOf(error: ErrorObject): Violation {
  const path = error.instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
  const own: string | undefined = error.parentSchema?.sentence
  if (own) return { path: path.replace(/\.?(__type|iso)$/, ''), code: error.keyword, message: own }
  const at = (property: unknown) => (path === '' ? String(property) : `${path}.${property}`)
  switch (error.keyword) {
    case 'required':
      return { path: at(error.params.missingProperty), code: 'required', message: 'is required' }
    case 'additionalProperties':
      return {
        path: at(error.params.additionalProperty),
        code: 'unknown',
        message: 'is not a known property',
      }
    default:
      return { path, code: error.keyword, message: sentence(error) }
  }
}

/** What is easily forgotten of it. */
const FORMATS: Readonly<Record<string, string>> = {
  date: 'must be a day, such as 2026-03-01',
  'date-time': 'must be a time with its offset, such as 2026-03-01T08:30:00+01:00 (no leap second)',
}

function sentence({ keyword, params, message }: ErrorObject): string {
  switch (keyword) {
    case 'type':
      return `must be ${articled([params.type].flat().join(' or '))}`
    case 'enum':
      return `must be one of ${params.allowedValues.map(String).join(', ')}`
    case 'format':
      return FORMATS[params.format] ?? `must be a valid ${params.format}`
    case 'minItems':
    case 'maxItems':
    case 'minProperties': {
      const what = keyword === 'minProperties' ? 'properties' : 'items'
      return `must have at ${keyword === 'maxItems' ? 'most' : 'least'} ${params.limit} ${what}`
    }
    case 'minLength':
      return params.limit === 1 ? 'must not be empty' : `must have at least ${params.limit} characters`
    case 'maxLength':
      return `must have at most ${params.limit} characters`
    default:
      return message ?? `breaks the rule ${keyword}`
  }
}

/** More in one answer help nobody: somebody may send a hundred thousand values. */
export const MOST_VIOLATIONS = 100

/** Violations in one line, each with its path, and how many more there are. */
export function inOneLine(violations: readonly Violation[]): string {
  const sentences = violations
    .slice(0, MOST_VIOLATIONS)
    .map(({ path, message }) => (path === '' ? message : `${path} ${message}`))
  const more = violations.length - sentences.length
  return [...sentences, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}
