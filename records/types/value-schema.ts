import { compileRegex } from '@health-record-service/embedded-mongo/regex'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { type JsonLimits, walkJson } from '../../schemas/json-values.ts'
import type { Check } from '../../schemas/registry.ts'
import { type Violation, violationsOf } from '../../schemas/violation.ts'

/** JSON Schema 2020-12 of modellers: what it says is bounded, so that no value takes long to be checked. */
type Schema = Readonly<Record<string, unknown>>

const MOST_BYTES = 64 * 1024
const MOST_SUBSCHEMAS = 100
const MOST_CHOICES = 1000
const LONGEST_PATTERN = 1000

/** What a value may be at most, whatever its schema says. */
const VALUE: JsonLimits = { depth: 16, values: 1000 }
/** Of one value; what is wrong with more of its parts is wrong in the same way. */
const MOST_VIOLATIONS = 100

const ONE = ['not', 'if', 'then', 'else', 'items', 'contains', 'additionalProperties', 'propertyNames']
const REST = ['unevaluatedItems', 'unevaluatedProperties']
const SEVERAL = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const NAMED = ['properties', 'patternProperties', 'dependentSchemas', '$defs']
const PLAIN = [
  ...['type', 'enum', 'const', 'multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  ...['minLength', 'maxLength', 'pattern', 'format', 'minItems', 'maxItems', 'uniqueItems'],
  ...['minContains', 'maxContains', 'minProperties', 'maxProperties', 'required', 'dependentRequired'],
  ...['title', 'description', 'default', 'examples', 'deprecated', '$comment', '$ref', '$schema'],
]
const KEYWORDS = new Set([...ONE, ...REST, ...SEVERAL, ...NAMED, ...PLAIN])
const FORMATS = ['date', 'time', 'date-time', 'duration', 'uuid'] as const
const REFERENCE = /^#\/\$defs\/([A-Za-z0-9_-]{1,64})$/

/** ECMAScript's `$` is the end of the text; else it would be the end of its last line, too. */
const asWritten = (pattern: string): string =>
  pattern.replaceAll(/\\[\s\S]|\[(?:\\[\s\S]|[^\]\\])*\]|\$/g, (token) => (token === '$' ? '\\z' : token))

/** Run in time that grows with the text alone. */
const regExp = Object.assign((pattern: string) => compileRegex(asWritten(pattern), 's'), {
  code: 'linear',
})

const ajv = new Ajv2020({ allErrors: true, strict: true, verbose: true, code: { regExp: regExp as never } })
addFormats.default(ajv, [...FORMATS, 'regex', 'uri', 'uri-reference'])

/** Whether the values that fit it are numbers. */
export const isNumeric = (schema: Schema): boolean => schema.type === 'number' || schema.type === 'integer'

/** What is wrong with a schema, or with how much it says. */
export function schemaViolations(schema: Schema): Violation[] {
  const found = boundsViolations(schema)
  if (found.length > 0) return found
  try {
    if (ajv.validateSchema(schema) !== true) return violationsOf(ajv.errors).slice(0, MOST_VIOLATIONS)
    checkOfSchema(schema)
    return []
  } catch (error) {
    return [{ path: '', code: 'schema', message: `is no schema: ${(error as Error).message}`.slice(0, 300) }]
  }
}

/** What checks a value by a schema that has no violations; all violations at once. */
export function checkOfSchema(schema: Schema): Check {
  const validate = ajv.compile(schema)
  // It would be kept for ever.
  ajv.removeSchema(schema)
  return (value) => {
    const large = tooLarge(value)
    if (large) return [large]
    return validate(value) ? [] : violationsOf(validate.errors).slice(0, MOST_VIOLATIONS)
  }
}

function tooLarge(value: unknown): Violation | undefined {
  let finite = true
  const exceeded = walkJson(value, VALUE, (one) => {
    if (typeof one === 'number' && !Number.isFinite(one)) finite = false
  })
  if (exceeded) return { path: '', code: exceeded, message: LARGE[exceeded] }
  return finite ? undefined : { path: '', code: 'type', message: 'must contain finite numbers only' }
}

const LARGE = {
  depth: `must not be nested deeper than ${VALUE.depth} levels`,
  values: `must not hold more than ${VALUE.values} values`,
}

function boundsViolations(schema: Schema): Violation[] {
  if (Buffer.byteLength(JSON.stringify(schema)) > MOST_BYTES)
    return [{ path: '', code: 'size', message: `must have at most ${MOST_BYTES / 1024} KB` }]
  const found: Violation[] = []
  const definitions = isObject(schema.$defs) ? schema.$defs : {}
  for (const [path, one] of subschemas(schema)) found.push(...ownViolations(path, one, definitions))
  if (found.length > 0) return found.slice(0, MOST_VIOLATIONS)
  const count = counted(schema, definitions)
  if (count === undefined)
    return [{ path: '$defs', code: 'recursion', message: 'must not refer to what refers to it' }]
  if (count <= MOST_SUBSCHEMAS) return []
  const message = `must have at most ${MOST_SUBSCHEMAS} subschemas, each counted as often as it is referred to`
  return [{ path: '', code: 'subschemas', message }]
}

/** What is wrong with a subschema, apart from those inside it. */
function ownViolations(path: string, schema: Schema, definitions: object): Violation[] {
  const found: Violation[] = []
  const fault = (keyword: string, code: string, message: string) =>
    found.push({ path: path === '' ? keyword : `${path}.${keyword}`, code, message })
  for (const keyword of Object.keys(schema))
    if (!KEYWORDS.has(keyword)) fault(keyword, 'unknown', 'is not a keyword that a schema can have')
  const { $ref, $schema, $defs, pattern, patternProperties, format } = schema
  if ($schema !== undefined && $schema !== DIALECT) fault('$schema', 'const', `must be ${DIALECT}`)
  if ($defs !== undefined && path !== '') fault('$defs', 'place', 'must stand at the root')
  if ($ref !== undefined && !Object.hasOwn(definitions, REFERENCE.exec(String($ref))?.[1] ?? ''))
    fault('$ref', 'reference', 'must name one of the definitions of this schema: #/$defs/<name>')
  if (format !== undefined && !FORMATS.includes(format as never))
    fault('format', 'enum', `must be one of ${FORMATS.join(', ')}`)
  for (const keyword of ['enum', 'examples'])
    if (Array.isArray(schema[keyword]) && schema[keyword].length > MOST_CHOICES)
      fault(keyword, 'maxItems', `must have at most ${MOST_CHOICES} items`)
  if (pattern !== undefined && !isLinear(pattern)) fault('pattern', 'pattern', NOT_LINEAR)
  for (const name of isObject(patternProperties) ? Object.keys(patternProperties) : [])
    if (!isLinear(name)) fault('patternProperties', 'pattern', NOT_LINEAR)
  return found
}

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

const NOT_LINEAR = `must be a regular expression of at most ${LONGEST_PATTERN} characters without look-around and back-reference`

function isLinear(pattern: unknown): boolean {
  if (typeof pattern !== 'string' || pattern.length > LONGEST_PATTERN) return false
  try {
    regExp(pattern)
    return true
  } catch {
    return false
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The subschemas of one, with the keywords that lead to them. */
function members(schema: Schema): [path: string, member: unknown][] {
  return Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
    if (ONE.includes(keyword) || REST.includes(keyword)) return [[keyword, value]]
    const several = SEVERAL.includes(keyword) && Array.isArray(value)
    if (!several && !(NAMED.includes(keyword) && isObject(value))) return []
    return Object.entries(value as object).map(([name, member]) => [`${keyword}.${name}`, member])
  })
}

/** A schema and all inside it; the depth of a request's body bounds theirs. */
function* subschemas(schema: Schema, path = ''): Generator<[path: string, schema: Schema]> {
  yield [path, schema]
  for (const [name, member] of members(schema))
    if (isObject(member)) yield* subschemas(member, path === '' ? name : `${path}.${name}`)
}

/** How many subschemas a value may be checked by, those referred to each time; undefined: without an end. */
function counted(root: Schema, definitions: Record<string, unknown>): number | undefined {
  const counts = new Map<unknown, number | undefined>()
  const count = (schema: unknown): number | undefined => {
    if (!isObject(schema)) return 1
    // One that is being counted refers to itself.
    if (counts.has(schema)) return counts.get(schema)
    counts.set(schema, undefined)
    const referred = REFERENCE.exec(String(schema.$ref ?? ''))?.[1]
    const inside = members(schema).map(([, member]) => member)
    let sum: number | undefined = 1
    for (const one of referred === undefined ? inside : [...inside, definitions[referred]]) {
      const more = count(one)
      sum = more === undefined || sum === undefined ? undefined : sum + more
    }
    counts.set(schema, sum)
    return sum
  }
  return count(root)
}
